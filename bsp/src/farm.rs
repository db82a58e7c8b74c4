//! Task farms: bags of independent tasks, dealt out to workers.
//!
//! A user implements [`Tasks`]: what all workers share, a task, its outcome, and one function. [`processes`] makes a
//! [`Program`] of it like any other. Process 0, the master, deals tasks to the other processes, the
//! workers, by a rule of [`Dealing`], and leaves the outcomes in the order of the tasks.
//!
//! First, the workers get what they share. Then the farm works in interactions of three supersteps: the master deals, the
//! workers execute, and each says how long that took ([`Superstep::elapsed`](crate::Superstep::elapsed)). The next
//! interaction is dealt by these times. A worker on standby ([`Superstep::is_standby`](crate::Superstep::is_standby)) gets
//! no tasks until its host has joined. The master notes ([`Superstep::note`](crate::Superstep::note)) what it deals and
//! what that takes: [`TASKS_LEFT`], [`TASKS_DEALT`], [`TASK_SECONDS`] and [`SHARE_DEVIATION`].
//!
//! # Examples
//!
//! ```
//! use bsp::farm::{self, Dealing, Tasks, Work};
//! use bsp::reference;
//! use bsp::units::Instructions;
//! use bsp::BoxError;
//!
//! struct Powers;
//!
//! impl Tasks for Powers {
//!     type Shared = u32;
//!     type Task = u64;
//!     type Outcome = u64;
//!
//!     fn execute(exponent: &u32, base: &u64, work: &mut Work) -> Result<u64, BoxError> {
//!         work.charge(Instructions(u64::from(*exponent)));
//!         base.checked_pow(*exponent).ok_or_else(|| format!("{base} is too large").into())
//!     }
//! }
//!
//! let processes = farm::processes::<Powers>(&2, (0..6).collect(), 4, Dealing::default()).unwrap();
//! let run = reference::run(processes, reference::Limit::default()).unwrap();
//! assert_eq!(run.outputs[0], [0, 1, 4, 9, 16, 25]);
//! ```

mod dealer;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::Rank;
use crate::numbers::{length, real};
use crate::program::{BoxError, Payload, Program, Round, Step};
use crate::reference::contain;
use crate::superstep::Superstep;
use crate::units::{Instructions, Seconds};

pub use dealer::{BlockCyclic, Dealer, Dealing, DealingError, Reference, Weighted};

/// Independent tasks of one kind.
///
/// # Laws
///
/// The outcome depends on the shared value and the task alone: whichever worker executes a task, and in whatever order, it
/// is the same.
pub trait Tasks: Send + 'static {
    /// What every worker has, such as the matrix by which each row is multiplied.
    type Shared: Payload + Clone;
    /// What one task needs, such as a row.
    type Task: Payload + Clone;
    /// The result of one task.
    type Outcome: Payload + Clone;

    /// Executes one task, and charges for it.
    ///
    /// # Errors
    ///
    /// Whatever keeps the task from having an outcome. It ends the run, as an error of a superstep does, and names the task.
    fn execute(
        shared: &Self::Shared,
        task: &Self::Task,
        work: &mut Work,
    ) -> Result<Self::Outcome, BoxError>;
}

/// The computation that tasks charge for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work(Instructions);

impl Work {
    /// Adds to the computation. A simulated host takes time for it; a real host takes the time it takes.
    pub fn charge(&mut self, work: Instructions) {
        self.0 += work;
    }

    /// All that has been charged.
    #[must_use]
    pub const fn charged(self) -> Instructions {
        self.0
    }
}

/// A process of a farm: the master, which is process 0, or a worker.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Farm<T: Tasks>(Role<T>);

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
enum Role<T: Tasks> {
    Master(Box<Master<T>>),
    Worker(Worker<T>),
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
    /// What workers share cannot be encoded.
    #[error("what workers share cannot be encoded: {0}")]
    Shared(String),
}

/// The processes of a farm: a master and `size` - 1 workers, which execute `tasks` with what they share.
///
/// The output of process 0 are the outcomes in the order of the tasks, that of all others is empty.
///
/// # Errors
///
/// [`FarmError`].
pub fn processes<T: Tasks>(
    shared: &T::Shared,
    tasks: Vec<T::Task>,
    size: u32,
    dealing: Dealing,
) -> Result<Vec<Farm<T>>, FarmError> {
    let workers = count_workers(size, &dealing)?;
    let master = Farm::master(shared, tasks, (dealing, workers))?;
    let workers = (0..workers).map(|_| Farm::worker());
    Ok(std::iter::once(master).chain(workers).collect())
}

/// What builds each process of a farm, given its rank: [`processes`], one at a time. `master` makes what workers share, and
/// the tasks; it is called for process 0 alone, so no other host needs the memory for them.
///
/// # Errors
///
/// [`FarmError`].
///
/// # Examples
///
/// ```
/// use bsp::farm::{self, Dealing, Tasks, Work};
/// use bsp::{BoxError, Rank};
///
/// struct Squares;
///
/// impl Tasks for Squares {
///     type Shared = ();
///     type Task = u64;
///     type Outcome = u64;
///
///     fn execute(_: &(), base: &u64, _: &mut Work) -> Result<u64, BoxError> {
///         Ok(base * base)
///     }
/// }
///
/// let build = farm::builder::<Squares>(|| ((), (0..6).collect()), 4, Dealing::default()).unwrap();
/// assert_eq!(format!("{:?}, {:?}", build(Rank(0)).unwrap(), build(Rank(3)).unwrap()), "master, worker");
/// ```
pub fn builder<T: Tasks>(
    master: impl Fn() -> (T::Shared, Vec<T::Task>),
    size: u32,
    dealing: Dealing,
) -> Result<impl Fn(Rank) -> Result<Farm<T>, FarmError>, FarmError> {
    let workers = count_workers(size, &dealing)?;
    Ok(move |rank| {
        if rank != Rank(0) {
            return Ok(Farm::worker());
        }
        let (shared, tasks) = master();
        Farm::master(&shared, tasks, (dealing.clone(), workers))
    })
}

/// The number of workers of a farm of `size` processes.
fn count_workers(size: u32, dealing: &Dealing) -> Result<u32, FarmError> {
    dealing.check()?;
    let workers = size.checked_sub(1).filter(|workers| 0 < *workers);
    workers.ok_or(FarmError::NoWorker(size))
}

impl<T: Tasks> Farm<T> {
    fn master(
        shared: &T::Shared,
        tasks: Vec<T::Task>,
        (dealing, workers): (Dealing, u32),
    ) -> Result<Self, FarmError> {
        let encoding =
            encode_shared(shared).map_err(|error| FarmError::Shared(error.to_string()))?;
        let dealer = Dealer::new(dealing, length(tasks.len()), workers);
        let master = Master::new(encoding, tasks, dealer);
        Ok(Self(Role::Master(Box::new(master))))
    }

    fn worker() -> Self {
        Self(Role::Worker(Worker::new()))
    }
}

impl<T: Tasks> Program for Farm<T> {
    type Message = FarmMessage<T>;
    type Output = Vec<T::Outcome>;

    /// Until tasks have been executed: the superstep shows how long they take.
    const ROUND: Round = Round {
        length: SUPERSTEPS,
        last: EXECUTE,
    };

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
    ) -> Result<Step<Vec<T::Outcome>>, BoxError> {
        match &mut self.0 {
            Role::Master(master) => master.superstep(ctx),
            Role::Worker(worker) => worker.superstep(ctx),
        }
    }

    fn progress(&self) -> Option<f64> {
        match &self.0 {
            Role::Master(master) => Some(master.progress()),
            Role::Worker(_) => None,
        }
    }

    fn fork(&self) -> Option<Self> {
        Some(Self(match &self.0 {
            Role::Master(master) => Role::Master(Box::new(master.fork())),
            Role::Worker(worker) => Role::Worker(worker.fork()),
        }))
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

/// A message of a farm.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum FarmMessage<T: Tasks> {
    /// A part of the encoding of what workers share. A worker that has it from the master passes it on to the others.
    Part {
        /// Which part, from 0.
        number: u32,
        /// The worker that has each part from the master.
        workers: Vec<Rank>,
        /// The part.
        bytes: Bytes,
    },
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

impl<T: Tasks> fmt::Debug for FarmMessage<T> {
    /// What kind of message it is; its values need not be printable.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { number, bytes, .. } => {
                write!(
                    formatter,
                    "part {number} of what is shared, {} bytes",
                    bytes.len()
                )
            }
            Self::Tasks { first, tasks } => {
                write!(formatter, "{} tasks from {first} on", tasks.len())
            }
            Self::End => formatter.write_str("end"),
            Self::Outcomes(outcomes) => write!(formatter, "{} outcomes", outcomes.len()),
            Self::Took(took) => write!(formatter, "took {took}"),
        }
    }
}

/// Deals tasks and collects their outcomes.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Master<T: Tasks> {
    /// What workers share, encoded, until all have it.
    shared: Option<Bytes>,
    /// By worker: whether it has that. One on standby gets it when its host has joined.
    has_shared: Vec<bool>,
    /// The tasks that have not been dealt, in order.
    tasks: VecDeque<T::Task>,
    dealer: Dealer,
    /// The outcomes of the tasks that have been dealt; `None`: it is being executed.
    outcomes: Vec<Option<T::Outcome>>,
    /// The number of outcomes that are there.
    executed: u64,
    /// By worker: the number of its first task of this interaction.
    first: Vec<usize>,
    /// Whether workers know that no tasks follow.
    has_ended: bool,
}

impl<T: Tasks> Master<T> {
    fn new(shared: Bytes, tasks: Vec<T::Task>, dealer: Dealer) -> Self {
        Self {
            shared: Some(shared),
            has_shared: Vec::new(),
            outcomes: Vec::with_capacity(tasks.len()),
            tasks: tasks.into(),
            dealer,
            executed: 0,
            first: Vec::new(),
            has_ended: false,
        }
    }

    /// The part of the tasks that have been executed.
    fn progress(&self) -> f64 {
        let tasks = self.outcomes.len() + self.tasks.len();
        if tasks == 0 {
            return 1.0;
        }
        real(self.executed) / real(length(tasks))
    }

    /// An equal master. It is no `Clone`, whose derivation would ask for one of `T`.
    fn fork(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            has_shared: self.has_shared.clone(),
            tasks: self.tasks.clone(),
            dealer: self.dealer.clone(),
            outcomes: self.outcomes.clone(),
            executed: self.executed,
            first: self.first.clone(),
            has_ended: self.has_ended,
        }
    }

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
    ) -> Result<Step<Vec<T::Outcome>>, BoxError> {
        let mut is_complete = false;
        for (from, message) in ctx.receive() {
            let worker = from.index() - 1;
            match message {
                FarmMessage::Outcomes(outcomes) => {
                    let places = self.outcomes[self.first[worker]..].iter_mut();
                    for (place, outcome) in places.zip(outcomes) {
                        *place = Some(outcome);
                        self.executed += 1;
                    }
                }
                FarmMessage::Took(took) => {
                    self.dealer.observe(worker, took);
                    ctx.note(TASK_SECONDS, took.get());
                    is_complete = true;
                }
                FarmMessage::Part { .. } | FarmMessage::Tasks { .. } | FarmMessage::End => {}
            }
        }
        if is_complete {
            for deviation in self.dealer.deviations() {
                ctx.note(SHARE_DEVIATION, deviation);
            }
        }
        match ctx.index() % SUPERSTEPS {
            _ if ctx.index() == 0 => self.share(ctx),
            DEAL => {
                if self.has_ended {
                    let outcomes = std::mem::take(&mut self.outcomes).into_iter();
                    return Ok(Step::Halt(outcomes.flatten().collect()));
                }
                self.deal(ctx);
            }
            EXECUTE => self.share_with_joined(ctx),
            _ => {}
        }
        Ok(Step::Continue)
    }

    /// Sends what workers share to all that are not on standby; to all if there is no other.
    fn share(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let mut workers: Vec<Rank> = workers(ctx).filter(|rank| !ctx.is_standby(*rank)).collect();
        if workers.is_empty() {
            workers = self::workers(ctx).collect();
        }
        self.has_shared = vec![false; self::workers(ctx).count()];
        for worker in &workers {
            self.has_shared[worker.index() - 1] = true;
        }
        let encoding = self.shared.clone().expect("it has not been sent");
        let Some(parts) = parts(&encoding, workers.len()) else {
            for worker in workers {
                ctx.send(worker, whole(worker, &encoding));
            }
            return;
        };
        for ((number, worker), bytes) in (0..).zip(&workers).zip(parts) {
            let workers = workers.clone();
            let part = FarmMessage::Part {
                number,
                workers,
                bytes,
            };
            ctx.send(*worker, part);
        }
    }

    /// Sends what workers share to those whose hosts have joined, while the others execute.
    fn share_with_joined(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let Some(encoding) = &self.shared else { return };
        for (worker, has_shared) in workers(ctx).zip(&mut self.has_shared) {
            if !*has_shared && !ctx.is_standby(worker) && !self.has_ended {
                *has_shared = true;
                ctx.send(worker, whole(worker, encoding));
            }
        }
        if self.has_shared.iter().all(|has_shared| *has_shared) {
            self.shared = None;
        }
    }

    fn deal(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) {
        let numbers = self.dealer.deal(&self.has_shared);
        self.first.clear();
        self.has_ended = self.dealer.left() == 0;
        ctx.note(TASKS_LEFT, real(self.dealer.left()));
        for (number, to) in numbers.into_iter().zip(workers(ctx)) {
            let first = self.outcomes.len();
            self.first.push(first);
            let dealt = usize::try_from(number).expect("as many tasks are here");
            if 0 < dealt {
                ctx.note(TASKS_DEALT, real(number));
                let tasks = self.tasks.drain(..dealt).collect();
                self.outcomes.resize_with(first + dealt, || None);
                let first = length(first);
                ctx.send(to, FarmMessage::Tasks { first, tasks });
            }
            if self.has_ended {
                ctx.send(to, FarmMessage::End);
            }
        }
    }
}

/// All workers, in rank order.
fn workers<T: Tasks>(ctx: &Superstep<'_, FarmMessage<T>>) -> impl Iterator<Item = Rank> + use<T> {
    ctx.ranks().skip(1)
}

/// The whole of what workers share, for one of them.
fn whole<T: Tasks>(worker: Rank, encoding: &Bytes) -> FarmMessage<T> {
    FarmMessage::Part {
        number: 0,
        workers: vec![worker],
        bytes: encoding.clone(),
    }
}

/// The supersteps of an interaction, and what happens in two of them; before the first interaction, workers get what they
/// share.
const SUPERSTEPS: u64 = 3;
const DEAL: u64 = 1;
const EXECUTE: u64 = 2;

/// Executes tasks.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Worker<T: Tasks> {
    shared: Option<T::Shared>,
    /// The parts of its encoding, until all are here.
    parts: Vec<Option<Bytes>>,
    /// Whether it executed tasks in its last superstep.
    has_executed: bool,
    /// Whether no tasks follow.
    has_ended: bool,
}

impl<T: Tasks> Worker<T> {
    const fn new() -> Self {
        Self {
            shared: None,
            parts: Vec::new(),
            has_executed: false,
            has_ended: false,
        }
    }

    /// An equal worker.
    fn fork(&self) -> Self {
        Self {
            shared: self.shared.clone(),
            parts: self.parts.clone(),
            has_executed: self.has_executed,
            has_ended: self.has_ended,
        }
    }

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
    ) -> Result<Step<Vec<T::Outcome>>, BoxError> {
        if std::mem::take(&mut self.has_executed) {
            ctx.send(MASTER, FarmMessage::Took(ctx.elapsed()));
        }
        // Messages are ordered by sender: tasks come before the parts of other workers.
        let mut dealt = None;
        for (from, message) in ctx.receive() {
            match message {
                FarmMessage::Part {
                    number,
                    workers,
                    bytes,
                } => {
                    if from == MASTER {
                        pass_on(ctx, number, &workers, &bytes);
                    }
                    self.parts.resize(workers.len(), None);
                    if let Some(place) = usize::try_from(number)
                        .ok()
                        .and_then(|at| self.parts.get_mut(at))
                    {
                        *place = Some(bytes);
                    }
                }
                FarmMessage::Tasks { first, tasks } => dealt = Some((first, tasks)),
                FarmMessage::End => self.has_ended = true,
                FarmMessage::Outcomes(_) | FarmMessage::Took(_) => {}
            }
        }
        self.assemble()?;
        if let Some((first, tasks)) = dealt {
            let outcomes = self.execute(ctx, first, &tasks)?;
            ctx.send(MASTER, FarmMessage::Outcomes(outcomes));
            self.has_executed = true;
        }
        if self.has_ended && !self.has_executed {
            Ok(Step::Halt(Vec::new()))
        } else {
            Ok(Step::Continue)
        }
    }

    /// Decodes what workers share, once all its parts are here.
    fn assemble(&mut self) -> Result<(), TaskError> {
        let parts: Option<Vec<Bytes>> = self.parts.iter().cloned().collect();
        if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
            self.parts.clear();
            self.shared = Some(decode_shared(&parts).map_err(TaskError::Shared)?);
        }
        Ok(())
    }

    /// Executes `tasks`, the first of which has the number `first`.
    fn execute(
        &self,
        ctx: &mut Superstep<'_, FarmMessage<T>>,
        first: u64,
        tasks: &[T::Task],
    ) -> Result<Vec<T::Outcome>, TaskError> {
        let shared = self
            .shared
            .as_ref()
            .expect("it comes before the first task");
        let mut work = Work::default();
        let mut outcomes = Vec::with_capacity(tasks.len());
        for (task, number) in tasks.iter().zip(first..) {
            let executed = contain(|| T::execute(shared, task, &mut work));
            let outcome = executed
                .map_err(|message| TaskError::Panicked { number, message })?
                .map_err(|error| TaskError::Failed { number, error })?;
            outcomes.push(outcome);
        }
        ctx.charge(work.charged());
        Ok(outcomes)
    }
}

/// Why a worker cannot execute its tasks.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    #[error("what workers share cannot be decoded")]
    Shared(#[source] rmp_serde::decode::Error),
    #[error("task {number}")]
    Failed {
        number: u64,
        #[source]
        error: BoxError,
    },
    #[error("task {number} panicked: {message}")]
    Panicked { number: u64, message: String },
}

/// Sends a part to the workers that do not have it from the master.
fn pass_on<T: Tasks>(
    ctx: &mut Superstep<'_, FarmMessage<T>>,
    number: u32,
    workers: &[Rank],
    bytes: &Bytes,
) {
    let own = ctx.rank();
    for to in workers.iter().filter(|worker| **worker != own) {
        let workers = workers.to_vec();
        let bytes = bytes.clone();
        ctx.send(
            *to,
            FarmMessage::Part {
                number,
                workers,
                bytes,
            },
        );
    }
}

/// The note of the tasks that have not been dealt, in each superstep in which the master deals.
pub const TASKS_LEFT: &str = "tasks left";

/// The note of the tasks that workers are dealt, in each superstep in which the master deals: a value for each worker that
/// gets some.
pub const TASKS_DEALT: &str = "tasks dealt";

/// The note of the seconds for which workers executed the tasks of the interaction before: a value for each worker that
/// had some. It is noted when the next interaction is dealt, and that of the last one when the master halts.
pub const TASK_SECONDS: &str = "task seconds";

/// The note of how far the shares of workers in the tasks of the interaction before were from their shares in the sum of
/// all rates, in points: zero if all were dealt what they do in equal times. A value for each worker whose rate is known, in
/// the supersteps of [`TASK_SECONDS`].
pub const SHARE_DEVIATION: &str = "share deviation";

/// The process that deals.
const MASTER: Rank = Rank(0);

/// The encoding of a value.
fn encode_shared(value: &impl Serialize) -> Result<Bytes, rmp_serde::encode::Error> {
    rmp_serde::to_vec(value).map(Bytes::from)
}

/// The value whose encoding has these parts.
fn decode_shared<T: DeserializeOwned>(parts: &[Bytes]) -> Result<T, rmp_serde::decode::Error> {
    match parts {
        [whole] => rmp_serde::from_slice(whole),
        parts => rmp_serde::from_slice(&parts.concat()),
    }
}

/// What all workers share, in two phases: the master sends each of them a part, and they exchange the parts. No process
/// sends more than the value twice then, however many workers there are.
///
/// The encoding in parts of equal lengths for `workers` workers; `None`: it is so short that each gets the whole.
fn parts(encoding: &Bytes, workers: usize) -> Option<Vec<Bytes>> {
    if workers < 2 || encoding.len() <= SHORT {
        return None;
    }
    let end = |part: usize| encoding.len() * part / workers;
    let part = |number: usize| encoding.slice(end(number)..end(number + 1));
    Some((0..workers).map(part).collect())
}

/// The longest encoding that is sent whole, in bytes: a second phase would take longer than it saves.
const SHORT: usize = 12 * 1024;

#[cfg(test)]
mod tests {
    mod process;

    use super::*;

    #[test]
    fn parts_have_nearly_equal_lengths_and_are_the_value_together() {
        let value: Vec<u32> = (0..20_000).collect();
        let encoding = encode_shared(&value).unwrap();
        for workers in [2, 3, 7, 1000] {
            let parts = parts(&encoding, workers).unwrap();
            assert_eq!(parts.len(), workers);
            let lengths = parts.iter().map(Bytes::len);
            let (least, most) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
            assert!(most - least <= 1, "{least} to {most}");
            assert_eq!(decode_shared::<Vec<u32>>(&parts).unwrap(), value);
        }
    }

    #[test]
    fn a_short_value_and_that_of_a_single_worker_is_not_divided() {
        let encoding = encode_shared(&vec![1_u8; 12_000]).unwrap();
        assert_eq!(parts(&encoding, 8), None);
        let encoding = encode_shared(&vec![1_u8; 20_000]).unwrap();
        assert_eq!(parts(&encoding, 1), None);
        assert_eq!(decode_shared::<Vec<u8>>(&[encoding]).unwrap(), [1; 20_000]);
    }
}
