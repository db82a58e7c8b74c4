//! What a user implements.

use std::error::Error;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::superstep::Superstep;
use crate::units::Bytes;

/// One process of a bulk-synchronous parallel computation: a value whose fields are its whole state.
///
/// # Laws
///
/// * **Moving changes nothing.** Encoding the value with serde between two supersteps and decoding
///   it elsewhere gives the same messages and the same output as leaving it alone. Caches are
///   `#[serde(skip)]` and rebuilt.
/// * **The end is no later than foreseen.** A process that says how many supersteps are left executes no more.
/// * **Nothing but the state and the inbox matters.** No clock, no random numbers that are not part
///   of the state, no files: the same state, inbox, [`Superstep::elapsed`] and [`Superstep::is_standby`] give the same
///   superstep.
/// * **A fork is equal.** [`fork`](Self::fork) gives a program with the same encoding, and what this one computes
///   afterwards does not change it.
/// * **Times and hosts change no output.** [`Superstep::elapsed`] and [`Superstep::is_standby`] may decide which process
///   computes what and when, and so messages and the number of supersteps; the outputs are the same whatever they say.
///
/// # Examples
///
/// The sum over all processes, known to each of them after one exchange:
///
/// ```
/// use bsp::units::Instructions;
/// use bsp::{BoxError, Program, Step, Superstep, reference};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Total {
///     mine: u64,
/// }
///
/// impl Program for Total {
///     type Message = u64;
///     type Output = u64;
///
///     fn superstep(&mut self, ctx: &mut Superstep<'_, u64>) -> Result<Step<u64>, BoxError> {
///         ctx.charge(Instructions(1000));
///         if ctx.index() == 0 {
///             for rank in ctx.ranks() {
///                 ctx.send(rank, self.mine);
///             }
///             return Ok(Step::Continue);
///         }
///         Ok(Step::Halt(ctx.receive().map(|(_, value)| value).sum()))
///     }
/// }
///
/// let processes = (1..=4).map(|mine| Total { mine }).collect();
/// let run = reference::run(processes, reference::Limit::default()).unwrap();
/// assert_eq!(run.outputs, [10, 10, 10, 10]);
/// assert_eq!(run.supersteps, 2);
/// ```
pub trait Program: Serialize + DeserializeOwned + Send + 'static {
    /// What processes send each other.
    type Message: Payload;
    /// The result of a process, returned when it halts.
    type Output: Payload;

    /// The supersteps that belong together; processes are rescheduled after the last of them.
    const ROUND: Round = Round::SUPERSTEP;

    /// One round: receive what was sent in the previous superstep, compute, send.
    ///
    /// # Errors
    ///
    /// Whatever keeps the process from going on. It ends the run, whose message names the process, the superstep and the
    /// chain of causes. A panic means that the program is wrong; an error, that its input is.
    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, Self::Message>,
    ) -> Result<Step<Self::Output>, BoxError>;

    /// The memory image that a migration moves; `None`: as long as the encoded state.
    fn memory(&self) -> Option<MemorySize> {
        None
    }

    /// The most supersteps that the process executes after the first `completed`; `None`: the program does not know.
    ///
    /// What a migration gains ends with the program, so processes are not moved where too few supersteps are left. A
    /// program that may end earlier gives the number that it does not exceed.
    fn remaining(&self, completed: u64) -> Option<u64> {
        let _ = completed;
        None
    }

    /// The part of the whole computation that has been done, from 0 to 1; `None`: the process does not know.
    ///
    /// It decides when hosts join that are to join after a part of the work, and whether that still pays. Without it, it is
    /// the part of the supersteps, if [`remaining`](Self::remaining) knows them.
    fn progress(&self) -> Option<f64> {
        None
    }

    /// An equal program, to be encoded while this one goes on computing; `None`: this one is encoded first.
    ///
    /// A checkpoint has the state between two supersteps. With a fork, the process waits only as long as that takes. For a
    /// program whose clone takes less time than its encoding, [`fork_by_clone`](crate::fork_by_clone) is this method.
    fn fork(&self) -> Option<Self> {
        None
    }
}

/// The method [`Program::fork`] of a program that is `Clone`: a clone.
///
/// # Examples
///
/// ```
/// # use bsp::{BoxError, Program, Step, Superstep};
/// # #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// # struct Idle;
/// impl Program for Idle {
///     type Message = ();
///     type Output = ();
///
///     fn superstep(&mut self, _: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
///         Ok(Step::Halt(()))
///     }
///
///     bsp::fork_by_clone!();
/// }
/// assert!(Idle.fork().is_some());
/// ```
#[macro_export]
macro_rules! fork_by_clone {
    () => {
        fn fork(&self) -> ::core::option::Option<Self> {
            ::core::option::Option::Some(::core::clone::Clone::clone(self))
        }
    };
}

/// The error of a superstep or of a task: any error converts to it by `?`, and so does a text.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A message or an output: any value that serde can encode.
pub trait Payload: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Payload for T {}

/// What follows a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<Output> {
    /// Another superstep.
    Continue,
    /// Nothing: the process is done and leaves its output.
    Halt(Output),
}

/// The memory that a process occupies and a migration has to move.
///
/// Two parts, because the papers' cost of a migration charges them at different rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemorySize {
    /// What grows with the process's share of the problem.
    pub data: Bytes,
    /// What every process carries whatever its share: code, buffers, the runtime's own structures.
    pub fixed: Bytes,
}

impl MemorySize {
    /// All of it.
    #[must_use]
    pub fn total(self) -> Bytes {
        self.data + self.fixed
    }
}

impl From<Bytes> for MemorySize {
    fn from(data: Bytes) -> Self {
        Self {
            data,
            fixed: Bytes::ZERO,
        }
    }
}

/// Supersteps that belong together: every `length` of them form a round.
///
/// Processes are rescheduled between rounds, because what they compute in one superstep of a round says little about the
/// next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Round {
    /// The number of supersteps of a round, at least 1.
    pub length: u64,
    /// The index of a superstep that ends a round.
    pub last: u64,
}

impl Round {
    /// Each superstep is a round of its own.
    pub const SUPERSTEP: Self = Self { length: 1, last: 0 };

    /// Whether a round ends with superstep `index`.
    #[must_use]
    pub fn ends_with(self, index: u64) -> bool {
        let length = self.length.max(1);
        index % length == self.last % length
    }

    /// Whether each superstep is a round.
    #[must_use]
    pub fn is_superstep(&self) -> bool {
        self.length <= 1
    }
}

impl Default for Round {
    fn default() -> Self {
        Self::SUPERSTEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_end_every_few_supersteps() {
        let ends = |round: Round| {
            (0..8)
                .filter(|index| round.ends_with(*index))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(Round { length: 3, last: 2 }), [2, 5]);
        assert_eq!(ends(Round { length: 3, last: 7 }), [1, 4, 7]);
        assert_eq!(ends(Round::SUPERSTEP).len(), 8);
        assert_eq!(ends(Round { length: 0, last: 5 }).len(), 8);
    }
}
