//! A node of a cluster: it waits for clients, and takes part in one job at a time.

mod job;
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, Instant as Clock};

use agents::mutant::{self, Mutant};
use agents::process_state::ProcessState;
use agents::{
    Deliberated, Deliberation, Delivery, Executed, HostedProgram, Process, ProgramType, Rules,
    RunError, Setup, Turn, World,
};
use bsp::units::{Instructions, Seconds};
use bsp::{HostId, Notes, Rank, SetId};
use bytes::Bytes;
use checkpoint::{Delta, DeltaError, Generation, Generations, Piece, WrittenPieces};
use job::Job;
use protocol::identity::Role;
use protocol::transport::{JobId, PeerInfo, SpeakingRights};
use protocol::{
    Address, Build, CallsStatus, Frame, JobFolder, JobMessage, JobStatus, Member, Message, Migrate,
    NodeMessage, Step, Submit, WrittenOutput, encode,
};

use crate::between;
use crate::checkpoints::{SavedPiece, Saving};
use crate::host_meter::HostMeter;
use crate::initial_states::{
    InitialState, InitialStateBuilder, InitialStateDecoder, ProgramBuilder,
};
use crate::input_memory::InputMemory;
use crate::job_error::JobError;
use crate::members::{self, Builds, Routes, check_own};
use crate::migration::ArrivedProcess;
use crate::resumption;

/// What a job is made of, from what its client submits.
pub type Prepare = dyn Fn(&Submit) -> Result<Prepared, JobError>;

/// A node of a cluster, as a state machine: it receives events and returns actions.
///
/// Between two events, all actions are to be performed, in order.
pub struct NodeMachine {
    parts: NodeParts,
    now: Clock,
    /// The number of jobs that have ended.
    jobs: u64,
    /// Clients that are connected, and have not submitted a job.
    guests: Vec<Guest>,
    /// Jobs that wait until the threads of the last one have ended.
    submissions: VecDeque<Submission>,
    /// The client whose job is being prepared.
    preparing: Option<ConnectionId>,
    current: Option<Current>,
    actions: VecDeque<NodeAction>,
}

impl fmt::Debug for NodeMachine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeMachine")
            .field("parts", &self.parts)
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

/// What a node is made of.
pub struct NodeParts {
    /// The name in its certificate.
    pub name: String,
    /// The build that it runs, and whether its clients and other nodes may run others.
    pub builds: Builds,
    /// Where it reaches other nodes, if not at the addresses of a client's list.
    pub routes: Routes,
    /// The absolute path of the folder in which it writes files of jobs, if it has one.
    pub folder: Option<String>,
    /// Makes what a client has submitted into a job.
    pub prepare: Box<Prepare>,
    /// What is measured of the host.
    pub meter: Rc<dyn HostMeter>,
}

impl fmt::Debug for NodeParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NodeParts")
            .field("name", &self.name)
            .field("builds", &self.builds)
            .finish_non_exhaustive()
    }
}

/// A client that is connected.
struct Guest {
    connection: ConnectionId,
    /// The name in its certificate.
    name: String,
    /// The client as others know it.
    party: String,
    build: Build,
}

/// A job that a client has submitted.
struct Submission {
    client: Guest,
    submit: Submit,
    /// When it arrived.
    since: Clock,
}

/// The job that runs.
struct Current {
    id: JobId,
    /// The name in the client's certificate.
    name: String,
    /// The client as others know it.
    party: String,
    since: Clock,
    job: Job,
}

impl NodeMachine {
    /// A node without a job.
    pub fn new(parts: NodeParts, now: Clock) -> Self {
        Self {
            parts,
            now,
            jobs: 0,
            guests: Vec::new(),
            submissions: VecDeque::new(),
            preparing: None,
            current: None,
            actions: VecDeque::new(),
        }
    }

    /// Handles an event that happens now.
    pub fn handle(&mut self, now: Clock, event: NodeEvent) {
        self.now = now;
        self.on_job(|job| job.advance(now));
        match event {
            NodeEvent::Connected(peer) => self.handle_connected(peer),
            NodeEvent::FromClient(client, message) => self.handle_client(client, *message),
            NodeEvent::ClientGone(client, error) => self.handle_client_gone(client, error),
            NodeEvent::Leave => self.on_job(|job| Err(job.left())),
            NodeEvent::Panicked => self.handle_panic(),
            NodeEvent::Tick => {}
            NodeEvent::Job(event) => self.on_job(|job| job.handle(event)),
        }
        self.admit_submissions();
    }

    /// The next action; `None` until the next event.
    pub fn poll(&mut self) -> Option<NodeAction> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            match self.current.as_mut()?.job.poll() {
                Ok(action) => return action,
                Err(error) => self.end(JobEnd::Failed(error)),
            }
        }
    }

    /// When a tick is due, if nothing else happens before.
    pub fn next_timeout(&self) -> Option<Clock> {
        let job = self.current.as_ref();
        let job = job.and_then(|current| current.job.next_timeout());
        let waiting = (!self.submissions.is_empty()).then(|| self.now + POLLING);
        job.into_iter().chain(waiting).min()
    }

    /// Whether the node handles events of the other nodes of its job now.
    pub fn takes_peer_events(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.job.takes_peer_events())
    }

    /// Where the node is in the protocol of a job.
    pub fn step(&self) -> Step {
        let current = self.current.as_ref();
        current.map_or(Step::Idle, |current| current.job.step())
    }

    /// The pieces of checkpoints that it has in the job that runs.
    pub fn with_generations<T>(&self, with: impl FnOnce(&Generations) -> T) -> Option<T> {
        self.current.as_ref()?.job.with_generations(with)
    }

    /// Whether no job runs.
    pub const fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    /// The number of jobs that have ended.
    pub const fn jobs(&self) -> u64 {
        self.jobs
    }

    /// The job that runs.
    pub fn job_status(&self, now: Clock) -> Option<JobStatus> {
        let current = self.current.as_ref()?;
        let progress = current.job.progress();
        Some(JobStatus {
            client: current.party.clone(),
            since: between(current.since, now),
            superstep: progress.superstep,
            supersteps: current.job.prepared.supersteps,
            processes: u32::try_from(progress.processes).unwrap_or(u32::MAX),
            calls: progress.calls,
            notes: progress.notes,
        })
    }

    /// A peer of the job that runs takes part in it; a client may submit one.
    fn handle_connected(&mut self, peer: NewPeer) {
        let is_of_job = match (&self.current, peer.job) {
            (Some(current), Some(job)) => current.id == job,
            (None, _) | (_, None) => false,
        };
        if is_of_job {
            return self.on_job(|job| job.admit(&peer));
        }
        let NewPeer {
            connection,
            info,
            job,
            build,
        } = peer;
        if job.is_some() || info.subject.role != Role::Client {
            return self.actions.push_back(NodeAction::RefusePeer(connection));
        }
        self.guests.push(Guest {
            connection,
            name: info.subject.name.to_string(),
            party: PeerInfo::to_string(&info),
            build,
        });
        self.actions.push_back(NodeAction::Attend(connection));
    }

    fn handle_client(&mut self, client: ConnectionId, message: JobMessage) {
        if self.is_of_client(client) {
            return self.on_job(|job| job.handle_client(message));
        }
        // The messages of a client whose job is over, or has not begun, have no effect.
        let JobMessage::Submit(submit) = message else {
            return;
        };
        let mut guests = self.guests.iter();
        let place = guests.position(|guest| guest.connection == client);
        if let Some(place) = place {
            self.submissions.push_back(Submission {
                client: self.guests.swap_remove(place),
                submit: *submit,
                since: self.now,
            });
        }
    }

    fn handle_client_gone(&mut self, client: ConnectionId, error: Option<JobError>) {
        self.guests.retain(|guest| guest.connection != client);
        self.submissions
            .retain(|submission| submission.client.connection != client);
        let Some(current) = self.current.as_ref().filter(|_| self.is_of_client(client)) else {
            return;
        };
        if mutant::is(Mutant::StayWithoutClient) {
            return;
        }
        let lasted = current.job.lasted();
        let end = current.job.handle_client_gone(error);
        self.end(end.map_or_else(JobEnd::Failed, |()| JobEnd::Complete(lasted)));
    }

    fn is_of_client(&self, client: ConnectionId) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.job.client == client)
    }

    /// Begins with the first job that waits, so that it is not refused for what the one before has left.
    fn admit_submissions(&mut self) {
        while let Some(first) = self.submissions.front() {
            if self.now < first.since + self.patience(first) {
                return;
            }
            let Some(submission) = self.submissions.pop_front() else {
                return;
            };
            let client = submission.client.connection;
            self.preparing = Some(client);
            let entered = self.enter(submission);
            self.preparing = None;
            if let Err(error) = entered {
                self.send_to_client(client, JobMessage::Failed(error.into()));
            }
        }
    }

    /// How long a submission may wait for the end of what goes on.
    ///
    /// When a client closes its connection, the packet that says so may be lost, and the next run of the client be here
    /// before its silence is noticed. That a client has closed is likely if its job has ended here, or if it submits
    /// another one.
    fn patience(&self, submission: &Submission) -> Duration {
        match &self.current {
            None if self.parts.meter.oldest_execution().is_some() => LEAVING,
            Some(current)
                if (current.job.has_ended() || current.name == submission.client.name)
                    && !mutant::is(Mutant::RefuseAtOnce) =>
            {
                CLOSING
            }
            None | Some(_) => Duration::ZERO,
        }
    }

    /// Begins with a job, if there is none and it can be done.
    fn enter(&mut self, submission: Submission) -> Result<(), JobError> {
        let Submission {
            client, mut submit, ..
        } = submission;
        let own = &self.parts.name;
        if let Some(current) = &self.current {
            let since = self.now.saturating_duration_since(current.since).as_secs();
            return Err(JobError::cluster(format!(
                "{own} runs a job of {} since {since} s: wait for its end",
                current.party
            )));
        }
        let Guest {
            connection,
            name,
            party,
            build,
        } = client;
        self.parts.builds.check(own, (&party, &build))?;
        if let Some(execution) = self.parts.meter.oldest_execution() {
            let problem = execution.problem(own);
            return Err(JobError::cluster(format!("{problem}: {REMEDY}")));
        }
        check_own(own, &submit)?;
        resumption::check(&submit)?;
        let id = NonZeroU64::new(submit.job).map(JobId);
        let id = id.ok_or_else(|| JobError::cluster("a job without a number"))?;
        self.parts.routes.apply(&mut submit.members);
        let mut prepared = (self.parts.prepare)(&submit)?;
        if let Some(resumed) = &submit.resumed {
            prepared.setup = resumption::resume(prepared.setup, resumed)?;
        }
        let places = submit.processes;
        if u32::try_from(prepared.setup.placement.len()) != Ok(places) {
            let problem = "the client and the node make different jobs of the experiment: run one build everywhere";
            return Err(JobError::cluster(problem));
        }
        let resumed = prepared.setup.resumed.as_ref();
        let halted = (0..places).map(Rank);
        let halted = halted.filter(|rank| resumed.is_some_and(|resumed| resumed.has_halted(*rank)));
        let are_forked = prepared.setup.checkpointing.is_some();
        let decoder = InitialStateDecoder {
            program_type: prepared.program_type,
            halted: Arc::new(halted.collect()),
            are_forked,
        };
        let starting = prepared.setup.placement.iter().enumerate();
        let starting = starting.filter(|(_, host)| **host == submit.host);
        let builder = InitialStateBuilder {
            programs: prepared.programs.clone(),
            ranks: starting.map(|(index, _)| Rank::from_index(index)).collect(),
            are_forked,
        };
        let begun = BegunJob {
            decoder,
            builder: resumed.is_none().then_some(builder),
            job: id,
            client: connection,
            party: party.clone(),
            number: self.jobs + 1,
            processes: submit.processes,
            nodes: submit.members.len(),
            checkpoint: submit.checkpoint.as_ref().map(PathBuf::from),
            files: submit.files.map(|files| {
                let resumed = submit.resumed.as_ref();
                let incarnation = resumed.map_or(0, |resumed| resumed.incarnation);
                (files.job, incarnation, submit.host)
            }),
        };
        let has_files = submit.files.is_some();
        let (builds, meter) = (self.parts.builds.clone(), Rc::clone(&self.parts.meter));
        self.current = Some(Current {
            id,
            name,
            party,
            since: self.now,
            job: Job::new(connection, submit, prepared, builds, meter, self.now),
        });
        self.actions.push_back(NodeAction::Begin(Box::new(begun)));
        let counts = self.parts.meter.counts();
        let folder = self.parts.folder.clone().filter(|_| has_files);
        self.send_to_client(connection, JobMessage::Accepted { counts, folder });
        Ok(())
    }

    /// What has been going on panicked: the job that runs, or the preparation of one.
    fn handle_panic(&mut self) {
        match self.preparing.take() {
            Some(client) => {
                let failed = JobError::cluster(PANICKED);
                self.send_to_client(client, JobMessage::Failed(failed.into()));
            }
            None => self.end(JobEnd::Panicked),
        }
    }

    /// Does something with the job that runs, if there is one. An error ends it.
    fn on_job(&mut self, with: impl FnOnce(&mut Job) -> Result<(), JobError>) {
        let Some(current) = &mut self.current else {
            return;
        };
        if let Err(error) = with(&mut current.job) {
            self.end(JobEnd::Failed(error));
        }
    }

    /// Ends the job that runs. Its client hears of everything before the connection closes.
    fn end(&mut self, end: JobEnd) {
        let Some(Current { job, .. }) = self.current.take() else {
            return;
        };
        let mut last = Vec::new();
        let failed = match &end {
            JobEnd::Complete(_) => None,
            JobEnd::Failed(error) => Some(error.clone()),
            JobEnd::Panicked => Some(JobError::cluster(PANICKED)),
        };
        if let Some(error) = failed {
            last.extend(job.rest_of_record());
            last.push(frame(JobMessage::Failed(error.into())));
        }
        self.jobs += 1;
        self.actions.push_back(NodeAction::End(EndedJob {
            end,
            last,
            supersteps: job.progress().superstep,
        }));
    }

    fn send_to_client(&mut self, client: ConnectionId, message: JobMessage) {
        let frame = frame(message);
        self.actions
            .push_back(NodeAction::SendToClient(client, frame));
    }
}

impl From<JobEvent> for NodeEvent {
    fn from(event: JobEvent) -> Self {
        Self::Job(event)
    }
}

/// The frame of a message of a node, as itself, to a client.
pub fn frame(message: JobMessage) -> Frame {
    let message = Message::Job(Box::new(message));
    encode(Address::Node(HostId(0)), Address::Client, &message)
}

/// The error that a client receives if the node has panicked.
const PANICKED: &str = "the node has failed; see its log";
/// What a client can do about a superstep that is still executed.
const REMEDY: &str =
    "the node accepts jobs when that superstep ends; restart the node if it never does";
/// How long a submitted job waits for the threads of the one before.
const LEAVING: Duration = Duration::from_secs(5);
/// How long one waits for the close of the client of a job that has ended: its silence is noticed after 2.7 s.
const CLOSING: Duration = Duration::from_secs(3);
/// The time between two looks at them.
const POLLING: Duration = Duration::from_millis(10);

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
    /// The state of a process that starts here: built, or from the client.
    State(Rank, InitialState),
    /// The client has taken the last part of the record.
    RecordTaken,
    /// The output of a process is in a file of this node.
    OutputWritten(WrittenOutput),
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

/// What a node is to do now. Actions are performed in order.
#[derive(Debug)]
pub enum NodeAction {
    /// Read what the client at a connection sends.
    Attend(ConnectionId),
    /// Close the connection of a peer that has no part in a job here, and count the refusal.
    RefusePeer(ConnectionId),
    /// Send a message to a client, if its connection is not lost.
    SendToClient(ConnectionId, Frame),
    /// A job has begun: stamp frames with its number, and build the processes that start here, or read the states that its
    /// client sends.
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
    /// Send a part of the record to the client, and report when it has been taken.
    SendRecord(Frame),
    /// Send the output of a process to the client.
    SendOutput(Rank, Bytes),
    /// Write the output of a process to its file in the folder of the job's files.
    WriteOutput(Rank, Bytes),
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
    /// Builds the processes that start here; `None`: the client sends their states.
    pub builder: Option<InitialStateBuilder>,
    /// The folder for its checkpoints, if they are written to disk.
    pub checkpoint: Option<PathBuf>,
    /// Its folder in that of this node for files of jobs, if it has files, the incarnation that writes them, and the host of this
    /// node.
    pub files: Option<(JobFolder, u64, HostId)>,
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

/// A superstep to be executed.
#[derive(Debug)]
pub struct Task {
    /// The program of the process.
    pub program: Box<dyn HostedProgram>,
    /// What it is given.
    pub turn: Turn,
    /// What the process pays first.
    pub delay: Seconds,
    /// What is saved before it is executed.
    pub saving: Option<Box<Saving>>,
}

/// A superstep that has been executed.
#[derive(Debug)]
pub struct Done {
    /// The process.
    pub rank: Rank,
    /// Its program.
    pub program: Box<dyn HostedProgram>,
    /// The messages that it sent and its output, or the error that ends the run.
    pub result: Result<Executed, RunError>,
    /// What a processor did for it.
    pub work: Instructions,
    /// The time for which it had a processor.
    pub held: Seconds,
    /// What of that the process paid first, without computing.
    pub delay: Seconds,
    /// The files that it has written here in the superstep.
    pub snapshots: Vec<record::Snapshot>,
}

/// What a job is made of.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The job, all hosts being those of the cluster.
    pub setup: Setup,
    /// What its processes execute.
    pub program_type: ProgramType,
    /// Builds their programs, if the job is new.
    pub programs: ProgramBuilder,
    /// The number of its supersteps, if its experiment has it.
    pub supersteps: Option<u64>,
}

impl Prepared {
    /// The data that its agents have from the start.
    pub(crate) fn rules(&self) -> Rules {
        members::rules(&self.setup).in_rounds(self.program_type.round())
    }
}

/// The agents that start on a host, except its own.
#[derive(Debug)]
pub struct Residents {
    /// The processes, without those that have halted before the run begins.
    pub ranks: BTreeSet<Rank>,
    /// The Set whose Manager runs here, with its hosts, if there is one.
    pub manager: Option<(SetId, Vec<HostId>)>,
}

impl Residents {
    /// The agents that start on `own`.
    pub fn of(rules: &Rules, own: HostId) -> Self {
        let here = rules.running().filter(|(_, host)| *host == own);
        let set = rules.sets[own.index()];
        let hosts = (0..rules.sets.len()).map(HostId::from_index);
        let hosts = hosts.filter(|host| rules.sets[host.index()] == set);
        let is_manager = rules.managers[set.index()] == own;
        Self {
            ranks: here.map(|(rank, _)| rank).collect(),
            manager: is_manager.then(|| (set, hosts.collect())),
        }
    }
}

/// How far a job is on a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobProgress {
    /// Supersteps that have begun there, with those before the job begins.
    pub(super) superstep: u64,
    /// Processes there that have not halted.
    pub(super) processes: usize,
    /// The calls that were recorded there, once there has been one.
    pub(super) calls: Option<CallsStatus>,
    /// The first notes of the last superstep with notes that was recorded there.
    pub(super) notes: Notes,
}
