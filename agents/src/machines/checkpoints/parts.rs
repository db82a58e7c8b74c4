//! The place of a node in the checkpoints of a job.

use std::collections::BTreeSet;

use bsp::HostId;
use protocol::transport::JobId;

/// What the checkpoints of a job on one node are made of.
pub(super) struct CheckpointParts {
    pub(super) own: HostId,
    /// The node of the first Manager.
    pub(super) collector: HostId,
    /// The other nodes.
    pub(super) others: Vec<HostId>,
    pub(super) job: JobId,
    pub(super) incarnation: u64,
    /// The number of processes.
    pub(super) size: u32,
    /// The number of processors here.
    pub(super) processors: u32,
    /// Where the pieces of this node are copied, if they are.
    pub(super) buddy: Option<HostId>,
    /// The nodes whose pieces are copied here.
    pub(super) wards: BTreeSet<HostId>,
    /// Whether checkpoints are written to disk.
    pub(super) is_on_disk: bool,
}
