//! Events of nodes.

use std::sync::Arc;
use std::time::Instant;

use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use protocol::transport::{JobId, PeerInfo};
use protocol::{Address, Build, JobMessage, Message, NodeMessage};

use crate::checkpoint::{Delta, DeltaError, WrittenPieces};
use crate::deliberation::Deliberated;
use crate::machines::checkpoints::SavedPiece;
use crate::machines::failure::JobError;
use crate::machines::initial_state::InitialState;
use crate::machines::input_memory::InputMemory;
use crate::machines::migration::ArrivedProcess;
use crate::machines::task::Done;

/// A connection to another process of the operating system, as the node's shell numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// An event of a node. Events of a job end with the job: its shell drops them.
pub(crate) enum NodeEvent {
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
pub(crate) enum JobEvent {
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
pub(crate) struct NewPeer {
    pub(crate) connection: ConnectionId,
    pub(crate) info: Arc<PeerInfo>,
    /// The job of the connection.
    pub(crate) job: Option<JobId>,
    pub(crate) build: Build,
}

/// A message from another node.
pub(crate) struct NodeInput {
    /// The host of the node.
    pub(crate) host: HostId,
    /// Its sender and its receiver.
    pub(crate) ends: (Address, Address),
    pub(crate) message: Message,
    /// When it arrived.
    pub(crate) arrived: Instant,
    /// Of a batch: the estimated round-trip time, and the bandwidth that follows from what may be under way during it,
    /// in bytes per second.
    pub(crate) transport: (Seconds, f64),
    /// Held until it has been handled.
    pub(crate) memory: InputMemory,
}

/// Pieces of a checkpoint that have arrived.
pub(crate) struct IncomingPieces {
    /// The host of the node that sent them.
    pub(crate) host: HostId,
    /// The sender and the receiver.
    pub(crate) ends: (Address, Address),
    /// The superstep before which the checkpoint is.
    pub(crate) superstep: u64,
    /// What has changed, or why that is not known.
    pub(crate) deltas: Result<Vec<Delta>, DeltaError>,
}

impl JobEvent {
    /// Whether another node has sent it.
    pub(crate) const fn is_of_peer(&self) -> bool {
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
