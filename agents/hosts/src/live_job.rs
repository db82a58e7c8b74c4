//! The sockets, threads and tasks of a job that runs on a node.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use agents::ProgramType;
use agents::process_state::ProcessState;
use bsp::{HostId, Rank};
use bytes::Bytes;
use checkpoint::{Delta, DiskFiles};
use machines::client::initial;
use machines::node::action::{BegunJob, JobAction, StartedJob};
use machines::node::event::JobEvent;
use machines::{Done, InitialStateDecoder, JobError};
use protocol::identity::Role;
use protocol::transport::{
    Endpoint, JobId, Peer, Sender, StateReceiver, StateStream, StreamContent, TrySendError,
};
use protocol::{Address, Frame, Member, Migrate};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::Machine;
use super::checkpoints::allowed::CheckpointFolders;
use super::checkpoints::copies;
use super::checkpoints::encoder::Encoder;
use super::checkpoints::folder::CheckpointFolder;
use super::chunk_channel::{self, ChannelSource};
use super::input::listen;
use super::job_log::JobLog;
use super::local_agents::LocalAgents;
use super::members::connect;
use super::migration::Departures;
use super::planning;
use super::pool::Pool;

/// The sockets, threads and tasks of a job. They end with it, and so do the events that they would have caused.
pub(super) struct LiveJob {
    own: Option<HostId>,
    endpoint: Arc<Endpoint>,
    machine: Machine,
    to_client: Sender,
    log: JobLog,
    peers: BTreeMap<HostId, Sender>,
    agents: Option<LocalAgents>,
    pool: Option<Pool>,
    departures: Departures,
    /// Where checkpoints are written, if they are.
    checkpoints: CheckpointPlace,
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
    job: (JobId, u32),
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
    /// The states that the client sends.
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
    /// A job that begins, of the client behind `to_client`, which sends `states`.
    pub(super) fn begin(
        begun: &BegunJob,
        (endpoint, machine, folders): (&Arc<Endpoint>, &Machine, &CheckpointFolders),
        (to_client, states): (Sender, Option<StateReceiver>),
        log: JobLog,
    ) -> Self {
        endpoint.begin(begun.job, 0);
        let path = begun.checkpoint.as_deref();
        let events = Channels {
            own: mpsc::unbounded_channel(),
            executed: mpsc::unbounded_channel(),
            states: mpsc::channel(STATES_MAX),
            peers: mpsc::channel(INPUTS_MAX),
        };
        if let Some(states) = states {
            let decoder = begun.decoder.clone();
            let decoded = events.states.0.clone();
            drop(actix_rt::spawn(decode_states(states, decoder, decoded)));
        }
        Self {
            own: None,
            endpoint: Arc::clone(endpoint),
            machine: machine.clone(),
            to_client,
            log,
            peers: BTreeMap::new(),
            agents: None,
            pool: None,
            departures: Departures::new(events.own.0.clone()),
            checkpoints: CheckpointPlace {
                job: (begun.job, begun.processes),
                files: path.and_then(|path| folders.files(path)),
                folder: None,
            },
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

    /// Has agents here handle events.
    pub(super) async fn deliver(&mut self, action: JobAction) -> Result<(), JobError> {
        match (action, &mut self.agents) {
            (JobAction::Deliver(deliveries), Some(agents)) => agents.deliver(deliveries).await,
            _ => Ok(()),
        }
    }

    /// Performs an action. Returns the event that follows from it immediately.
    pub(super) fn perform(&mut self, action: JobAction) -> Option<JobEvent> {
        let sent = match action {
            JobAction::Send(host, frame) => match self.peers.get(&host) {
                Some(peer) => peer.push(frame),
                None => Ok(()),
            },
            JobAction::SendToClient(frame) => {
                // The loss of the client is an event of its connection.
                drop(self.to_client.push(frame));
                Ok(())
            }
            JobAction::SendRecord(frame) => return self.send_record(frame),
            JobAction::SendOutput(rank, output) => {
                self.send_output(rank, output);
                Ok(())
            }
            JobAction::Execute(tasks) => {
                if let Some(pool) = &self.pool {
                    pool.execute(tasks.into_iter());
                }
                Ok(())
            }
            JobAction::AdvanceEpoch(epoch) => {
                self.endpoint.advance(epoch);
                Ok(())
            }
            JobAction::SendPieces(host, superstep, changed) => {
                self.send_pieces(host, superstep, changed);
                Ok(())
            }
            JobAction::Plan(set, deliberation) => {
                let events = self.events.own.0.clone();
                let planned = planning::plan(set, *deliberation, events);
                return planned.err().map(JobEvent::Failed);
            }
            action => {
                self.perform_rare(action);
                Ok(())
            }
        };
        sent.err().map(|error| JobEvent::Failed(error.into()))
    }

    /// Performs an action that does not occur in every superstep.
    fn perform_rare(&mut self, action: JobAction) {
        match action {
            JobAction::Connect(member, role) => self.connect(*member, role),
            JobAction::Start(started) => self.start(started),
            JobAction::StartClock => {
                if let Some(host) = self.machine.pace.played() {
                    host.begin();
                }
            }
            JobAction::Refuse(host, problem) => {
                if let Some(peer) = self.peers.get(&host) {
                    // The machine knows the error.
                    drop(peer.refuse(problem));
                }
            }
            JobAction::Depart(order, state) => self.depart(order, *state),
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
            JobAction::Release(ranks) => {
                if let Some(agents) = &mut self.agents {
                    agents.release(ranks);
                }
            }
            JobAction::Admit(..)
            | JobAction::Deliver(_)
            | JobAction::Send(..)
            | JobAction::SendToClient(_)
            | JobAction::SendRecord(_)
            | JobAction::SendOutput(..)
            | JobAction::Execute(_)
            | JobAction::AdvanceEpoch(_)
            | JobAction::SendPieces(..)
            | JobAction::Plan(..) => unreachable!("performed elsewhere"),
        }
    }

    /// Reads what `peer` sends, which is the node of `host`.
    pub(super) fn admit(&mut self, host: HostId, peer: Peer) {
        self.peers.insert(host, peer.sender.clone());
        let Channels { own, peers, .. } = &self.events;
        listen(host, peer, self.program_type, &peers.0, &own.0);
    }

    /// Ends the job: closes the connections with `reason`. What its threads execute is abandoned.
    pub(super) fn end(self, reason: &str) -> (JobLog, Sender) {
        for sender in self.peers.into_values() {
            let reason = reason.to_owned();
            // A node that does not read the reason detects the end by itself.
            drop(actix_rt::spawn(async move { sender.close(&reason).await }));
        }
        self.endpoint.end();
        (self.log, self.to_client)
    }

    /// Sends a part of the record, and tells when the client has taken it.
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
        let own = self.own.unwrap_or(HostId(0));
        let (client, events) = (self.to_client.clone(), self.events.own.0.clone());
        drop(actix_rt::spawn(async move {
            let state = initial(rank, output);
            let sent = client.send_state(Address::Node(own), Address::Client, state);
            if let Err(error) = sent.await {
                // The job may be over.
                drop(events.send(JobEvent::Failed(error.into())));
            }
        }));
    }

    fn connect(&mut self, member: Member, role: Role) {
        let endpoint = Arc::clone(&self.endpoint);
        let calling = Arc::clone(&self.calling);
        let (connected, events) = (self.connected.0.clone(), self.events.own.0.clone());
        let connecting = async move {
            // Nothing closes it.
            let _turn = calling.acquire().await;
            // The job may be over.
            match connect(&endpoint, &member, role).await {
                Ok(peer) => drop(connected.send(peer)),
                Err(error) => drop(events.send(JobEvent::Failed(error))),
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
        let done = (&self.events.executed.0, &forks);
        self.pool = Some(Pool::new(*processors, (*processor, pace), executions, done));
        self.own = Some(started.own);
        let CheckpointPlace { job, files, folder } = &mut self.checkpoints;
        let files = files.take();
        *folder =
            files.map(|files| CheckpointFolder::new(files, *job, started.own, &self.events.own.0));
        self.agents = Some(LocalAgents::new(started));
    }

    /// Sends pieces to the buddy. A connection that ends is an event of its own.
    fn send_pieces(&self, host: HostId, superstep: u64, changed: Vec<Delta>) {
        if let (Some(own), Some(peer)) = (self.own, self.peers.get(&host)) {
            let sending = copies::send((own, host), superstep, changed, peer.clone());
            drop(actix_rt::spawn(async move { drop(sending.await) }));
        }
    }

    fn depart(&self, order: Migrate, state: ProcessState) {
        if let Some(peer) = self.peers.get(&order.to) {
            self.departures.send(order, state, peer.clone());
        }
    }
}

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
        let (sender, chunks) = chunk_channel::channel();
        // It takes time in proportion to the state, so another thread does it.
        let decoding = tokio::task::spawn_blocking(move || {
            decoder.decode(rank, &mut ChannelSource::new(chunks))
        });
        let (read, decoded) = tokio::join!(payload.read(sender), decoding);
        if read.is_err() {
            return;
        }
        let event = match decoded {
            Ok(Ok(state)) => JobEvent::State(rank, state),
            Ok(Err(error)) => JobEvent::Failed(error.into()),
            Err(panic) => {
                JobEvent::Failed(JobError::program(format!("decoding a process: {panic}")))
            }
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// States that wait to be handled.
const STATES_MAX: usize = 1024;
/// Events of other nodes that wait to be handled.
const INPUTS_MAX: usize = 256;
/// Events that are handled before what they cause is done.
pub(super) const INPUTS_AT_ONCE: usize = 64;
/// Nodes that a node calls at a time.
const CALLS_MAX: usize = 32;
