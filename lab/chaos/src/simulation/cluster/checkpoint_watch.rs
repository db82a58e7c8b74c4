//! What is known of the checkpoints of the jobs.

use std::collections::BTreeMap;

use checkpoint::Generation;
use protocol::transport::JobId;

/// What is known of the checkpoints of the jobs.
#[derive(Default)]
pub(super) struct CheckpointWatch {
    /// The newest complete checkpoint on each node, and the job.
    pub(super) complete: BTreeMap<usize, (JobId, Generation)>,
}
