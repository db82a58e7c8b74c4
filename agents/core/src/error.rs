//! Why a run ends without a result.

use simulator::NoRoute;

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The program is at fault.
    #[error(transparent)]
    Program(#[from] bsp::reference::Error),
    /// The numbers of placed processes and of programs differ.
    #[error("there are {programs} programs but places for {places} processes")]
    Places {
        /// The number of programs.
        programs: usize,
        /// The number of processes that are placed.
        places: usize,
    },
    /// A process starts on a host that does not exist.
    #[error("{rank} is placed on {host}, but the platform has only {hosts} hosts")]
    NoSuchHost {
        /// The process.
        rank: bsp::Rank,
        /// Its host.
        host: bsp::HostId,
        /// The number of hosts.
        hosts: usize,
    },
    /// There are no processes.
    #[error("there are no processes; at least one is needed")]
    NoProcesses,
    /// Hosts cannot join as they should.
    #[error("{0}")]
    Elasticity(String),
    /// The run cannot begin in the state of another one.
    #[error("{0}")]
    Resumption(String),
    /// No route connects two hosts that communicate.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    /// A program's state, message or output could not be encoded or decoded.
    #[error("{what} {rank} cannot be {action}: {message}")]
    Encoding {
        /// The part of the process, as "the state of".
        what: &'static str,
        /// The process.
        rank: bsp::Rank,
        /// Encoded or decoded.
        action: &'static str,
        /// The error of the encoder.
        message: String,
    },
    /// A node violated the protocol.
    #[error("{0}: it is broken, or runs another build")]
    Peer(String),
    /// The host that a node plays never gives a process a processor.
    #[error("{rank} waits for ever: its host is fully loaded")]
    Starved {
        /// The process.
        rank: bsp::Rank,
    },
    /// A computation or a transfer never ends, because its host or a link gives it no share.
    #[error(
        "nothing happens any more at {at}: {waiting} processes wait for ever; a host is fully loaded or a link has no bandwidth left"
    )]
    Stuck {
        /// The time.
        at: bsp::units::Instant,
        /// The number of processes that have not finished.
        waiting: usize,
    },
}

impl RunError {
    /// `what` (as "the state of") `rank` could not be encoded or decoded, as `action` has it, because of `problem`.
    pub fn encoding(
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
