//! A job as a node runs it.

use agents::{ProgramType, Rules, Setup};

use super::members;

/// What a job is made of.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, all hosts being those of the cluster.
    pub setup: Setup,
    /// What its processes execute.
    pub program_type: ProgramType,
    /// The number of its supersteps, if its experiment has it.
    pub supersteps: Option<u64>,
}

impl Prepared {
    /// The data that its agents have from the start.
    pub(crate) fn rules(&self) -> Rules {
        members::rules(&self.setup).in_rounds(self.program_type.round())
    }
}
