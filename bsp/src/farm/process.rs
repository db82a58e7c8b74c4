//! The processes of a farm.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use super::dealer::Dealer;
use super::dealing::Dealing;
use super::dealing_error::DealingError;
use super::numbers::number;
use super::tasks::{Tasks, Work};
use crate::ids::Rank;
use crate::program::{Program, Step};
use crate::reference::panic_message;
use crate::superstep::Superstep;
use crate::units::Seconds;

/// A process of a farm: the master, which is process 0, or a worker.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Farm<T: Tasks>(Role<T>);

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
enum Role<T: Tasks> {
    Master(Master<T>),
    Worker(Worker<T>),
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Master<T: Tasks> {
    /// What workers share, until they have it.
    shared: Option<T::Shared>,
    /// The tasks that have not been dealt, in order.
    tasks: VecDeque<T::Task>,
    dealer: Dealer,
    /// The outcomes of the tasks that have been dealt; `None`: it is being executed.
    outcomes: Vec<Option<T::Outcome>>,
    /// By worker: the number of its first task of this interaction.
    first: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Worker<T: Tasks> {
    shared: Option<T::Shared>,
    /// Whether it executed tasks in its last superstep.
    has_executed: bool,
}

/// A message of a farm.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum FarmMessage<T: Tasks> {
    /// From the master, first of all: what workers share.
    Shared(T::Shared),
    /// From the master: tasks to execute.
    Tasks {
        /// The number of the first one.
        first: u64,
        /// The tasks, which follow each other.
        tasks: Vec<T::Task>,
    },
    /// From the master: no tasks follow.
    End,
    /// From a worker: the outcomes of its tasks, in their order.
    Outcomes(Vec<T::Outcome>),
    /// From a worker: how long it executed them.
    Took(Seconds),
}

/// Why there is no farm.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FarmError {
    /// There is no worker.
    #[error(
        "a farm of {0} processes has no worker: process 1 is the master, so it needs 2 at least"
    )]
    NoWorker(u32),
    /// The rule is none.
    #[error(transparent)]
    Dealing(#[from] DealingError),
}

/// The processes of a farm: a master and `size` - 1 workers, which execute `tasks` with what they share.
///
/// The output of process 0 are the outcomes in the order of the tasks, that of all others is empty.
///
/// # Errors
///
/// [`FarmError`].
pub fn processes<T: Tasks>(
    shared: T::Shared,
    tasks: Vec<T::Task>,
    size: u32,
    dealing: Dealing,
) -> Result<Vec<Farm<T>>, FarmError> {
    dealing.check()?;
    let workers = size.checked_sub(1).filter(|workers| 0 < *workers);
    let workers = workers.ok_or(FarmError::NoWorker(size))?;
    let dealer = Dealer::new(dealing, number(tasks.len()), workers);
    let master = Master {
        shared: Some(shared),
        outcomes: Vec::with_capacity(tasks.len()),
        tasks: tasks.into(),
        dealer,
        first: Vec::new(),
    };
    let worker = || Worker {
        shared: None,
        has_executed: false,
    };
    let workers = (0..workers).map(|_| Farm(Role::Worker(worker())));
    Ok(std::iter::once(Farm(Role::Master(master)))
        .chain(workers)
        .collect())
}

impl<T: Tasks> Program for Farm<T> {
    type Message = FarmMessage<T>;
    type Output = Vec<T::Outcome>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) -> Step<Vec<T::Outcome>> {
        match &mut self.0 {
            Role::Master(master) => master.superstep(ctx),
            Role::Worker(worker) => worker.superstep(ctx),
        }
    }
}

impl<T: Tasks> fmt::Debug for Farm<T> {
    /// Whether it is a worker; its values need not be printable.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Role::Master(_) => "master",
            Role::Worker(_) => "worker",
        })
    }
}

impl<T: Tasks> fmt::Debug for FarmMessage<T> {
    /// What kind of message it is; its values need not be printable.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared(_) => formatter.write_str("shared"),
            Self::Tasks { first, tasks } => {
                write!(formatter, "{} tasks from {first} on", tasks.len())
            }
            Self::End => formatter.write_str("end"),
            Self::Outcomes(outcomes) => write!(formatter, "{} outcomes", outcomes.len()),
            Self::Took(took) => write!(formatter, "took {took}"),
        }
    }
}

impl<T: Tasks> Master<T> {
    fn superstep(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) -> Step<Vec<T::Outcome>> {
        for (from, message) in ctx.receive() {
            let worker = from.index() - 1;
            match message {
                FarmMessage::Outcomes(outcomes) => {
                    let places = self.outcomes[self.first[worker]..].iter_mut();
                    for (place, outcome) in places.zip(outcomes) {
                        *place = Some(outcome);
                    }
                }
                FarmMessage::Took(took) => self.dealer.observe(worker, took),
                FarmMessage::Shared(_) | FarmMessage::Tasks { .. } | FarmMessage::End => {}
            }
        }
        match ctx.index() % SUPERSTEPS {
            DEAL => self.deal(ctx),
            COLLECT if self.tasks.is_empty() => {
                let outcomes = std::mem::take(&mut self.outcomes).into_iter();
                return Step::Halt(outcomes.flatten().collect());
            }
            _ => {}
        }
        Step::Continue
    }

    fn deal(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let shared = self.shared.take();
        let numbers = self.dealer.deal();
        self.first.clear();
        let is_last = self.dealer.left() == 0;
        for (dealt, to) in numbers.into_iter().zip(ctx.ranks().skip(1)) {
            if let Some(shared) = &shared {
                ctx.send(to, FarmMessage::Shared(shared.clone()));
            }
            let first = self.outcomes.len();
            self.first.push(first);
            let dealt = usize::try_from(dealt).expect("as many tasks are here");
            if 0 < dealt {
                let tasks = self.tasks.drain(..dealt).collect();
                self.outcomes.resize_with(first + dealt, || None);
                let first = number(first);
                ctx.send(to, FarmMessage::Tasks { first, tasks });
            }
            if is_last {
                ctx.send(to, FarmMessage::End);
            }
        }
    }
}

impl<T: Tasks> Worker<T> {
    fn superstep(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) -> Step<Vec<T::Outcome>> {
        if std::mem::take(&mut self.has_executed) {
            ctx.send(MASTER, FarmMessage::Took(ctx.elapsed()));
        }
        let mut is_last = false;
        for (_, message) in ctx.receive() {
            match message {
                FarmMessage::Shared(shared) => self.shared = Some(shared),
                FarmMessage::Tasks { first, tasks } => {
                    let outcomes = self.execute(ctx, first, &tasks);
                    ctx.send(MASTER, FarmMessage::Outcomes(outcomes));
                    self.has_executed = true;
                }
                FarmMessage::End => is_last = true,
                FarmMessage::Outcomes(_) | FarmMessage::Took(_) => {}
            }
        }
        if is_last {
            Step::Halt(Vec::new())
        } else {
            Step::Continue
        }
    }

    /// Executes `tasks`, the first of which has the number `first`. A panic of one names it.
    fn execute(
        &self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
        first: u64,
        tasks: &[T::Task],
    ) -> Vec<T::Outcome> {
        let shared = self
            .shared
            .as_ref()
            .expect("it comes before the first task");
        let mut work = Work::default();
        let mut outcomes = Vec::with_capacity(tasks.len());
        let executed = catch_unwind(AssertUnwindSafe(|| {
            for task in tasks {
                outcomes.push(T::execute(shared, task, &mut work));
            }
        }));
        if let Err(panic) = executed {
            let task = first + number(outcomes.len());
            panic!("task {task}: {}", panic_message(&*panic));
        }
        ctx.charge(work.charged());
        outcomes
    }
}

/// The process that deals.
const MASTER: Rank = Rank(0);

/// The supersteps of an interaction, and what the master does in two of them: it deals, and it has all outcomes.
const SUPERSTEPS: u64 = 3;
const DEAL: u64 = 0;
const COLLECT: u64 = 2;

#[cfg(test)]
mod tests;
