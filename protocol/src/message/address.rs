//! The sender and the receiver of a message.

use bsp::{HostId, Rank, SetId};
use serde::{Deserialize, Serialize};

/// An agent, or the client of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The agent of a process, wherever it runs.
    Process(Rank),
    /// The agent of a host.
    Node(HostId),
    /// The manager of a Set.
    SetManager(SetId),
    /// The client of a job, which is not an agent: it only sends and receives [`JobMessage`](crate::JobMessage)s and
    /// process images.
    Client,
}
