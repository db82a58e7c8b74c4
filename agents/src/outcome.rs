//! The result of a run.

use protocol::Build;

use crate::programs::Outputs;
use crate::record::{Call, Checkpoint, End, Join};

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
    /// The supersteps of a simulation that passed as earlier ones did, and were not simulated again.
    pub repeated: u64,
}
