//! The result of a run.

use bsp::units::{Bytes, Seconds};
use protocol::Build;
use record::{Call, Checkpoint, End, Join};

use crate::programs::Outputs;

/// The result of a run, in either world.
#[derive(Debug)]
pub struct Outcome {
    /// The makespan and the totals of the run.
    pub end: End,
    /// The rescheduling calls that were held.
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

/// What the client of a job sent to nodes before the run, and received from them after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfers {
    /// The processes, until the last was sent.
    pub sent: Transferred,
    /// How long that took.
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
