//! The place of a checkpoint among those of a job.

use std::fmt;

/// The place of a checkpoint among those of a job. Of two, the newer one is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    /// The incarnation of the job: increases whenever the job begins again from a checkpoint, and is greater in a job that
    /// resumes another one than in that.
    pub incarnation: u64,
    /// The superstep before which the states were taken.
    pub superstep: u64,
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.incarnation, self.superstep)
    }
}
