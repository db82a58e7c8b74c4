//! The threads that execute supersteps, apart from those that carry messages.

use std::num::NonZeroU32;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use agents::RunError;
use bsp::reference;
use bsp::units::{Instructions, InstructionsPerSecond};
use machines::time::duration;
use machines::{Done, Task};
use tokio::sync::mpsc;

use super::checkpoints::encoder::Encoder;
use super::counter::{Counter, quotient};
use super::execution::{Executions, ThreadEntry};
use super::meter::thread_time;
use super::pace::{Computed, Pace};
use super::queue::Queue;
use super::time::elapsed;

/// As many threads as a node gives processors.
pub(super) struct Pool {
    queue: Arc<Queue<Task>>,
}

/// How fast threads execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProcessorSpeed {
    /// Of one processor.
    pub(super) speed: InstructionsPerSecond,
    /// How many instructions a second the machine counts while it computes at `speed`, if they are counted: work is
    /// then what it counts, in the unit of `speed`, and else the time that it takes.
    pub(super) counted: Option<f64>,
}

impl Pool {
    /// `count` threads. `executions` shows the supersteps that they execute, and `done` receives those that are
    /// complete.
    pub(super) fn new(
        count: NonZeroU32,
        (processor, pace): (ProcessorSpeed, &Pace),
        executions: &Executions,
        (done, forks): (&mpsc::UnboundedSender<Vec<Done>>, &Encoder),
    ) -> Self {
        let queue = Arc::new(Queue::new());
        for index in 0..count.get() {
            let (queue, done) = (Arc::clone(&queue), done.clone());
            let forks = forks.clone();
            let pace = pace.clone();
            let entry = executions.add_thread();
            let thread = thread::Builder::new().name(format!("compute-{index}"));
            let spawned =
                thread.spawn(move || work(&queue, (processor, &pace), &entry, (&done, &forks)));
            spawned.expect("the system has room for a thread per processor");
        }
        Self { queue }
    }

    /// Has `tasks` executed, after those before them.
    pub(super) fn execute(&self, tasks: impl ExactSizeIterator<Item = Task>) {
        self.queue.extend(tasks);
    }
}

impl Drop for Pool {
    /// Discards the tasks that have not begun. A thread that executes one ends after it; `drop` does not wait for that.
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Executes tasks, and reports results when no task is left and `pace` has passed, so that the thread that waits for all
/// of them is woken once.
fn work(
    queue: &Queue<Task>,
    (processor, pace): (ProcessorSpeed, &Pace),
    entry: &ThreadEntry,
    (done, forks): (&mpsc::UnboundedSender<Vec<Done>>, &Encoder),
) {
    let mut counter = processor.counted.and_then(|_| {
        let counter = Counter::of_this_thread();
        counter
            .inspect_err(|error| tracing::warn!(%error, "instructions are not counted"))
            .ok()
    });
    while let Some(first) = queue.next() {
        let mut next = Some(first);
        let began = Instant::now();
        let (mut executed, mut computed) = (Vec::new(), Vec::new());
        while let Some(mut task) = next {
            if let Some(saving) = task.saving.take() {
                forks.save(*saving, &*task.program);
            }
            let (rank, superstep) = (task.turn.rank, task.turn.superstep);
            let (latest, computation) = entry.execute(rank, superstep, || {
                execute(task, (processor, pace), counter.as_mut())
            });
            let has_failed = latest.result.is_err();
            executed.push(latest);
            computed.push(computation);
            if has_failed || executed.len() == TOLD_TOGETHER {
                break;
            }
            next = queue.next_now();
        }
        let ends = pace.rest(began, &mut computed);
        for (done, computation) in executed.iter_mut().zip(computed) {
            done.held = computation.held;
            if !ends && done.result.is_ok() {
                done.result = Err(RunError::Starved { rank: done.rank });
            }
        }
        if done.send(executed).is_err() {
            return;
        }
    }
}

fn execute(
    task: Task,
    (processor, pace): (ProcessorSpeed, &Pace),
    mut counter: Option<&mut Counter>,
) -> (Done, Computed) {
    let Task {
        mut program,
        turn,
        delay,
        ..
    } = task;
    let began = Instant::now();
    thread::sleep(duration(delay));
    let (rank, superstep) = (turn.rank, turn.superstep);
    let counted_before = counter.as_mut().and_then(|counter| counter.read());
    let before = thread_time();
    // The program itself is guarded; what encodes and decodes its values is its author's, too.
    let executed = panic::catch_unwind(AssertUnwindSafe(|| program.execute(turn)));
    let result = executed.unwrap_or_else(|_| {
        let message =
            "while its messages were encoded or decoded; see the log of its node".to_owned();
        Err(reference::Error::Panicked {
            rank,
            superstep,
            message,
        }
        .into())
    });
    let busy = thread_time().saturating_sub(before);
    let counted = counter
        .and_then(|counter| counter.read())
        .zip(counted_before);
    let charged = result
        .as_ref()
        .map_or(Instructions::ZERO, |done| done.charged);
    // What was computed takes so long at the speed that was measured.
    let worth = match (counted, processor.counted) {
        (Some((after, before)), Some(counted)) => quotient(after.saturating_sub(before), counted),
        _ => busy.as_secs_f64(),
    };
    let work = if pace.played().is_some() {
        charged
    } else {
        instructions(worth * processor.speed.get())
    };
    let held = elapsed(began);
    let done = Done {
        rank,
        program,
        result,
        work,
        held,
        delay,
    };
    (done, Computed { busy, work, held })
}

/// Whole instructions.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and speeds are not negative, and the conversion saturates"
)]
fn instructions(amount: f64) -> Instructions {
    Instructions(amount as u64)
}

/// The number of results that are reported together; of more, the first are reported while others are executed.
const TOLD_TOGETHER: usize = 64;
