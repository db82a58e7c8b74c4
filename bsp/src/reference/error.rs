//! Errors of programs.

use crate::ids::Rank;
use crate::superstep::MESSAGE_MAX;
use crate::units::Bytes;

/// An error of the program, which ends the computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A message to a rank that does not exist.
    #[error("{from} sent to {to} in superstep {superstep}, but there are only {size} processes")]
    NoSuchRank {
        /// The sender.
        from: Rank,
        /// The rank that does not exist.
        to: Rank,
        /// The superstep.
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
        /// The superstep.
        superstep: u64,
        /// The superstep in which the receiver halted.
        halted: u64,
    },
    /// A message that is longer than any may be.
    #[error(
        "{from} sent {to} a message of {} B in superstep {superstep}; a message may have {} B, wherever its receiver is: \
         send it in parts",
        .length.0,
        MESSAGE_MAX.0
    )]
    TooLong {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// The superstep.
        superstep: u64,
        /// Its length.
        length: Bytes,
    },
    /// The program panicked.
    #[error("{rank} panicked in superstep {superstep}: {message}")]
    Panicked {
        /// The process.
        rank: Rank,
        /// The superstep.
        superstep: u64,
        /// The panic message.
        message: String,
    },
    /// The program gave up: [`Superstep::fail`](crate::Superstep::fail).
    #[error("{rank} gave up in superstep {superstep}: {message}")]
    GaveUp {
        /// The process.
        rank: Rank,
        /// The superstep.
        superstep: u64,
        /// Why.
        message: String,
    },
    /// The limit was reached.
    #[error(
        "{rank} had not halted after {limit} supersteps; if it needs more, raise the limit (in experiments `run.superstep_limit`)"
    )]
    NeverHalts {
        /// The lowest rank still running.
        rank: Rank,
        /// The limit.
        limit: u64,
    },
}
