//! Messages between agents, between nodes, and between the client of a job and a node.

mod address;
mod agents;
mod busy_process;
mod calls;
mod checkpoints;
mod client;
mod nodes;

use serde::Serialize;

pub use address::Address;
pub use agents::{
    AgentMessage, Arrived, EncodedState, Evaluate, Installed, Measure, Migrate, ProbeLink, Start,
    StartCall,
};
pub use busy_process::BusyProcess;
pub use calls::{
    Answered, Ask, CallMessage, Capacity, Considered, Decided, LinkProbed, Measured, Planned,
    Report, Reports, SetReport,
};
pub use checkpoints::{CheckpointMessage, Pieces, PiecesFile, Saved};
pub use client::{
    Abandoned, CallsStatus, Ended, Failed, Fault, JobMessage, JobStatus, Member, ResumedJob,
    Status, Submit,
};
pub use nodes::{Batch, MessageHeader, NodeMessage, Placed, Probe};

/// Any message. The kind of its frame names the enum, so that its encoding is that of the message inside.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Message {
    /// Between agents, but not in a call to a Set Manager.
    Agent(AgentMessage),
    /// To a Set Manager that takes part in a call.
    Call(CallMessage),
    /// Between nodes.
    Node(NodeMessage),
    /// Between the client of a job and a node.
    Job(Box<JobMessage>),
}

impl From<AgentMessage> for Message {
    fn from(message: AgentMessage) -> Self {
        match message {
            AgentMessage::Call(message) => Self::Call(message),
            message @ (AgentMessage::Start(_)
            | AgentMessage::Finish
            | AgentMessage::Arrived(_)
            | AgentMessage::StartCall(_)
            | AgentMessage::Measure(_)
            | AgentMessage::Evaluate(_)
            | AgentMessage::Reported(_)
            | AgentMessage::ProbeLink(_)
            | AgentMessage::Migrate(_)
            | AgentMessage::State(_)
            | AgentMessage::Installed(_)
            | AgentMessage::Halted(_)) => Self::Agent(message),
        }
    }
}
