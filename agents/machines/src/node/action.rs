//! What a node is to do.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use agents::process_state::ProcessState;
use agents::{Deliberation, Delivery, Process, Rules, World};
use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use checkpoint::{Delta, Generation, Piece, WrittenPieces};
use protocol::identity::Role;
use protocol::transport::{JobId, SpeakingRights};
use protocol::{Frame, Member, Migrate};

use super::event::ConnectionId;
use crate::failure::JobError;
use crate::initial_state::InitialStateDecoder;
use crate::task::Task;

/// What a node is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum NodeAction {
    /// Read what the client at a connection sends.
    Attend(ConnectionId),
    /// Close the connection of a peer that has no part in a job here, and count the refusal.
    RefusePeer(ConnectionId),
    /// Send a message to a client, if its connection is not lost.
    TellClient(ConnectionId, Frame),
    /// A job has begun: stamp frames with its number, and read the states that its client sends.
    Begin(Box<BegunJob>),
    /// The job is over: end all that belongs to it.
    End(EndedJob),
    /// Of the job that runs.
    Job(JobAction),
}

/// What a node is to do for the job that runs.
#[derive(Debug)]
pub enum JobAction {
    /// Connect to another node of the job, which has this role.
    Connect(Box<Member>, Role),
    /// Read what a peer sends, which is the node of a host and may speak for these agents.
    Admit(ConnectionId, HostId, SpeakingRights),
    /// Start the agents of this host, and the threads that execute supersteps.
    Start(StartedJob),
    /// Start the clock of the host that this node plays, if it plays one.
    StartClock,
    /// Send a frame to the node of a host.
    Send(HostId, Frame),
    /// Send a frame to the client.
    SendToClient(Frame),
    /// Send a part of the record to the client, and tell when it has been taken.
    SendRecord(Frame),
    /// Send the output of a process to the client.
    SendOutput(Rank, Bytes),
    /// Close the connection to the node of a host because of what it sent.
    Refuse(HostId, String),
    /// Stamp frames with this epoch from now on.
    AdvanceEpoch(u64),
    /// Execute supersteps.
    Execute(Vec<Task>),
    /// Encode a process and send it to another node.
    Depart(Migrate, Box<ProcessState>),
    /// Send what has changed of pieces, for the checkpoint before this superstep, to the node of a host.
    SendPieces(HostId, u64, Vec<Delta>),
    /// Write the pieces of this node to the folder of the job's checkpoints.
    WritePieces(Generation, Vec<Piece>),
    /// Complete a checkpoint in that folder, and remove those before it.
    FinishCheckpoint(Generation, BTreeMap<HostId, WrittenPieces>),
    /// Make a plan.
    Plan(SetId, Box<Deliberation>),
    /// Have agents here handle events, in this order.
    Deliver(VecDeque<Delivery>),
    /// Drop the agents of processes that have left, or are done.
    Release(Vec<Rank>),
}

/// A job that begins.
#[derive(Debug)]
pub struct BegunJob {
    /// What its frames are stamped with.
    pub job: JobId,
    /// The connection of its client.
    pub client: ConnectionId,
    /// The client as others know it.
    pub party: String,
    /// Which job of this node it is.
    pub number: u64,
    /// How many processes it has.
    pub processes: u32,
    /// How many nodes it has.
    pub nodes: usize,
    /// Decodes the states that the client sends.
    pub decoder: InitialStateDecoder,
    /// The folder for its checkpoints, if they are written to disk.
    pub checkpoint: Option<PathBuf>,
}

/// What the agents and the threads of a job are made of.
pub struct StartedJob {
    /// The host of this node.
    pub own: HostId,
    /// What all agents of the job know.
    pub rules: Arc<Rules>,
    /// The world of the agents.
    pub world: Rc<RefCell<dyn World>>,
    /// The agents of the processes that start here.
    pub processes: BTreeMap<Rank, Process>,
    /// The number of threads.
    pub slots: NonZeroU32,
    /// What each processor is worth of what was measured.
    pub speed: f64,
    /// Whether all machines of the job count instructions.
    pub counts: bool,
}

impl fmt::Debug for StartedJob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StartedJob")
            .field("own", &self.own)
            .field("processes", &self.processes)
            .finish_non_exhaustive()
    }
}

/// A job that is over.
#[derive(Debug)]
pub struct EndedJob {
    /// How it ended here.
    pub end: JobEnd,
    /// The rest of the record, and the reason if it failed: the client receives them before the connection closes.
    pub last: Vec<Frame>,
    /// The supersteps that were complete.
    pub supersteps: u64,
}

/// How a job ended on a node.
#[derive(Debug)]
pub enum JobEnd {
    /// All its processes have halted, after this time.
    Complete(Seconds),
    /// An error ended it.
    Failed(JobError),
    /// The node's part of it panicked.
    Panicked,
}

impl From<JobAction> for NodeAction {
    fn from(action: JobAction) -> Self {
        Self::Job(action)
    }
}
