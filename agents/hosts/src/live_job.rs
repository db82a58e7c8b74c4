//! The sockets, threads and tasks of a job that runs on a node.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::iter;
use std::num::NonZeroU32;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Instant as Clock;

use actix::{Actor, Addr, Context, Handler};
use agents::process_state::ProcessState;
use agents::{
    AgentContext, Deliberation, Deliver, Delivery, Event, Node, NodeAgent, Process, ProcessAgent,
    ProgramType, RunError, SetManager, SetManagerAgent,
};
use bsp::reference::contain;
use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use checkpoint::{Delta, DiskFiles, Piece};
use machines::client::output as output_state;
use machines::node::{
    BegunJob, ConnectionId, IncomingPieces, JobAction, JobEvent, NodeInput, StartedJob,
};
use machines::{
    Done, InitialState, InitialStateBuilder, InitialStateDecoder, InputMemory, JobError, Residents,
    seconds,
};
use protocol::identity::Role;
use protocol::transport::{
    Endpoint, JobId, Peer, Received, Sender, StatePayload, StateReceiver, StateStream,
    StreamContent, TrySendError,
};
use protocol::{Address, Frame, Member, Message, Migrate, NodeMessage, variant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

use crate::Machine;
use crate::checkpoints::{self, CheckpointFolder, CheckpointFolders, Encoder};
use crate::client::connect;
use crate::files::{JobFiles, OutputFolder};
use crate::meter::available_memory;
use crate::migration::{self, Arrival, ChannelSource, Departures};
use crate::node::JobLog;
use crate::pool::Pool;

/// The sockets, threads and tasks of a job. They end with it, and so do the events that they would have caused.
pub(super) struct LiveJob {
    own: HostId,
    /// The number of the view.
    view: u64,
    /// Decodes the states with which processes start here.
    decoder: InitialStateDecoder,
    endpoint: Arc<Endpoint>,
    machine: Machine,
    to_client: Sender,
    log: JobLog,
    peers: BTreeMap<HostId, Sender>,
    agents: Option<Addr<HostAgents>>,
    pool: Option<Pool>,
    departures: Departures,
    /// Where checkpoints are written, if they are.
    checkpoints: CheckpointPlace,
    /// Its files on this node, if it has some.
    files: Option<JobFiles>,
    program_type: ProgramType,
    /// Connections being set up, and how many at a time: the addresses are those that a client names.
    calls: JoinSet<()>,
    calling: Arc<Semaphore>,
    /// Peers that have connected.
    connected: (mpsc::UnboundedSender<Peer>, mpsc::UnboundedReceiver<Peer>),
    events: Channels,
}

/// Where checkpoints are written: files, until the host is known, then the folder.
struct CheckpointPlace {
    /// Its number, how many processes it has, and how many checkpoints stay.
    job: (JobId, u32, NonZeroU32),
    files: Option<DiskFiles>,
    folder: Option<CheckpointFolder>,
}

/// The events of a job.
struct Channels {
    /// Of this node.
    own: (
        mpsc::UnboundedSender<JobEvent>,
        mpsc::UnboundedReceiver<JobEvent>,
    ),
    executed: (
        mpsc::UnboundedSender<Vec<Done>>,
        mpsc::UnboundedReceiver<Vec<Done>>,
    ),
    /// The states that are built, or that the client sends.
    states: (mpsc::Sender<JobEvent>, mpsc::Receiver<JobEvent>),
    /// Of the other nodes.
    peers: (mpsc::Sender<JobEvent>, mpsc::Receiver<JobEvent>),
}

/// What happens next in a job.
pub(super) enum Next {
    Event(JobEvent),
    /// A node has answered a call.
    Connected(Box<Peer>),
}

impl LiveJob {
    /// A job, or a view of it, that begins, of the client behind `to_client`, which sends `states` if it resumes one on disk.
    pub(super) fn begin(
        begun: &BegunJob,
        endpoint: &Arc<Endpoint>,
        machine: &Machine,
        (checkpoints, outputs): (&CheckpointFolders, &OutputFolder),
        to_client: Sender,
        states: Option<StateReceiver>,
        log: JobLog,
    ) -> Self {
        endpoint.begin(begun.session, 0);
        // Later views begin because of a loss, and there may be another one.
        endpoint.set_patience(begun.view == 0);
        let path = begun.checkpoint.as_deref();
        let events = Channels {
            own: mpsc::unbounded_channel(),
            executed: mpsc::unbounded_channel(),
            states: mpsc::channel(STATES_MAX),
            peers: mpsc::channel(INPUTS_MAX),
        };
        let initial = events.states.0.clone();
        match (begun.builder.clone(), states) {
            // A client that sends states all the same is not read.
            (Some(builder), _) => {
                if let Err(error) = build_states(builder, initial) {
                    // Its receiver is here.
                    drop(events.own.0.send(JobEvent::Failed(error)));
                }
            }
            (None, Some(states)) => {
                let decoder = begun.decoder.clone();
                drop(actix_rt::spawn(decode_states(states, decoder, initial)));
            }
            (None, None) => {}
        }
        Self {
            own: begun.own,
            view: begun.view,
            decoder: begun.decoder.clone(),
            endpoint: Arc::clone(endpoint),
            machine: machine.clone(),
            to_client,
            log,
            peers: BTreeMap::new(),
            agents: None,
            pool: None,
            departures: Departures::new(events.own.0.clone()),
            checkpoints: CheckpointPlace {
                job: (begun.job, begun.processes, begun.keep),
                files: path.and_then(|path| checkpoints.files(path)),
                folder: None,
            },
            files: begun
                .files
                .and_then(|(job, incarnation)| outputs.of_job(job, incarnation, begun.own)),
            program_type: begun.decoder.program_type,
            calls: JoinSet::new(),
            calling: Arc::new(Semaphore::new(CALLS_MAX)),
            connected: mpsc::unbounded_channel(),
            events,
        }
    }

    /// What happens next; of other nodes only if `takes_peer_events`. Dropping the future loses nothing.
    pub(super) async fn next(&mut self, takes_peer_events: bool) -> Next {
        let Channels {
            own,
            executed,
            states,
            peers,
        } = &mut self.events;
        // The ends that send are kept here, so the channels do not close.
        tokio::select! {
            Some(done) = executed.1.recv() => {
                let more = iter::from_fn(|| executed.1.try_recv().ok());
                let all = iter::once(done).chain(more.take(INPUTS_AT_ONCE));
                Next::Event(JobEvent::Executed(all.flatten().collect()))
            }
            Some(event) = own.1.recv() => Next::Event(event),
            Some(state) = states.1.recv() => Next::Event(state),
            Some(peer) = self.connected.1.recv() => Next::Connected(Box::new(peer)),
            Some(event) = peers.1.recv(), if takes_peer_events => Next::Event(event),
        }
    }

    /// The next of the events of other nodes that have happened already.
    pub(super) fn next_of_peers(&mut self) -> Option<JobEvent> {
        self.events.peers.1.try_recv().ok()
    }

    /// Performs an action. Returns the event that follows from it immediately; `take_peer` gives the peer at a connection.
    pub(super) async fn perform(
        &mut self,
        action: JobAction,
        take_peer: impl FnOnce(ConnectionId) -> Option<Peer>,
    ) -> Option<JobEvent> {
        let failed = |error: JobError| Some(JobEvent::Failed(error));
        match action {
            JobAction::Connect(host, member, role) => self.connect(host, *member, role),
            JobAction::Restore(pieces) => self.restore(pieces),
            JobAction::Admit(connection, host, rights) => {
                if let Some(peer) = take_peer(connection) {
                    peer.restrict_to(rights);
                    self.admit(host, peer);
                }
            }
            JobAction::Start(started) => self.start(started),
            JobAction::StartClock => {
                self.endpoint.set_patience(false);
                if let Some(host) = self.machine.pace.played() {
                    host.begin();
                }
            }
            JobAction::Deliver(deliveries) => {
                if let Some(agents) = &self.agents {
                    let handled = agents.send(DeliverAll(deliveries)).await;
                    let handled = handled.unwrap_or_else(|_| Err(JobError::cluster(NO_AGENTS)));
                    return handled.err().and_then(failed);
                }
            }
            JobAction::Execute(tasks) => {
                if let Some(pool) = &self.pool {
                    pool.execute(tasks.into_iter());
                }
            }
            JobAction::Plan(set, deliberation) => {
                let events = self.events.own.0.clone();
                return plan(set, *deliberation, events).err().and_then(failed);
            }
            JobAction::Send(host, frame) => {
                let sent = self
                    .peers
                    .get(&host)
                    .map_or(Ok(()), |peer| peer.push(frame));
                return sent.err().map(|error| JobEvent::unsent(host, error));
            }
            JobAction::SendToClient(frame) => {
                // The loss of the client is an event of its connection.
                drop(self.to_client.push(frame));
            }
            JobAction::SendRecord(frame) => return self.send_record(frame),
            JobAction::SendOutput(rank, output) => self.send_output(rank, output),
            JobAction::WriteOutput(rank, output) => match &self.files {
                Some(files) => files.write_output(rank, output, &self.events.own.0),
                None => return failed(JobError::cluster(NO_FOLDER)),
            },
            JobAction::SendPieces(host, superstep, changed) => {
                self.send_pieces(host, superstep, changed);
            }
            JobAction::Refuse(host, problem) => {
                if let Some(peer) = self.peers.get(&host) {
                    // The machine knows the error.
                    drop(peer.refuse(problem));
                }
            }
            JobAction::Depart(order, state) => self.depart(order, *state),
            JobAction::Release(ranks) => {
                if let Some(agents) = &self.agents {
                    let released = agents.send(Release(ranks)).await;
                    return released
                        .err()
                        .and_then(|_| failed(JobError::cluster(NO_AGENTS)));
                }
            }
            JobAction::AdvanceEpoch(epoch) => self.endpoint.advance(epoch),
            JobAction::WritePieces(generation, pieces) => {
                if let Some(folder) = &self.checkpoints.folder {
                    folder.write(generation, pieces);
                }
            }
            JobAction::FinishCheckpoint(generation, files) => {
                if let Some(folder) = &self.checkpoints.folder {
                    folder.finish(generation, files);
                }
            }
        }
        None
    }

    /// Reads what `peer` sends, which is the node of `host`.
    fn admit(&mut self, host: HostId, peer: Peer) {
        self.peers.insert(host, peer.sender.clone());
        let Channels { own, peers, .. } = &self.events;
        listen(host, peer, self.program_type, &peers.0, &own.0);
    }

    /// Ends the session of the job: closes the connections to nodes with `reason`, and completes when they are closed. What its
    /// threads execute is abandoned.
    pub(super) fn end(self, reason: &str) -> (JobLog, impl Future<Output = ()> + use<>) {
        let closing = self.peers.into_values().map(|sender| {
            let reason = reason.to_owned();
            actix_rt::spawn(async move { sender.close(&reason).await })
        });
        let closing: Vec<_> = closing.collect();
        self.endpoint.end();
        self.endpoint.set_patience(false);
        let closed = async move {
            for closing in closing {
                // A node that does not read the reason detects the end by itself.
                drop(closing.await);
            }
        };
        (self.log, closed)
    }

    /// Sends a part of the record, and reports when the client has taken it.
    fn send_record(&self, frame: Frame) -> Option<JobEvent> {
        match self.to_client.try_send(frame) {
            Ok(()) => Some(JobEvent::RecordTaken),
            Err(TrySendError::Peer(error)) => Some(JobEvent::Failed(error.into())),
            Err(TrySendError::Full { frame }) => {
                let (client, events) = (self.to_client.clone(), self.events.own.0.clone());
                drop(actix_rt::spawn(async move {
                    let event = match client.send(frame).await {
                        Ok(()) => JobEvent::RecordTaken,
                        Err(error) => JobEvent::Failed(error.into()),
                    };
                    // The job may be over.
                    drop(events.send(event));
                }));
                None
            }
        }
    }

    fn send_output(&self, rank: Rank, output: Bytes) {
        let (own, view) = (self.own, self.view);
        let (client, events) = (self.to_client.clone(), self.events.own.0.clone());
        drop(actix_rt::spawn(async move {
            let state = output_state(view, rank, output);
            let sent = client.send_state(Address::Node(own), Address::Client, state);
            if let Err(error) = sent.await {
                // The job may be over.
                drop(events.send(JobEvent::Failed(error.into())));
            }
        }));
    }

    fn connect(&mut self, host: HostId, member: Member, role: Role) {
        let endpoint = Arc::clone(&self.endpoint);
        let calling = Arc::clone(&self.calling);
        let (connected, events) = (self.connected.0.clone(), self.events.own.0.clone());
        let connecting = async move {
            // Nothing closes it.
            let _turn = calling.acquire().await;
            // The job may be over.
            match connect(&endpoint, &member, role).await {
                Ok(peer) => drop(connected.send(peer)),
                Err(error) => drop(events.send(JobEvent::PeerGone(host, Err(error)))),
            }
        };
        drop(self.calls.spawn(connecting));
    }

    fn start(&mut self, started: StartedJob) {
        let StartedJob {
            slots,
            speed,
            counts,
            ..
        } = started;
        self.machine = self.machine.giving(slots, speed).counting(counts);
        let Machine {
            processors,
            processor,
            pace,
            executions,
            ..
        } = &self.machine;
        let forks = Encoder::begin(&self.events.own.0);
        let done = &self.events.executed.0;
        self.pool = Some(Pool::new(
            *processors,
            *processor,
            pace,
            executions,
            done,
            &forks,
            self.files.as_ref(),
        ));
        let CheckpointPlace { job, files, folder } = &mut self.checkpoints;
        let files = files.take();
        *folder =
            files.map(|files| CheckpointFolder::new(files, *job, started.own, &self.events.own.0));
        self.agents = Some(HostAgents::new(started).start());
    }

    /// Sends pieces to the buddy. A connection that ends is an event of its own.
    fn send_pieces(&self, host: HostId, superstep: u64, changed: Vec<Delta>) {
        if let Some(peer) = self.peers.get(&host) {
            let ends = (self.own, host);
            let sending = checkpoints::send_deltas(ends, superstep, changed, peer.clone());
            drop(actix_rt::spawn(async move { drop(sending.await) }));
        }
    }

    /// Decodes the states in pieces, one after the other. Another thread does it: it takes time in proportion to the states.
    fn restore(&self, pieces: Vec<Piece>) {
        let (decoder, events) = (self.decoder.clone(), self.events.states.0.clone());
        drop(actix_rt::spawn(async move {
            for piece in pieces {
                let (rank, decoder) = (piece.head.rank, decoder.clone());
                let decoding = tokio::task::spawn_blocking(move || {
                    let chunks = piece.content.chunks().iter();
                    let chunks: Vec<Bytes> = chunks.map(|chunk| chunk.bytes().clone()).collect();
                    decoder.decode(rank, &mut chunks.into_iter())
                });
                // The job may be over.
                if events.send(decoded(rank, decoding.await)).await.is_err() {
                    return;
                }
            }
        }));
    }

    fn depart(&self, order: Migrate, state: ProcessState) {
        if let Some(peer) = self.peers.get(&order.to) {
            self.departures.send(order, state, peer.clone());
        }
    }
}

/// Builds the processes that start here, one after the other, as far as there is memory for them. A new thread does it: it
/// takes time in proportion to the states, and a node that ends does not wait for it.
fn build_states(
    builder: InitialStateBuilder,
    events: mpsc::Sender<JobEvent>,
) -> Result<(), JobError> {
    let thread = thread::Builder::new().name("building".to_owned());
    let spawned = thread.spawn(move || {
        let mut memory = BuildingMemory::of(builder.len());
        let building = || {
            builder.build(&mut |rank, state, bytes| {
                memory.take(bytes)?;
                // A job that is over takes no more.
                let sent = events.blocking_send(JobEvent::State(rank, state, bytes));
                sent.map_err(|_| JobError::cluster("the job is over"))
            })
        };
        let error = match contain(building) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(message) => JobError::program(format!("building a process panicked: {message}")),
        };
        // The job may be over.
        drop(events.blocking_send(JobEvent::Failed(error)));
    });
    spawned.map(drop).map_err(|error| {
        JobError::cluster(format!("the thread for building cannot start: {error}"))
    })
}

/// The memory for the processes that a node builds. A client may ask for more than there is: then building ends with an
/// error, before the operating system ends the node.
#[derive(Debug)]
struct BuildingMemory {
    /// How many processes there are to build.
    processes: usize,
    built: usize,
    bytes: u64,
    /// The longest encoding of a process.
    longest: u64,
    /// Bytes that have been built since the memory was measured.
    since: u64,
}

impl BuildingMemory {
    fn of(processes: usize) -> Self {
        Self {
            processes,
            built: 0,
            bytes: 0,
            longest: 0,
            since: u64::MAX,
        }
    }

    /// A process of this encoded length has been built.
    ///
    /// # Errors
    ///
    /// If there is no memory for another one of the longest.
    fn take(&mut self, bytes: u64) -> Result<(), JobError> {
        self.built += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.longest = self.longest.max(bytes);
        self.since = self.since.saturating_add(bytes);
        if self.since < MEASURED {
            return Ok(());
        }
        self.since = 0;
        self.check(available_memory())
    }

    /// Checks that the rest has room in what is `available`, if that is known.
    fn check(&self, available: Option<u64>) -> Result<(), JobError> {
        let needed = self.longest.saturating_add(SPARE);
        let Some(available) = available.filter(|available| *available < needed) else {
            return Ok(());
        };
        let Self {
            processes,
            built,
            bytes,
            ..
        } = self;
        Err(JobError::input(format!(
            "not enough memory for the {processes} processes that start here: {built} of them have {} MB, and {} MB are \
             left: use more hosts, or smaller processes",
            bytes / 1_000_000,
            available / 1_000_000
        )))
    }
}

/// Bytes that are built before the memory is measured again, which takes some microseconds.
const MEASURED: u64 = 8 << 20;
/// Memory that stays free for all else that a node does.
const SPARE: u64 = 64 << 20;

/// Decodes the states that a client sends, one after the other, while they arrive.
async fn decode_states(
    mut states: StateReceiver,
    decoder: InitialStateDecoder,
    events: mpsc::Sender<JobEvent>,
) {
    // The end of the connection is an event of its own, and a job that is over takes no more.
    while let Ok(StateStream {
        content: StreamContent::State(head),
        payload,
        ..
    }) = states.accept().await
    {
        let (rank, decoder) = (head.rank, decoder.clone());
        let (sender, chunks) = migration::channel();
        // It takes time in proportion to the state, so another thread does it.
        let decoding = tokio::task::spawn_blocking(move || {
            decoder.decode(rank, &mut ChannelSource::new(chunks))
        });
        let (read, decoded) = tokio::join!(payload.read(sender), decoding);
        if read.is_err() {
            return;
        }
        if events.send(self::decoded(rank, decoded)).await.is_err() {
            return;
        }
    }
}

/// The event of a state that another thread has decoded.
fn decoded(
    rank: Rank,
    decoded: Result<Result<(InitialState, u64), RunError>, JoinError>,
) -> JobEvent {
    match decoded {
        Ok(Ok((state, bytes))) => JobEvent::State(rank, state, bytes),
        Ok(Err(error)) => JobEvent::Failed(error.into()),
        Err(panic) => JobEvent::Failed(JobError::program(format!("decoding a process: {panic}"))),
    }
}

/// The error of a node whose agents do not answer.
const NO_AGENTS: &str = "the agents have failed; see the log of their node";
/// The error of a node that has no folder for files. None is accepted then.
const NO_FOLDER: &str = "the node has no folder for files of jobs";
/// States that wait to be handled.
const STATES_MAX: usize = 1024;
/// Events of other nodes that wait to be handled.
const INPUTS_MAX: usize = 256;
/// Events that are handled before what they cause is done.
pub(super) const INPUTS_AT_ONCE: usize = 64;
/// Nodes that a node calls at a time.
const CALLS_MAX: usize = 8;

/// The agents of one host: the actor to which all their events go, and which has each agent handle its own.
///
/// The events of a superstep are those of all processes of the host. They come together, as one message of this actor: one for
/// each agent takes longer than most events.
struct HostAgents {
    own: HostId,
    context: Rc<AgentContext>,
    processes: BTreeMap<Rank, ProcessAgent>,
    node: NodeAgent,
    /// The Manager of the host's Set, if it runs here.
    manager: Option<(SetId, SetManagerAgent)>,
    contexts: AgentContexts,
}

/// What the handlers of agents are given: they do not use it, so all agents of a type share one.
struct AgentContexts {
    process: Context<ProcessAgent>,
    node: Context<NodeAgent>,
    manager: Context<SetManagerAgent>,
}

/// Events for agents of a host, in this order.
struct DeliverAll(VecDeque<Delivery>);

impl actix::Message for DeliverAll {
    type Result = Result<(), JobError>;
}

/// These processes have left the host, or are done.
struct Release(Vec<Rank>);

impl actix::Message for Release {
    type Result = ();
}

impl Actor for HostAgents {
    type Context = Context<Self>;
}

impl Handler<DeliverAll> for HostAgents {
    type Result = Result<(), JobError>;

    fn handle(&mut self, DeliverAll(all): DeliverAll, _: &mut Context<Self>) -> Self::Result {
        all.into_iter()
            .try_for_each(|delivery| self.deliver(delivery))
    }
}

impl Handler<Release> for HostAgents {
    type Result = ();

    fn handle(&mut self, Release(ranks): Release, _: &mut Context<Self>) {
        for rank in ranks {
            self.processes.remove(&rank);
        }
    }
}

impl HostAgents {
    /// The agents that start on `own`.
    fn new(started: StartedJob) -> Self {
        let StartedJob {
            own,
            rules,
            world,
            processes,
            ..
        } = started;
        let context = Rc::new(AgentContext { rules, world });
        let rules = &context.rules;
        let Residents { ranks, manager } = Residents::of(rules, own);
        let process = |(rank, process)| (rank, ProcessAgent::new(process, &context));
        let processes = processes.into_iter().map(process).collect();
        let manager = manager.map(|(set, hosts)| {
            let manager = SetManager::new(rules, set, hosts);
            (set, SetManagerAgent::new(manager, &context))
        });
        let node = Node::new(rules, own, ranks);
        Self {
            own,
            processes,
            node: NodeAgent::new(node, &context),
            manager,
            context,
            contexts: AgentContexts {
                process: Context::new(),
                node: Context::new(),
                manager: Context::new(),
            },
        }
    }

    /// Has the agent handle the event.
    ///
    /// # Errors
    ///
    /// If it panics, or is not here.
    fn deliver(&mut self, delivery: Delivery) -> Result<(), JobError> {
        let to = delivery.to;
        // The job ends, and with it what the panic has left behind.
        let handled = panic::catch_unwind(AssertUnwindSafe(|| self.handle_event(delivery)));
        handled.unwrap_or_else(|_| {
            Err(JobError::cluster(format!(
                "the agent {to:?} has failed; see the log of its node"
            )))
        })
    }

    fn handle_event(&mut self, Delivery { to, event }: Delivery) -> Result<(), JobError> {
        if let (Address::Process(rank), Event::Moved(_)) = (to, &event) {
            let process = Process::new(&self.context.rules, rank, self.own);
            let agent = ProcessAgent::new(process, &self.context);
            self.processes.insert(rank, agent);
        }
        let AgentContexts {
            process: of_process,
            node: of_node,
            manager: of_manager,
        } = &mut self.contexts;
        let own = Address::Node(self.own);
        match to {
            Address::Process(rank) => handle(self.processes.get_mut(&rank), to, event, of_process),
            Address::Node(_) => {
                let node = Some(&mut self.node).filter(|_| to == own);
                handle(node, to, event, of_node)
            }
            Address::SetManager(set) => {
                let manager = self.manager.as_mut().filter(|(own, _)| *own == set);
                handle(manager.map(|(_, agent)| agent), to, event, of_manager)
            }
            Address::Client => handle::<NodeAgent>(None, to, event, of_node),
        }
    }
}

fn handle<A>(
    agent: Option<&mut A>,
    to: Address,
    event: Event,
    context: &mut Context<A>,
) -> Result<(), JobError>
where
    A: Actor<Context = Context<A>> + Handler<Deliver, Result = ()>,
{
    let Some(agent) = agent else {
        let event = variant(&event);
        let problem = format!("{event} for {to:?}, which is not here");
        return Err(JobError::cluster(problem));
    };
    agent.handle(Deliver(event), context);
    Ok(())
}

/// Passes on to `events` the input from a node until its connection closes, as far as there is memory for input that
/// waits. States of processes that cannot be decoded are `failures`.
fn listen(
    host: HostId,
    peer: Peer,
    program_type: ProgramType,
    events: &mpsc::Sender<JobEvent>,
    failures: &mpsc::UnboundedSender<JobEvent>,
) {
    let Peer {
        mut messages,
        states,
        sender,
        ..
    } = peer;
    let inputs = events.clone();
    let budget = InputBudget::new(WAITING_MAX);
    let link = sender.clone();
    drop(actix_rt::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(from, to, message)) => {
                    let arrived = Clock::now();
                    let memory = budget
                        .reserve(message.payload().map_or(0, Bytes::len))
                        .await;
                    JobEvent::Message(Box::new(NodeInput {
                        host,
                        ends: (from, to),
                        transport: transport(&message, &link),
                        message,
                        arrived,
                        memory,
                    }))
                }
                Ok(Received::Closed { reason }) => JobEvent::PeerGone(host, Ok(reason)),
                Err(error) => JobEvent::PeerGone(host, Err(error.into())),
            };
            let is_last = matches!(event, JobEvent::PeerGone(..));
            if inputs.send(event).await.is_err() || is_last {
                return;
            }
        }
    }));
    let listener = StreamListener {
        host,
        program_type,
        link: sender,
        events: events.clone(),
        failures: failures.clone(),
    };
    drop(actix_rt::spawn(listener.listen(states)));
}

/// Passes on what a node sends on streams: states, and pieces of checkpoints.
struct StreamListener {
    host: HostId,
    program_type: ProgramType,
    link: Sender,
    events: mpsc::Sender<JobEvent>,
    failures: mpsc::UnboundedSender<JobEvent>,
}

impl StreamListener {
    async fn listen(self, mut states: StateReceiver) {
        let arriving = Arc::new(Semaphore::new(ARRIVING_MAX));
        // The end of the connection is an event of its messages.
        while let Ok(opened) = states.accept().await {
            let StateStream {
                from,
                to,
                content,
                began,
                payload,
            } = opened;
            let ends = (from, to);
            match content {
                StreamContent::State(head) => {
                    // Nothing closes it.
                    let permit = Arc::clone(&arriving).acquire_owned().await;
                    let arrival = Arrival {
                        host: self.host,
                        ends,
                        head,
                        began,
                        round_trip: seconds(self.link.round_trip_least()),
                        memory: InputMemory::new(permit),
                    };
                    self.decode(arrival, payload);
                }
                StreamContent::Pieces(superstep, _) => self.add_pieces(ends, superstep, payload),
            }
        }
    }

    fn decode(&self, arrival: Arrival, payload: StatePayload) {
        let (events, failures) = (self.events.clone(), self.failures.clone());
        let program_type = self.program_type;
        drop(actix_rt::spawn(async move {
            // The job may be over.
            match arrival.decode(payload, program_type).await {
                Ok(None) => {}
                Ok(Some(process)) => {
                    drop(events.send(JobEvent::Process(Box::new(process))).await);
                }
                Err(error) => drop(failures.send(JobEvent::Failed(error))),
            }
        }));
    }

    fn add_pieces(&self, ends: (Address, Address), superstep: u64, payload: StatePayload) {
        let (host, events) = (self.host, self.events.clone());
        drop(actix_rt::spawn(async move {
            if let Some(deltas) = checkpoints::receive_deltas(payload).await {
                let pieces = IncomingPieces {
                    host,
                    ends,
                    superstep,
                    deltas,
                };
                // The job may be over.
                drop(events.send(JobEvent::Pieces(Box::new(pieces))).await);
            }
        }));
    }
}

/// The estimated round-trip time and bandwidth of the connection on which a batch has arrived.
fn transport(message: &Message, link: &Sender) -> (Seconds, f64) {
    match message {
        Message::Node(NodeMessage::Batch(_)) => (seconds(link.round_trip()), link.bandwidth()),
        Message::Node(_) | Message::Agent(_) | Message::Job(_) => (Seconds::ZERO, 0.0),
    }
}

/// Bytes of input from one node that waits: batches of a superstep that has not begun here.
const WAITING_MAX: usize = 16 << 20;
/// Processes from one node that are decoded, or wait to be handled: until the job has begun here, or a placement has been
/// announced.
const ARRIVING_MAX: usize = 8;

/// The memory for the waiting input of one connection. While it is used up, nothing more is read from the connection.
#[derive(Clone, Debug)]
pub(super) struct InputBudget {
    free: Arc<Semaphore>,
    units: usize,
}

impl InputBudget {
    /// A budget of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let units = bytes / UNIT;
        Self {
            free: Arc::new(Semaphore::new(units)),
            units,
        }
    }

    /// Waits until there is memory for an input of `bytes` bytes. One that is larger than the budget takes all of it.
    pub(super) async fn reserve(&self, bytes: usize) -> InputMemory {
        let units = (bytes / UNIT + 1).min(self.units);
        let units = u32::try_from(units).expect("a budget is small");
        let permit = Arc::clone(&self.free).acquire_many_owned(units).await;
        permit.map_or_else(|_| InputMemory::default(), InputMemory::new)
    }
}

/// Bytes that are reserved together.
const UNIT: usize = 4 << 10;

/// Makes a plan for the Manager of `set` on a new thread, and sends it to `events`.
///
/// Planning time grows with the number of processes. Meanwhile the calling thread carries messages, and a job that ends
/// does not wait for the plan.
fn plan(
    set: SetId,
    deliberation: Deliberation,
    events: mpsc::UnboundedSender<JobEvent>,
) -> Result<(), JobError> {
    let thread = thread::Builder::new().name("planning".to_owned());
    let spawned = thread.spawn(move || {
        let planned = panic::catch_unwind(AssertUnwindSafe(|| deliberation.conclude()));
        let event = planned.map_or_else(
            |_| {
                let problem =
                    format!("the Manager of {set} has failed to plan; see the log of its node");
                JobEvent::Failed(JobError::cluster(problem))
            },
            |deliberated| JobEvent::Deliberated(set, Box::new(deliberated)),
        );
        // The job may be over.
        drop(events.send(event));
    });
    spawned.map(drop).map_err(|error| {
        JobError::cluster(format!("the thread for planning cannot start: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn building_ends_when_there_is_no_memory_for_another_process() {
        let mut memory = BuildingMemory::of(250);
        // Whatever this machine has, it has room for that.
        for _ in 0..3 {
            memory.take(1000).unwrap();
        }
        memory.take(400_000_000).unwrap();
        assert_eq!(memory.check(None), Ok(()));
        assert_eq!(memory.check(Some(400_000_000 + SPARE)), Ok(()));
        let error = memory.check(Some(400_000_000)).unwrap_err();
        assert_eq!(error.fault, protocol::Fault::Input);
        assert_eq!(
            error.message,
            "not enough memory for the 250 processes that start here: 4 of them have 400 MB, and 400 MB are left: use more \
             hosts, or smaller processes"
        );
        // More than any machine has.
        assert!(memory.take(u64::MAX).is_err());
    }
}
