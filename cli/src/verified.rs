//! The outputs of a run, checked.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::configuration::Fault;
use crate::output::hexadecimal;
use crate::workload::Rejection;

/// The outputs of a run, checked.
#[derive(Debug)]
pub(crate) struct Verified {
    /// Their digest: equal for equal outputs.
    pub(crate) digest: String,
    /// A description of them, in the workload's words.
    pub(crate) statement: Option<String>,
}

/// Why the outputs of a run are no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VerifyError {
    /// The workload's parameters make no program.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// The workload rejects them.
    #[error(transparent)]
    Outputs(#[from] Rejection),
}

impl Verified {
    /// The digest of `outputs`, by rank, with the workload's `statement`.
    pub(crate) fn new<Output: Serialize>(outputs: &[Output], statement: Option<String>) -> Self {
        let mut hasher = Sha256::new();
        for output in outputs {
            let bytes = serde_json::to_vec(output);
            // What JSON cannot hold, as a map with keys of its own type, counts by its place alone.
            hasher.update(bytes.unwrap_or_default());
            hasher.update([0]);
        }
        Self {
            digest: hexadecimal(&hasher.finalize()),
            statement,
        }
    }
}
