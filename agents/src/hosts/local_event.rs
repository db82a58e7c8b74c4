//! Events that a node causes itself, on other threads or later.

use bsp::units::Seconds;
use bsp::{HostId, SetId};
use protocol::Address;

use super::failure::JobError;
use super::migration::arrived_process::ArrivedProcess;
use crate::deliberation::Deliberated;

/// An event that a node causes itself.
pub(super) enum LocalEvent {
    /// The time has come at which an agent asked to be woken.
    Woken(Address),
    /// The image of a process has arrived and is decoded.
    Arrived(Box<ArrivedProcess>),
    /// The image of a process has reached its host: its bytes, and how long it took.
    Sent(HostId, u64, Seconds),
    /// The plan that the Manager of a Set asked for is complete.
    Deliberated(SetId, Box<Deliberated>),
    /// A task has failed.
    Failed(JobError),
}
