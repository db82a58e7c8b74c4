//! Messages between agents, between nodes, and between the client of a job and a node.
//!
//! Enums are cut by the ends of messages. The kind of a frame names the enum, so encoded lengths, which simulated calls
//! are charged for, do not depend on how the enums are cut.

mod agents;
mod busy_process;
mod client;
mod nodes;
mod route;

use bsp::{HostId, Rank, SetId};
use serde::{Deserialize, Serialize};

pub use agents::*;
pub use busy_process::BusyProcess;
pub use client::*;
pub use nodes::*;
pub use route::{End, Route, When};

/// The sender or the receiver of a message: an agent, or the client of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The agent of a process, wherever it runs.
    Process(Rank),
    /// The agent of a host.
    Node(HostId),
    /// The manager of a Set.
    SetManager(SetId),
    /// The client of a job, which is not an agent: it only sends and receives [`JobMessage`]s and states of processes.
    Client,
}

/// Any message. The kind of its frame names the enum, so that its encoding is that of the message inside.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Message {
    /// Between agents.
    Agent(AgentMessage),
    /// Between nodes.
    Node(NodeMessage),
    /// Between the client of a job and a node.
    Job(Box<JobMessage>),
}

impl From<AgentMessage> for Message {
    fn from(message: AgentMessage) -> Self {
        Self::Agent(message)
    }
}
