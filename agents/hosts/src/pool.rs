//! The threads that execute supersteps, apart from those that carry messages.
//!
//! # Supersteps that are still executed after the end of their job
//!
//! A thread in a superstep cannot be stopped.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use agents::RunError;
use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{Rank, reference};
use machines::{Done, Execution, Task, duration, seconds};
use protocol::Abandoned;
use tokio::sync::{Notify, mpsc};

use crate::checkpoints::Encoder;
use crate::counter::{Counter, quotient};
use crate::files::JobFiles;
use crate::meter::thread_time;
use crate::pace::{Computed, Pace, elapsed};

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
        processor: ProcessorSpeed,
        pace: &Pace,
        executions: &Executions,
        done: &mpsc::UnboundedSender<Vec<Done>>,
        forks: &Encoder,
        files: Option<&JobFiles>,
    ) -> Self {
        let queue = Arc::new(Queue::new());
        for index in 0..count.get() {
            let worker = Worker {
                queue: Arc::clone(&queue),
                processor,
                pace: pace.clone(),
                entry: executions.add_thread(),
                done: done.clone(),
                forks: forks.clone(),
                files: files.cloned(),
            };
            let thread = thread::Builder::new().name(format!("compute-{index}"));
            let spawned = thread.spawn(move || worker.work());
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

/// A thread of the pool.
struct Worker {
    queue: Arc<Queue<Task>>,
    processor: ProcessorSpeed,
    pace: Pace,
    entry: ThreadEntry,
    done: mpsc::UnboundedSender<Vec<Done>>,
    forks: Encoder,
    /// Where snapshots are written, if they are.
    files: Option<JobFiles>,
}

impl Worker {
    /// Executes tasks, and reports results when no task is left and the pace of the node has passed, so that the thread
    /// that waits for all of them is woken once.
    fn work(self) {
        let counter = self.processor.counted.and_then(|_| {
            let counter = Counter::of_this_thread();
            counter
                .inspect_err(|error| tracing::warn!(%error, "instructions are not counted"))
                .ok()
        });
        let mut meter = ComputationMeter::new(counter);
        while let Some(first) = self.queue.next() {
            let mut next = Some(first);
            let began = Instant::now();
            let (mut executed, mut computed) = (Vec::new(), Vec::new());
            while let Some(mut task) = next {
                if task.saving.is_some() || Seconds::ZERO < task.delay {
                    // The thread copies a state, or sleeps.
                    self.measure(&mut meter, &mut executed, &mut computed);
                    meter.stop();
                }
                if let Some(saving) = task.saving.take() {
                    self.forks.save(*saving, &*task.program);
                }
                if task.is_held {
                    next = self.queue.next_now();
                    continue;
                }
                let (rank, superstep) = (task.turn.rank, task.turn.superstep);
                let done = self
                    .entry
                    .execute(rank, superstep, || execute(task, &mut meter));
                let has_failed = done.result.is_err();
                executed.push(done);
                if meter.is_due() {
                    self.measure(&mut meter, &mut executed, &mut computed);
                }
                if has_failed || executed.len() == REPORTED_TOGETHER {
                    break;
                }
                next = self.queue.next_now();
            }
            self.measure(&mut meter, &mut executed, &mut computed);
            meter.stop();
            if executed.is_empty() {
                continue;
            }
            let ends = self.pace.rest(began, &mut computed);
            for (done, computation) in executed.iter_mut().zip(computed) {
                done.held = computation.held;
                if !ends && done.result.is_ok() {
                    done.result = Err(RunError::Starved { rank: done.rank });
                }
            }
            executed
                .iter_mut()
                .for_each(|done| self.write_snapshots(done));
            if self.done.send(executed).is_err() {
                return;
            }
        }
    }

    /// Adds to `computed` what those of the `executed` supersteps consumed that it does not have yet.
    fn measure(
        &self,
        meter: &mut ComputationMeter,
        executed: &mut [Done],
        computed: &mut Vec<Computed>,
    ) {
        let consumed = meter.split();
        for (done, consumed) in executed.iter_mut().skip(computed.len()).zip(consumed) {
            let of_result = done.result.as_ref().ok();
            let elsewhere = of_result.map_or(Seconds::ZERO, |executed| executed.elsewhere);
            let busy = consumed.busy + duration(elsewhere);
            // The instructions of this thread are not those of a program that computes in another process.
            let counted = consumed.counted.filter(|_| elsewhere == Seconds::ZERO);
            // What was computed takes so long at the speed that was measured.
            let worth = match counted.zip(self.processor.counted) {
                Some((counted, speed)) => counted / speed,
                None => busy.as_secs_f64(),
            };
            done.work = if self.pace.played().is_some() {
                of_result.map_or(Instructions::ZERO, |executed| executed.charged)
            } else {
                instructions(worth * self.processor.speed.get())
            };
            computed.push(Computed {
                busy,
                work: done.work,
                held: done.held,
            });
        }
    }

    /// Writes the snapshots of a superstep, after which it is over: a checkpoint that begins later is not without them. They are
    /// dropped if there is no place for them.
    fn write_snapshots(&self, done: &mut Done) {
        let Ok(executed) = &mut done.result else {
            return;
        };
        let snapshots = std::mem::take(&mut executed.snapshots);
        let (Some(files), Some(first)) = (&self.files, snapshots.first()) else {
            return;
        };
        // A disk that does not answer holds the thread as a superstep does.
        let (rank, superstep) = (first.rank, first.superstep);
        let write = || files.write_snapshots(&snapshots);
        match self.entry.execute(rank, superstep, write) {
            Ok(written) => done.snapshots = written,
            Err(error) => done.result = Err(error),
        }
    }
}

/// Executes a superstep. What it consumed is not known before `meter` is asked.
fn execute(task: Task, meter: &mut ComputationMeter) -> Done {
    let Task {
        mut program,
        turn,
        delay,
        ..
    } = task;
    let began = Instant::now();
    thread::sleep(duration(delay));
    let (rank, superstep) = (turn.rank, turn.superstep);
    // The program itself is guarded; what encodes and decodes its values is its author's, too.
    let executed = meter.time(|| panic::catch_unwind(AssertUnwindSafe(|| program.execute(turn))));
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
    Done {
        rank,
        program,
        result,
        work: Instructions::ZERO,
        held: elapsed(began),
        delay,
        snapshots: Vec::new(),
    }
}

/// Measures what the computations of a thread consume.
///
/// The processor time of a thread and its count of instructions are read by system calls, which may take longer than a short superstep
/// does. Computations that follow each other directly are therefore measured together until they have taken
/// [`TOGETHER`]: the clock of the system, which is read without a system call, says what part of the whole is whose. That is exact unless the
/// thread has lost its processor meanwhile, and the computations before the last one, which are shorter than [`TOGETHER`] in all, are
/// then wrong by that much at most, and so is the last. What is decided from times of supersteps does not depend on so little.
struct ComputationMeter {
    counter: Option<Counter>,
    /// What the thread had consumed before the first of the computations that are not measured yet.
    before: Option<Consumption>,
    /// How long each of these took.
    took: Vec<Duration>,
}

/// What a thread has consumed since it began.
#[derive(Clone, Copy)]
struct Consumption {
    time: Duration,
    /// Instructions, if they are counted.
    counted: Option<u64>,
}

/// What a computation has consumed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Consumed {
    /// Processor time.
    busy: Duration,
    /// Instructions, if they are counted.
    counted: Option<f64>,
}

impl ComputationMeter {
    const fn new(counter: Option<Counter>) -> Self {
        Self {
            counter,
            before: None,
            took: Vec::new(),
        }
    }

    /// Notes how long `compute` takes.
    fn time<T>(&mut self, compute: impl FnOnce() -> T) -> T {
        if self.before.is_none() {
            self.before = Some(self.consumption());
        }
        let began = Instant::now();
        let computed = compute();
        self.took.push(began.elapsed());
        computed
    }

    /// Whether the computations so far are to be measured before another one begins.
    fn is_due(&self) -> bool {
        TOGETHER <= self.took.iter().sum::<Duration>()
    }

    /// What each of the computations has consumed that have not been measured. The next one begins now.
    fn split(&mut self) -> Vec<Consumed> {
        if self.took.is_empty() {
            return Vec::new();
        }
        let now = self.consumption();
        let before = self.before.replace(now).unwrap_or(now);
        let time = now.time.saturating_sub(before.time);
        let counted = now.counted.zip(before.counted);
        let counted = counted.map(|(now, before)| now.saturating_sub(before));
        split(&std::mem::take(&mut self.took), time, counted)
    }

    /// What the thread consumes next is of no computation.
    const fn stop(&mut self) {
        self.before = None;
    }

    fn consumption(&mut self) -> Consumption {
        Consumption {
            time: thread_time(),
            counted: self.counter.as_mut().and_then(Counter::read),
        }
    }
}

/// What computations that `took` so long have consumed, if they have consumed `time` together and so many instructions. None has
/// had a processor for longer than it took.
fn split(took: &[Duration], time: Duration, counted: Option<u64>) -> Vec<Consumed> {
    let all = took.iter().sum::<Duration>().as_secs_f64();
    let parts = took.iter().map(|took| {
        let part = if 0.0 < all {
            took.as_secs_f64() / all
        } else {
            // All are shorter than what the clock can tell.
            0.0
        };
        Consumed {
            busy: time.mul_f64(part).min(*took),
            counted: counted.map(|counted| quotient(counted, 1.0) * part),
        }
    });
    parts.collect()
}

/// The time of computations from which on they are measured: some hundred readings of the clock.
const TOGETHER: Duration = Duration::from_micros(20);

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
const REPORTED_TOGETHER: usize = 64;

/// A queue whose receiving threads sleep while it is empty.
///
/// They do not spin first, as the receivers of a channel may: on a machine with fewer processors than threads, spinning
/// delays the threads that are waited for.
#[derive(Debug)]
struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    has_come: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    items: VecDeque<T>,
    /// The number of threads that sleep.
    sleeping: usize,
    is_closed: bool,
}

impl<T> Queue<T> {
    pub(super) const fn new() -> Self {
        let waiting = Waiting {
            items: VecDeque::new(),
            sleeping: 0,
            is_closed: false,
        };
        Self {
            waiting: Mutex::new(waiting),
            has_come: Condvar::new(),
        }
    }

    /// Appends `items`, and wakes a thread for each of them, as far as threads sleep: waking one is a system call, even if there is
    /// none.
    fn extend(&self, items: impl ExactSizeIterator<Item = T>) {
        let count = items.len();
        let mut waiting = self.lock();
        waiting.items.extend(items);
        let woken = count.min(waiting.sleeping);
        drop(waiting);
        for _ in 0..woken {
            self.has_come.notify_one();
        }
    }

    /// Discards all waiting items and ends all receivers.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.items.clear();
        drop(waiting);
        self.has_come.notify_all();
    }

    /// Waits for the first item; `None` once the queue is closed.
    pub(super) fn next(&self) -> Option<T> {
        let mut waiting = self.lock();
        while waiting.items.is_empty() && !waiting.is_closed {
            waiting.sleeping += 1;
            let woken = self.has_come.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
            waiting.sleeping -= 1;
        }
        waiting.items.pop_front()
    }

    /// The first item, if there is one.
    fn next_now(&self) -> Option<T> {
        self.lock().items.pop_front()
    }

    /// No thread panics while it holds the lock, so the queue is intact.
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The supersteps that the threads of a node execute. Clones share them.
///
/// A thread cannot be stopped from outside. If a job ends during a superstep, its thread executes that superstep to the
/// end, and its entry stays for as long.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions(Arc<Mutex<Vec<Arc<Entry>>>>);

/// A superstep that a thread executes.
#[derive(Clone, Copy, Debug)]
struct Executing {
    rank: Rank,
    superstep: u64,
    began: Instant,
}

/// One thread: what it executes, if anything.
type Entry = Mutex<Option<Executing>>;

/// The entry of a thread, which is removed when this is dropped.
#[derive(Debug)]
struct ThreadEntry {
    all: Executions,
    own: Arc<Entry>,
}

impl Executions {
    /// An entry for a thread.
    fn add_thread(&self) -> ThreadEntry {
        let own = Arc::new(Entry::default());
        lock(&self.0).push(Arc::clone(&own));
        ThreadEntry {
            all: self.clone(),
            own,
        }
    }

    /// The superstep that began first of those that are executed.
    pub(super) fn oldest(&self) -> Option<Execution> {
        let threads = lock(&self.0);
        let executed = threads.iter().filter_map(|entry| *lock(entry));
        let oldest = executed.min_by_key(|executing| executing.began);
        oldest.map(|executing| Execution {
            rank: executing.rank,
            superstep: executing.superstep,
            age: executing.began.elapsed(),
        })
    }
}

impl ThreadEntry {
    /// Executes a superstep of `rank`.
    pub(super) fn execute<T>(&self, rank: Rank, superstep: u64, execute: impl FnOnce() -> T) -> T {
        *lock(&self.own) = Some(Executing {
            rank,
            superstep,
            began: Instant::now(),
        });
        let done = execute();
        *lock(&self.own) = None;
        done
    }
}

impl Drop for ThreadEntry {
    fn drop(&mut self) {
        lock(&self.all.0).retain(|entry| !Arc::ptr_eq(entry, &self.own));
    }
}

/// Assignments leave no partial value behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Supersteps that are still executed after the end of their job. While there is one, its node accepts no job: the
/// thread would take a processor from it.
#[derive(Debug)]
pub(super) struct AbandonedSupersteps {
    executions: Executions,
    /// How long one may go on; `None`: for ever.
    limit: Option<Duration>,
    /// Notified when one has gone on for longer.
    is_stuck: Notify,
}

impl AbandonedSupersteps {
    pub(super) fn new(executions: &Executions, limit: Option<Duration>) -> Self {
        Self {
            executions: executions.clone(),
            limit,
            is_stuck: Notify::new(),
        }
    }

    /// The oldest, if no job runs.
    pub(super) fn status(&self) -> Option<Abandoned> {
        let execution = self.executions.oldest()?;
        Some(Abandoned {
            rank: execution.rank,
            superstep: execution.superstep,
            since: seconds(execution.age),
        })
    }

    /// Waits until there is none, or until `is_idle` says that a job runs again. What takes long is in the log.
    pub(super) async fn ended(&self, is_idle: impl Fn() -> bool) {
        let began = Instant::now();
        let mut is_logged = false;
        while is_idle()
            && let Some(execution) = self.executions.oldest()
        {
            if !is_logged && PATIENCE <= began.elapsed() {
                let (process, superstep) = (execution.rank, execution.superstep);
                tracing::warn!(%process, superstep, "{LONG}");
                is_logged = true;
            }
            if self.limit.is_some_and(|limit| limit <= began.elapsed()) {
                self.is_stuck.notify_one();
                return;
            }
            tokio::time::sleep(POLLING).await;
        }
        if is_logged {
            tracing::info!("the superstep has ended: jobs are accepted again");
        }
    }

    /// Completes when one has gone on for too long, with the reason; `own` is the name of the node.
    pub(super) async fn stuck(&self, own: &str) -> String {
        self.is_stuck.notified().await;
        let oldest = self.executions.oldest();
        oldest.map_or_else(String::new, |execution| execution.problem(own))
    }
}

/// The line of the log about a superstep that takes long.
const LONG: &str = "a superstep goes on after the end of its job: jobs are refused until it ends";
/// How long a superstep may go on before the log says so.
const PATIENCE: Duration = Duration::from_secs(1);
const POLLING: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: &[u64]) -> Vec<Duration> {
        micros.iter().copied().map(Duration::from_micros).collect()
    }

    fn busy(took: &[u64], time: u64) -> Vec<Duration> {
        let consumed = split(&micros(took), Duration::from_micros(time), None);
        consumed.iter().map(|consumed| consumed.busy).collect()
    }

    #[test]
    fn computations_that_keep_their_processor_consume_what_they_take() {
        // What the thread does between them is of none.
        assert_eq!(busy(&[1, 2, 5], 9), micros(&[1, 2, 5]));
        assert_eq!(busy(&[700], 701), micros(&[700]));
    }

    #[test]
    fn a_computation_that_loses_its_processor_consumes_less_than_it_takes() {
        assert_eq!(busy(&[8000], 5000), micros(&[5000]));
        // The others lose as much as all have taken before the last one, at most.
        assert_eq!(busy(&[10, 9990], 5000), micros(&[5, 4995]));
        assert_eq!(busy(&[0, 0], 3), micros(&[0, 0]));
    }

    #[test]
    fn instructions_are_those_of_the_thread() {
        let counted = split(&micros(&[1, 3]), Duration::from_micros(4), Some(400));
        let counted: Vec<_> = counted.iter().map(|consumed| consumed.counted).collect();
        assert_eq!(counted, [Some(100.0), Some(300.0)]);
    }

    #[test]
    fn computations_are_measured_in_their_order_and_once() {
        let mut meter = ComputationMeter::new(None);
        assert_eq!(meter.split(), []);
        let values: Vec<u32> = (0..3).map(|value| meter.time(|| value)).collect();
        assert_eq!(values, [0, 1, 2]);
        assert_eq!(meter.split().len(), 3);
        assert_eq!(meter.split(), []);
        meter.time(|| thread::sleep(TOGETHER));
        assert!(meter.is_due());
        assert_eq!(meter.split().len(), 1);
        assert!(!meter.is_due());
    }

    #[test]
    fn everything_comes_out_once_and_nothing_once_it_is_closed() {
        let queue = Arc::new(Queue::new());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    std::iter::from_fn(|| queue.next())
                        .take(200)
                        .collect::<Vec<u32>>()
                })
            })
            .collect();
        for first in (0..600).step_by(3) {
            queue.extend(first..first + 3);
        }
        let mut all: Vec<u32> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..600).collect::<Vec<_>>());
        queue.extend(0..3);
        queue.close();
        assert_eq!((queue.next(), queue.next_now()), (None, None));
    }

    #[test]
    fn whoever_waits_is_sent_away_when_it_is_closed() {
        let queue = Arc::new(Queue::<u32>::new());
        let waiting = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.next()
        });
        queue.close();
        assert_eq!(waiting.join().unwrap(), None);
    }

    #[test]
    fn the_oldest_superstep_is_shown_while_it_executes() {
        let executions = Executions::default();
        let (first, second) = (executions.add_thread(), executions.add_thread());
        let oldest = || executions.oldest().map(|of| (of.rank, of.superstep));
        assert_eq!(oldest(), None);
        second.execute(Rank(7), 3, || {
            first.execute(Rank(5), 4, || assert_eq!(oldest(), Some((Rank(7), 3))));
            assert_eq!(oldest(), Some((Rank(7), 3)));
        });
        assert_eq!(oldest(), None);
        drop((first, second));
        assert!(lock(&executions.0).is_empty());
    }
}
