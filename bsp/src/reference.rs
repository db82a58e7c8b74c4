//! The single-threaded reference runner: what any run, anywhere, has to produce.

mod computation;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::ids::Rank;
use crate::program::{Program, Step};
use crate::superstep::{GaveUp, Inbox, Outbox, Superstep};
use crate::units::Instructions;

pub(crate) use self::computation::Computation;

/// What a computation produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run<Output> {
    /// Outputs in rank order.
    pub outputs: Vec<Output>,
    /// How many supersteps were executed, the one in which the last process halted included.
    pub supersteps: u64,
    /// Computation charged by all processes together.
    pub work: Instructions,
}

/// How many supersteps a computation may take before it counts as one that never halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub u64);

impl Default for Limit {
    /// A million supersteps.
    fn default() -> Self {
        Self(1_000_000)
    }
}

/// Why a computation cannot go on: the program is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message for nobody.
    #[error("{from} sent to {to} in superstep {superstep}, but there are only {size} processes")]
    NoSuchRank {
        /// The sender.
        from: Rank,
        /// The rank that does not exist.
        to: Rank,
        /// When.
        superstep: u64,
        /// How many processes there are.
        size: u32,
    },
    /// A message that its receiver can never read.
    #[error("{from} sent to {to} in superstep {superstep}, which had halted by superstep {halted}")]
    Halted {
        /// The sender.
        from: Rank,
        /// The process that had halted.
        to: Rank,
        /// When.
        superstep: u64,
        /// The superstep in which the receiver halted.
        halted: u64,
    },
    /// The program panicked.
    #[error("{rank} panicked in superstep {superstep}: {message}")]
    Panicked {
        /// Who.
        rank: Rank,
        /// When.
        superstep: u64,
        /// The panic's own words.
        message: String,
    },
    /// The program gave up: [`Superstep::fail`].
    #[error("{rank} gave up in superstep {superstep}: {message}")]
    GaveUp {
        /// Who.
        rank: Rank,
        /// When.
        superstep: u64,
        /// Why.
        message: String,
    },
    /// The limit was reached.
    #[error(
        "{rank} had not halted after {limit} supersteps; if it takes that long, raise the limit, in experiments `run.superstep_limit`"
    )]
    NeverHalts {
        /// The lowest rank still running.
        rank: Rank,
        /// The limit.
        limit: u64,
    },
}

/// Checks that the message `from` → `to` can be received: `to` exists and will read it.
///
/// `halted` tells in which superstep a process halted. A message that is only a size may go to a
/// process that halts in the same superstep: it is traffic, and nothing in it is lost.
///
/// # Errors
///
/// [`Error::NoSuchRank`] and [`Error::Halted`].
///
/// # Panics
///
/// If there are 2³² processes or more.
pub fn check_receiver(
    (from, to): (Rank, Rank),
    is_sized: bool,
    superstep: u64,
    halted: &[Option<u64>],
) -> Result<(), Error> {
    match halted.get(to.index()) {
        None => {
            let size = u32::try_from(halted.len()).expect("ranks fit 32 bits");
            Err(Error::NoSuchRank {
                from,
                to,
                superstep,
                size,
            })
        }
        Some(&Some(halted)) if halted < superstep || !is_sized => Err(Error::Halted {
            from,
            to,
            superstep,
            halted,
        }),
        Some(_) => Ok(()),
    }
}

/// Executes one superstep of one process and turns a panic into an error.
///
/// # Errors
///
/// [`Error::Panicked`] and [`Error::GaveUp`].
pub fn execute<P: Program>(
    program: &mut P,
    (rank, size): (Rank, u32),
    superstep: u64,
    inbox: &mut Inbox<P::Message>,
    outbox: &mut Outbox<P::Message>,
) -> Result<Step<P::Output>, Error> {
    catch_unwind(AssertUnwindSafe(|| {
        program.superstep(&mut Superstep::new(rank, size, superstep, inbox, outbox))
    }))
    .map_err(|panic| {
        let panic = match panic.downcast::<GaveUp>() {
            Ok(gave_up) => {
                return Error::GaveUp {
                    rank,
                    superstep,
                    message: gave_up.0,
                };
            }
            Err(panic) => panic,
        };
        let message = panic
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Error::Panicked {
            rank,
            superstep,
            message,
        }
    })
}

/// Runs `processes` to the end, process `r` being element `r`.
///
/// # Errors
///
/// Any [`Error`]; the run ends with the first.
///
/// # Panics
///
/// If there are 2³² processes or more.
pub fn run<P: Program>(processes: Vec<P>, limit: Limit) -> Result<Run<P::Output>, Error> {
    let mut computation = Computation::new(processes, limit);
    while computation.is_running() {
        computation.superstep()?;
    }
    Ok(computation.finish())
}
