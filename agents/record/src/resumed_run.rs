//! The beginning of a run that resumes another one.

use serde::{Deserialize, Serialize};

/// The checkpoint in whose state a run begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedRun {
    /// The job that saved it, in hexadecimal digits.
    pub job: String,
    /// The incarnation of the run, greater than that of the checkpoint.
    pub incarnation: u64,
    /// The superstep before which it was saved: the first one of the run.
    pub superstep: u64,
}
