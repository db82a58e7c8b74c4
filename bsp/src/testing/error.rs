//! Which law a program breaks, in which process and superstep.

use std::fmt;

use crate::ids::Rank;
use crate::reference;
use crate::units::Bytes;

/// Which law a program breaks, in which process and superstep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not run at all.
    #[error(transparent)]
    Plain(#[from] reference::Error),
    /// It fails when processes move, or when it is run again.
    #[error("{trial}: {source}")]
    Run {
        /// How it was run.
        trial: Trial,
        /// What happened.
        source: reference::Error,
    },
    /// A value has no encoding.
    #[error("{rank}'s {subject} {superstep} cannot be encoded: {message}")]
    Encoding {
        /// Its process.
        rank: Rank,
        /// What is concerned.
        subject: Subject,
        /// Its superstep.
        superstep: u64,
        /// The encoder's message.
        message: String,
    },
    /// An encoding gives no value.
    #[error(
        "{rank}'s {subject} {superstep} cannot be decoded from its encoding: {message}; \
         fields are encoded by position, so none may be left out only sometimes"
    )]
    Decoding {
        /// Its process.
        rank: Rank,
        /// What is concerned.
        subject: Subject,
        /// Its superstep.
        superstep: u64,
        /// The decoder's message.
        message: String,
    },
    /// A value that is decoded from its encoding is encoded differently.
    #[error(
        "{rank}'s {subject} {superstep} is encoded otherwise once it has been decoded; \
         a `HashMap` has no order, a `BTreeMap` has one"
    )]
    RoundTrip {
        /// Its process.
        rank: Rank,
        /// What is concerned.
        subject: Subject,
        /// Its superstep.
        superstep: u64,
    },
    /// A process executes more supersteps than it said were left.
    #[error(
        "{rank} executes superstep {superstep}, but had said that it would have halted by then; \
         `Program::remaining` has to be the most supersteps that are left, or `None`"
    )]
    Remaining {
        /// The process.
        rank: Rank,
        /// The superstep that is next.
        superstep: u64,
    },
    /// The declared memory is less than the encoded state.
    #[error(
        "{rank} declares {} B of memory before superstep {superstep}, but its encoded state takes {} B; \
         `Program::memory` has to be at least that, or `None`",
        .declared.0,
        .encoded.0
    )]
    Memory {
        /// The process.
        rank: Rank,
        /// The superstep that is next.
        superstep: u64,
        /// The sum that `Program::memory` declares.
        declared: Bytes,
        /// The length of the encoded state.
        encoded: Bytes,
    },
    /// A fork is not encoded as its process is.
    #[error(
        "{rank}'s fork before superstep {superstep} is encoded otherwise than the process; \
         `Program::fork` has to return an equal program, or `None`"
    )]
    Fork {
        /// The process.
        rank: Rank,
        /// The superstep that is next.
        superstep: u64,
    },
    /// A superstep of a process changes its fork.
    #[error(
        "{rank} changes in superstep {superstep} what its fork is encoded to; \
         a fork may share only what no superstep changes"
    )]
    SharedFork {
        /// The process.
        rank: Rank,
        /// The superstep.
        superstep: u64,
    },
    /// A repeated run differs.
    #[error("{trial}: {rank}'s {subject} {superstep} is another; {}", .trial.hint())]
    Differs {
        /// The lowest rank for which it did.
        rank: Rank,
        /// What is concerned.
        subject: Subject,
        /// The first superstep for which it did.
        superstep: u64,
        /// How it was run.
        trial: Trial,
    },
}

/// What of a process an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Its state, before a superstep.
    State,
    /// What it charged in a superstep.
    Charge,
    /// A message it sent.
    Message,
    /// Its output, in the superstep in which it halted or should have.
    Output,
    /// What it wrote to files.
    Snapshot,
}

/// How a program was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// With every process moved before every superstep.
    Moved,
    /// As the first time.
    Repeated,
    /// With computation times at random.
    Clock,
}

impl Error {
    pub(super) const fn differs(
        rank: Rank,
        subject: Subject,
        superstep: u64,
        trial: Trial,
    ) -> Self {
        Self::Differs {
            rank,
            subject,
            superstep,
            trial,
        }
    }
}

impl Trial {
    const fn hint(self) -> &'static str {
        match self {
            Self::Moved => "a field that is skipped has to be rebuilt from the others",
            Self::Repeated => {
                "nothing but the state and the inbox may matter: no clock, no random numbers from outside"
            }
            Self::Clock => "`Superstep::elapsed` may decide what is computed where, and no output",
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::State => "state before superstep",
            Self::Charge => "charge of superstep",
            Self::Message => "message of superstep",
            Self::Output => "output of superstep",
            Self::Snapshot => "snapshot of superstep",
        })
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Moved => "with every process moved before every superstep",
            Self::Repeated => "run again",
            Self::Clock => "with computation times at random",
        })
    }
}
