//! The client in a fault simulation.

use bytes::Bytes;
use machines::JobError;
use machines::client::{ClientMachine, JobResult};

/// The client: its machine, and what its shell would have.
pub(super) struct ClientProcess<'a> {
    pub(super) machine: ClientMachine<'a>,
    /// The encoded processes.
    pub(super) states: Vec<Bytes>,
    pub(super) connections: Vec<Option<(usize, usize)>>,
    pub(super) timer: Option<u64>,
    pub(super) began: u64,
    pub(super) result: Option<Result<JobResult, JobError>>,
}
