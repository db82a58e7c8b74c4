//! Events of nodes.

use std::sync::Arc;
use std::time::Instant;

use agents::Deliberated;
use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use checkpoint::{Delta, DeltaError, WrittenPieces};
use protocol::transport::{JobId, PeerInfo};
use protocol::{Address, Build, JobMessage, Message, NodeMessage};

use crate::checkpoints::SavedPiece;
use crate::failure::JobError;
use crate::initial_state::InitialState;
use crate::input_memory::InputMemory;
use crate::migration::ArrivedProcess;
use crate::task::Done;

/// A connection to another process of the operating system, as the node's shell numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// An event of a node. Events of a job end with the job: its shell drops them.
#[derive(Debug)]
pub enum NodeEvent {
    /// A peer has connected.
    Connected(NewPeer),
    /// A client has sent a message.
    FromClient(ConnectionId, Box<JobMessage>),
    /// The connection of a client has closed, with an error unless it was closed in order.
    ClientGone(ConnectionId, Option<JobError>),
    /// The node is to leave its job, because it ends.
    Leave,
    /// The part of the node in its job has panicked.
    Panicked,
    /// Time has passed.
    Tick,
    /// Of the job that runs.
    Job(JobEvent),
}

/// An event of the job that runs.
#[derive(Debug)]
pub enum JobEvent {
    /// The state of a process that starts here, from the client.
    State(Rank, InitialState),
    /// The client has taken the last part of the record.
    RecordTaken,
    /// Supersteps have been executed.
    Executed(Vec<Done>),
    /// The state of a process has reached its host: its bytes, and how long it took.
    Sent(HostId, u64, Seconds),
    /// The state of a process has been saved.
    Saved(Box<SavedPiece>),
    /// The pieces of this node for the checkpoint before a superstep are on the disk, or cannot be.
    Written(u64, Result<WrittenPieces, String>),
    /// The checkpoint before a superstep is complete on the disk, or cannot be.
    CheckpointFinished(u64, Result<(), String>),
    /// The plan that the Manager of a Set asked for is complete.
    Deliberated(SetId, Box<Deliberated>),
    /// A task has failed, or a connection, which ends the job.
    Failed(JobError),
    /// Another node has sent a message.
    Message(Box<NodeInput>),
    /// A process has arrived that moves here.
    Process(Box<ArrivedProcess>),
    /// What has changed of the pieces of another node has arrived.
    Pieces(Box<IncomingPieces>),
    /// The connection of another node has closed: in order, with its reason, or with an error.
    PeerGone(HostId, Result<String, JobError>),
}

/// A peer that has connected.
#[derive(Debug)]
pub struct NewPeer {
    /// Its connection.
    pub connection: ConnectionId,
    /// What its certificate says.
    pub info: Arc<PeerInfo>,
    /// The job of the connection.
    pub job: Option<JobId>,
    /// The build that it runs.
    pub build: Build,
}

/// A message from another node.
#[derive(Debug)]
pub struct NodeInput {
    /// The host of the node.
    pub host: HostId,
    /// Its sender and its receiver.
    pub ends: (Address, Address),
    /// What it says.
    pub message: Message,
    /// When it arrived.
    pub arrived: Instant,
    /// Of a batch: the estimated round-trip time, and the bandwidth that follows from what may be under way during it,
    /// in bytes per second.
    pub transport: (Seconds, f64),
    /// Held until it has been handled.
    pub memory: InputMemory,
}

/// Pieces of a checkpoint that have arrived.
#[derive(Debug)]
pub struct IncomingPieces {
    /// The host of the node that sent them.
    pub host: HostId,
    /// The sender and the receiver.
    pub ends: (Address, Address),
    /// The superstep before which the checkpoint is.
    pub superstep: u64,
    /// What has changed, or why that is not known.
    pub deltas: Result<Vec<Delta>, DeltaError>,
}

impl JobEvent {
    /// Whether another node has sent it.
    pub const fn is_of_peer(&self) -> bool {
        matches!(
            self,
            Self::Message(_) | Self::Process(_) | Self::Pieces(_) | Self::PeerGone(..)
        )
    }

    /// Whether the event has to wait until the job has begun on this node.
    pub(crate) fn waits(&self) -> bool {
        match self {
            Self::Message(input) => !matches!(input.message, Message::Node(NodeMessage::Probe(_))),
            event => matches!(event, Self::Process(_) | Self::Pieces(_)),
        }
    }
}
