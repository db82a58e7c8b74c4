//! A process that leaves this node.

use crate::programs::{HostedProgram, Incoming};

/// A process that leaves this node.
pub(crate) struct DepartingProcess {
    /// The encoded agent.
    pub(crate) agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub(crate) inbox: Vec<Incoming>,
    pub(crate) program: Box<dyn HostedProgram>,
}
