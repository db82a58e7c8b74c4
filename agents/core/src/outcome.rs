//! The result of a run.

use std::any::Any;
use std::fmt;

use bsp::Program;
use bsp::units::{Bytes, Seconds};
use protocol::{Build, JobFolder, WrittenOutput};
use record::{Call, Checkpoint, End, Join};
use simulator::NoRoute;

/// The result of a run, in either world.
#[derive(Debug)]
pub struct Outcome {
    /// The makespan and the totals of the run.
    pub end: End,
    /// The rescheduling calls that were held, without their lists of processes.
    pub calls: Vec<Call>,
    /// The hosts that joined, or that were to join and did not.
    pub joins: Vec<Join>,
    /// The checkpoints that became complete.
    pub checkpoints: Vec<Checkpoint>,
    /// The outputs of the programs, by rank.
    pub outputs: Outputs,
    /// The builds of the nodes, by host; none in a simulation.
    pub builds: Vec<Build>,
    /// The node that each process ended on, by rank; none in a simulation.
    pub nodes: Vec<String>,
    /// What the client sent before the run and received after it; `None` in a simulation.
    pub transfers: Option<Transfers>,
    /// The supersteps of a simulation that passed as earlier ones did, and were not simulated again.
    pub repeated: u64,
}

/// The outputs of a job's programs, by rank.
pub struct Outputs(OutputsAt);

enum OutputsAt {
    /// In memory: a list of outputs.
    Here(Box<dyn Any + Send>),
    /// In files of the nodes.
    Nodes(OutputsOnNodes),
}

/// Outputs that are in files of the nodes on which the processes have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputsOnNodes {
    /// The folder of the job, in that of each node.
    pub job: JobFolder,
    /// What the nodes say of the files, by rank.
    pub files: Vec<WrittenOutput>,
}

impl Outputs {
    /// The outputs of programs of type `P`, by rank.
    pub fn new<P: Program>(outputs: Vec<P::Output>) -> Self {
        Self(OutputsAt::Here(Box::new(outputs)))
    }

    /// Outputs that are in files of the nodes.
    #[must_use]
    pub const fn on_nodes(files: OutputsOnNodes) -> Self {
        Self(OutputsAt::Nodes(files))
    }

    /// The files of the nodes in which they are; `None`: they are in memory.
    #[must_use]
    pub const fn files(&self) -> Option<&OutputsOnNodes> {
        match &self.0 {
            OutputsAt::Here(_) => None,
            OutputsAt::Nodes(files) => Some(files),
        }
    }

    /// The outputs of programs of type `P`, by rank.
    ///
    /// # Panics
    ///
    /// If they are in files of the nodes, or the programs of the job were of another type with other outputs.
    #[must_use]
    pub fn typed<P: Program>(&self) -> &[P::Output] {
        let outputs = match &self.0 {
            OutputsAt::Here(outputs) => outputs.downcast_ref::<Vec<P::Output>>(),
            OutputsAt::Nodes(_) => None,
        };
        outputs.expect("the outputs are here, and those of the programs that ran")
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outputs")
            .field("files", &self.files())
            .finish_non_exhaustive()
    }
}

/// How processes came to the nodes before the run, and what the client received from them after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfers {
    /// The processes that the client sent: those of a job that resumes another one. Nodes build the others.
    pub sent: Transferred,
    /// How long it took until all nodes had the processes that start there.
    pub sending: Seconds,
    /// The outputs.
    pub received: Transferred,
    /// From the end of the last superstep until the last output was here.
    pub receiving: Seconds,
}

/// Processes or their outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Their number.
    pub number: usize,
    /// Their encoded size.
    pub bytes: Bytes,
}

impl Transferred {
    /// Adds one of this size.
    pub fn add(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.number += 1;
        self.bytes = Bytes(self.bytes.0.saturating_add(bytes));
    }
}

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
    /// A file of a process cannot be written.
    #[error("{what} of {rank} cannot be written to {path}: {problem}")]
    File {
        /// What is in the file, as "the output".
        what: String,
        /// The process.
        rank: bsp::Rank,
        /// The file.
        path: String,
        /// What the system says.
        problem: String,
    },
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
