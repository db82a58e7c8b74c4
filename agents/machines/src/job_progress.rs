//! How far a job is on a node.

use protocol::CallsStatus;

/// How far a job is on a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct JobProgress {
    /// Supersteps that have begun there, with those before the job begins.
    pub(super) superstep: u64,
    /// Processes there that have not halted.
    pub(super) processes: usize,
    /// The calls that were recorded there, once there has been one.
    pub(super) calls: Option<CallsStatus>,
}
