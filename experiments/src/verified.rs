//! The outputs of a run, checked.

use bsp::Rank;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::workload::Rejection;
use settings::Fault;

/// The outputs of a run, checked.
#[derive(Debug)]
pub struct Verified {
    /// Their digest: equal for equal outputs.
    pub digest: String,
    /// A description of them, in the workload's words.
    pub statement: Option<String>,
}

/// Why the outputs of a run are no result.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The workload's parameters are invalid.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// The workload rejects them.
    #[error(transparent)]
    Outputs(#[from] Rejection),
}

impl VerifyError {
    /// The process whose output is wrong, if it is one.
    pub(crate) const fn process(&self) -> Option<Rank> {
        match self {
            Self::Outputs(Rejection::Output { process, .. }) => Some(*process),
            Self::Outputs(Rejection::Input(_) | Rejection::Outputs(_)) | Self::Parameters(_) => {
                None
            }
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let problem = error.to_string();
        match error {
            VerifyError::Parameters(fault) => fault.into(),
            VerifyError::Outputs(Rejection::Input(_)) => Self::Input(problem),
            VerifyError::Outputs(Rejection::Outputs(_) | Rejection::Output { .. }) => {
                Self::Verification(problem)
            }
        }
    }
}

impl Verified {
    /// The digest of `outputs`, by rank, with the workload's `statement`.
    pub fn new<Output: Serialize>(outputs: &[Output], statement: Option<String>) -> Self {
        let mut hasher = Sha256::new();
        for output in outputs {
            let bytes = serde_json::to_vec(output);
            // What JSON cannot hold, as a map with keys of its own type, counts by its place alone.
            hasher.update(bytes.unwrap_or_default());
            hasher.update([0]);
        }
        Self {
            digest: hex::encode(hasher.finalize()),
            statement,
        }
    }
}
