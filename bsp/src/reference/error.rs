//! Why a computation cannot go on.

use crate::ids::Rank;

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
