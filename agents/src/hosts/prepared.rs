//! A job as a node runs it.

use crate::programs::ProgramType;
use crate::setup::Setup;

/// What a job is made of.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, all hosts being those of the cluster.
    pub setup: Setup,
    /// What its processes execute.
    pub program_type: ProgramType,
}
