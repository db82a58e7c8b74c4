//! Why a run ends without a result.

use simulator::NoRoute;

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The program is at fault.
    #[error(transparent)]
    Program(#[from] bsp::reference::Error),
    /// The placement and the programs do not fit each other.
    #[error("there are {programs} programs but places for {places} processes")]
    Places {
        /// How many programs there are.
        programs: usize,
        /// How many processes are placed.
        places: usize,
    },
    /// A process starts nowhere.
    #[error("{rank} is placed on {host}, but the platform has only {hosts} hosts")]
    NoSuchHost {
        /// The process.
        rank: bsp::Rank,
        /// Its host.
        host: bsp::HostId,
        /// How many hosts there are.
        hosts: usize,
    },
    /// There is nothing to run.
    #[error("there are no processes; at least one is needed")]
    NoProcesses,
    /// Two hosts that have to talk cannot.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    /// A program's state, message or output could not be encoded or decoded.
    #[error("{what} {rank} cannot be {action}: {message}")]
    Encoding {
        /// What it is of the process, as "the state of".
        what: &'static str,
        /// Whose.
        rank: bsp::Rank,
        /// Encoded or decoded.
        action: &'static str,
        /// The encoder's own words.
        message: String,
    },
    /// A message is longer than what can be sent between hosts.
    #[error(
        "{from} sent {to} a message of {bytes} bytes; between hosts it may have {longest}: send it in parts"
    )]
    MessageTooLong {
        /// The sender.
        from: bsp::Rank,
        /// The receiver.
        to: bsp::Rank,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        longest: u64,
    },
    /// A node did what nodes do not.
    #[error("{0}: it is broken, or of another release")]
    Peer(String),
    /// A computation or a transfer never ends, because a host or a link gives it nothing, ever.
    #[error(
        "nothing happens any more at {at}: {waiting} processes wait for ever; a host is fully loaded or a link has no bandwidth left"
    )]
    Stuck {
        /// When.
        at: bsp::units::Instant,
        /// How many processes have not finished.
        waiting: usize,
    },
}

impl RunError {
    /// `what` (as "the state of") `rank` could not be encoded or decoded, as `action` has it, because of `problem`.
    pub(crate) fn encoding(
        what: &'static str,
        rank: bsp::Rank,
        action: &'static str,
        problem: &impl ToString,
    ) -> Self {
        Self::Encoding {
            what,
            rank,
            action,
            message: problem.to_string(),
        }
    }
}
