//! The processes of a farm.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::dealer::Dealer;
use super::dealing::Dealing;
use super::dealing_error::DealingError;
use super::master::{EXECUTE, Master, SUPERSTEPS};
use super::message::FarmMessage;
use super::shared;
use super::tasks::Tasks;
use super::worker::Worker;
use crate::numbers::length;
use crate::program::{Program, Step};
use crate::round::Round;
use crate::superstep::Superstep;

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
    dealing.check()?;
    let workers = size.checked_sub(1).filter(|workers| 0 < *workers);
    let workers = workers.ok_or(FarmError::NoWorker(size))?;
    let encoding = shared::encode(shared).map_err(|error| FarmError::Shared(error.to_string()))?;
    let dealer = Dealer::new(dealing, length(tasks.len()), workers);
    let master = Role::Master(Box::new(Master::new(encoding, tasks, dealer)));
    let workers = (0..workers).map(|_| Role::Worker(Worker::new()));
    Ok(std::iter::once(master).chain(workers).map(Farm).collect())
}

impl<T: Tasks> Program for Farm<T> {
    type Message = FarmMessage<T>;
    type Output = Vec<T::Outcome>;

    /// Until tasks have been executed: the superstep shows how long they take.
    const ROUND: Round = Round {
        length: SUPERSTEPS,
        last: EXECUTE,
    };

    fn superstep(&mut self, ctx: &mut Superstep<'_, FarmMessage<T>>) -> Step<Vec<T::Outcome>> {
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

#[cfg(test)]
mod tests;
