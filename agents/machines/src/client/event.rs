//! Events and actions of a client.

use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::identity::Role;
use protocol::{Build, Fault, Frame, JobMessage, variant};
use record::Event;

use super::job_result::JobResult;
use crate::failure::JobError;
use crate::input_memory::InputMemory;

/// An event of a client.
#[derive(Debug)]
pub enum ClientEvent {
    /// The client has connected to the node of a host, which runs this build, or cannot.
    Connected(HostId, Result<Build, JobError>),
    /// A node has sent something.
    Node(HostId, NodeWord),
    /// The state that was sent last has arrived, or is lost.
    StateSent(Result<(), JobError>),
    /// The observer of the record has failed.
    ObserverFailed(JobError),
    /// The user has interrupted the run.
    Interrupted,
    /// Time has passed.
    Tick,
}

/// Something that a client receives from a node.
#[derive(Debug)]
pub enum NodeWord {
    /// A message. The memory is held until its events of the record are in order.
    Message(JobMessage, InputMemory),
    /// The output of a process.
    Output(Rank, Bytes),
    /// The connection has ended: in order, with the reason that the node gave, or not.
    Closed(Result<String, JobError>),
}

/// What a client is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum ClientAction {
    /// Connect to the node of a host, which has this role.
    Connect(HostId, Role),
    /// Send a frame to a node.
    Send(HostId, Frame),
    /// Encode the state of a process and send it to a node.
    SendState(HostId, Rank),
    /// Close the connection to a node because of what it sent.
    Refuse(HostId, String),
    /// Pass an event of the record to the observer.
    Observe(Box<Event>),
    /// The job is over: close all connections.
    Finish(Box<Result<JobResult, JobError>>),
}

impl NodeWord {
    /// Whether nothing follows that counts: a node that says why the job has failed has sent its part of the record.
    pub(super) const fn is_last(&self) -> bool {
        match self {
            Self::Message(message, _) => matches!(message, JobMessage::Failed(_)),
            Self::Closed(_) => true,
            Self::Output(..) => false,
        }
    }

    /// The error of something that ends the job, from the node `name`.
    pub fn error(self, name: &str) -> JobError {
        match self {
            Self::Message(JobMessage::Failed(mut failed), _) => {
                // A message of a node about itself begins with its name.
                if failed.fault == Fault::Cluster && !failed.message.starts_with(name) {
                    failed.message = format!("{name}: {}", failed.message);
                }
                failed.into()
            }
            Self::Message(message, _) => {
                let message = variant(&message);
                JobError::cluster(format!("unexpected message of {name}: {message}"))
            }
            Self::Output(rank, _) => {
                JobError::cluster(format!("{name} sent an unexpected output of {rank}"))
            }
            Self::Closed(Ok(reason)) => JobError::cluster(format!("{name} has left: {reason}")),
            Self::Closed(Err(error)) => error,
        }
    }
}
