//! One node's part in a job.
//!
//! **The end.** A node that has reported its end ignores the loss of others, so it ends last: when all processes have
//! halted, its outputs and its part of the record are sent, and its Manager has passed the last barrier on. A node that
//! detects a failure sends the rest of its record and the reason to the client, and closes its connections with the
//! reason, upon which the others do the same. Nothing is restored.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::process_state::ProcessState;
use agents::{Event, Process, Rules, World};
use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use checkpoint::Generations;
use protocol::transport::{JobId, PeerInfo, SpeakingRights};
use protocol::{
    Address, AgentMessage, Frame, JobMessage, Message, Start, Step, Submit, encode, variant,
};

use crate::checkpoints::Checkpoints;
use crate::host_meter::{HostMeter, Processors};
use crate::initial_states::InitialState;
use crate::job_error::JobError;
use crate::members::{Builds, role_of};
use crate::node::world::HostWorld;
use crate::node::{
    ConnectionId, JobAction, JobEvent, JobProgress, NewPeer, NodeAction, Prepared, StartedJob,
};

/// The part of a node in a job, from its submission on.
pub(super) struct Job {
    pub(super) client: ConnectionId,
    submit: Submit,
    pub(super) prepared: Prepared,
    rules: Arc<Rules>,
    /// Which builds other nodes may run.
    builds: Builds,
    meter: Rc<dyn HostMeter>,
    now: Clock,
    phase: Phase,
    actions: VecDeque<NodeAction>,
}

enum Phase {
    /// Connections and states arrive, or are built.
    Gathering(Gathered),
    /// There are agents.
    Running(Running),
}

/// The connections and states that have arrived before the job begins.
#[derive(Default)]
struct Gathered {
    peers: BTreeMap<HostId, Arc<PeerInfo>>,
    states: BTreeMap<Rank, InitialState>,
    /// Whether the client knows that all of them are here.
    is_built: bool,
    /// When all nodes must have connected, once the client has ordered them to.
    limit: Option<Clock>,
    /// Whether all machines count instructions.
    counts: bool,
}

impl Gathered {
    /// Whether all other nodes of the job have connected.
    fn has_all_peers(&self, submit: &Submit) -> bool {
        self.peers.len() + 1 == submit.members.len()
    }
}

struct Running {
    world: Rc<RefCell<HostWorld>>,
    /// Whether the client knows that this node is ready.
    is_ready: bool,
    has_begun: bool,
    /// Events of nodes on which the job has begun before it has here.
    waiting: VecDeque<JobEvent>,
    /// When the client was last sent a part of the record.
    reported: Clock,
}

impl Job {
    /// A job that is submitted now.
    pub(super) fn new(
        client: ConnectionId,
        submit: Submit,
        prepared: Prepared,
        builds: Builds,
        meter: Rc<dyn HostMeter>,
        now: Clock,
    ) -> Self {
        Self {
            client,
            submit,
            rules: Arc::new(prepared.rules()),
            prepared,
            builds,
            meter,
            now,
            phase: Phase::Gathering(Gathered::default()),
            actions: VecDeque::new(),
        }
    }

    /// How far it is here.
    pub(super) fn progress(&self) -> JobProgress {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().progress(),
            Phase::Gathering(_) => JobProgress::default(),
        }
    }

    /// Whether all that this node had to do is done and reported; its client has not closed yet.
    pub(super) fn has_ended(&self) -> bool {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().has_ended(),
            Phase::Gathering(_) => false,
        }
    }

    /// Where the node is in the protocol.
    pub(super) fn step(&self) -> Step {
        match &self.phase {
            Phase::Gathering(_) => Step::Gather,
            Phase::Running(running) if !running.is_ready => Step::Probe,
            Phase::Running(running) => running.world.borrow().step(),
        }
    }

    /// How long the run has lasted.
    pub(super) fn lasted(&self) -> Seconds {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().lasted(),
            Phase::Gathering(_) => Seconds::ZERO,
        }
    }

    /// The rest of its part of the record, when it is over.
    pub(super) fn rest_of_record(&self) -> Option<Frame> {
        match &self.phase {
            Phase::Running(running) => running.world.borrow_mut().rest_of_record(),
            Phase::Gathering(_) => None,
        }
    }

    /// The pieces of checkpoints here.
    pub(super) fn with_generations<T>(&self, with: impl FnOnce(&Generations) -> T) -> Option<T> {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().generations().map(with),
            Phase::Gathering(_) => None,
        }
    }

    /// Whether events of other nodes are handled now. Until then, nothing is to be read from their connections, which hold
    /// back the rest.
    pub(super) fn takes_peer_events(&self) -> bool {
        matches!(&self.phase, Phase::Running(running) if running.waiting.is_empty())
    }

    /// When time matters next.
    pub(super) fn next_timeout(&self) -> Option<Clock> {
        match &self.phase {
            Phase::Gathering(gathered) => gathered
                .limit
                .filter(|_| !gathered.has_all_peers(&self.submit)),
            Phase::Running(running) => {
                let world = running.world.borrow();
                let reporting = world.has_news().then(|| running.reported + REPORTING);
                world.next_timeout().into_iter().chain(reporting).min()
            }
        }
    }

    /// Time has passed.
    ///
    /// # Errors
    ///
    /// If other nodes have not connected in time.
    pub(super) fn advance(&mut self, now: Clock) -> Result<(), JobError> {
        self.now = now;
        match &mut self.phase {
            Phase::Gathering(gathered) => {
                let limit = gathered.limit.filter(|limit| *limit <= now);
                // Large states take long; the loss of a node that sends one is an event of its own.
                if limit.is_some() && !gathered.has_all_peers(&self.submit) {
                    let limit = CONNECT_LIMIT.as_secs();
                    return Err(JobError::cluster(format!(
                        "not all other nodes have connected in {limit} s"
                    )));
                }
            }
            Phase::Running(running) => {
                let mut world = running.world.borrow_mut();
                world.advance(now);
                if world.has_news() && running.reported + REPORTING <= now {
                    running.reported = now;
                    world.send_record();
                }
            }
        }
        Ok(())
    }

    /// Handles a message of the client.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn handle_client(&mut self, message: JobMessage) -> Result<(), JobError> {
        match (&mut self.phase, message) {
            (Phase::Gathering(gathered), JobMessage::Meet { counts })
                if gathered.limit.is_none() =>
            {
                gathered.counts = counts;
                gathered.limit = Some(self.now + CONNECT_LIMIT);
                self.connect_to_others();
                self.start_if_complete()
            }
            (Phase::Running(running), JobMessage::Begin)
                if running.is_ready && !running.has_begun =>
            {
                self.begin()
            }
            (_, JobMessage::Stop) => Err(JobError::cluster(STOPPED).reported()),
            (_, message) => Err(JobError::cluster(format!(
                "the client said {} at the wrong time",
                variant(&message)
            ))),
        }
    }

    /// The client has closed its connection. Breaks if the job is over.
    ///
    /// # Errors
    ///
    /// If the job is not over.
    pub(super) fn handle_client_gone(&self, error: Option<JobError>) -> Result<(), JobError> {
        match (&self.phase, error) {
            (Phase::Running(running), None) if running.world.borrow().has_ended() => Ok(()),
            (_, None) => Err(JobError::cluster("the client has gone").reported()),
            (_, Some(error)) => Err(error),
        }
    }

    /// The error of a node that is to leave.
    pub(super) fn left(&self) -> JobError {
        let name = &self.submit.members[self.submit.host.index()].name;
        JobError::cluster(format!("{name} has been told to leave"))
    }

    /// Handles an event of this node or of another one.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn handle(&mut self, event: JobEvent) -> Result<(), JobError> {
        let running = match &mut self.phase {
            Phase::Running(running) => running,
            Phase::Gathering(gathered) => {
                return match event {
                    JobEvent::State(rank, state) => {
                        let is_here =
                            self.rules.placement.get(rank.index()) == Some(&self.submit.host);
                        if !is_here || gathered.states.contains_key(&rank) {
                            return Err(JobError::cluster(format!("{rank} does not start here")));
                        }
                        gathered.states.insert(rank, state);
                        self.start_if_complete()
                    }
                    JobEvent::Failed(error) => Err(error),
                    event if event.is_of_peer() => {
                        Err(JobError::cluster("a node sent something at the wrong time"))
                    }
                    _ => Ok(()),
                };
            }
        };
        if event.waits() && !running.has_begun {
            running.waiting.push_back(event);
            return Ok(());
        }
        let mut world = running.world.borrow_mut();
        match event {
            JobEvent::State(..) => {
                return Err(JobError::cluster("a state arrived at the wrong time"));
            }
            JobEvent::Failed(error) => return Err(error),
            JobEvent::PeerGone(..) if world.has_ended() => {}
            JobEvent::PeerGone(host, reason) => {
                let name = &self.submit.members[host.index()].name;
                let reason = reason?;
                return Err(JobError::cluster(format!("{name} has left: {reason}")).reported());
            }
            JobEvent::RecordTaken => world.handle_record_taken(),
            JobEvent::OutputWritten(output) => world.handle_output_written(output),
            JobEvent::Executed(done) => done
                .into_iter()
                .for_each(|done| world.handle_executed(done)),
            JobEvent::Sent(host, bytes, took) => world.handle_sent(host, bytes, took),
            JobEvent::Saved(saved) => world.handle_saved(*saved),
            JobEvent::Written(superstep, file) => world.handle_written(superstep, file),
            JobEvent::CheckpointFinished(superstep, finished) => {
                world.handle_checkpoint_finished(superstep, finished);
            }
            JobEvent::Deliberated(set, deliberated) => {
                world.deliver(Address::SetManager(set), Event::Deliberated(deliberated));
            }
            JobEvent::Message(message) => world.handle_message(*message),
            JobEvent::Process(process) => world.handle_process(*process),
            JobEvent::Pieces(pieces) => world.handle_pieces(*pieces),
        }
        Ok(())
    }

    /// Adds the connection to another node of the job, in its role. A peer that has no part in the job is refused, and the
    /// job goes on.
    ///
    /// # Errors
    ///
    /// If the node runs another build, or an agent is none of the job.
    pub(super) fn admit(&mut self, peer: &NewPeer) -> Result<(), JobError> {
        let members = &self.submit.members;
        let name = peer.info.subject.name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let (own, rules) = (self.submit.host, &self.rules);
        let host = place.map(HostId::from_index);
        let new = match &mut self.phase {
            Phase::Gathering(gathered) => host.filter(|host| {
                *host != own
                    && role_of(rules, *host) == peer.info.subject.role
                    && !gathered.peers.contains_key(host)
            }),
            Phase::Running(_) => None,
        };
        let (Some(host), Phase::Gathering(gathered)) = (new, &mut self.phase) else {
            self.actions
                .push_back(NodeAction::RefusePeer(peer.connection));
            return Ok(());
        };
        let own = &members[own.index()].name;
        self.builds.check(own, (name, &peer.build))?;
        let managers = rules.managers.iter().enumerate();
        let managed = managers.filter(|(_, manager)| **manager == host);
        let rights = SpeakingRights {
            hosts: BTreeSet::from([host]),
            sets: managed.map(|(set, _)| SetId::from_index(set)).collect(),
        };
        gathered.peers.insert(host, Arc::clone(&peer.info));
        let admit = JobAction::Admit(peer.connection, host, rights);
        self.actions.push_back(admit.into());
        self.start_if_complete()
    }

    /// What is to be done now.
    ///
    /// # Errors
    ///
    /// The error that ends the job.
    pub(super) fn poll(&mut self) -> Result<Option<NodeAction>, JobError> {
        if let Some(action) = self.actions.pop_front() {
            return Ok(Some(action));
        }
        let own = self.submit.host;
        let Phase::Running(running) = &mut self.phase else {
            return Ok(None);
        };
        let mut world = running.world.borrow_mut();
        let name = &self.submit.members[own.index()].name;
        if let Some(action) = world.poll().map_err(|error| error.on(name))? {
            return Ok(Some(action.into()));
        }
        if running.is_ready || !world.has_probed() {
            return Ok(None);
        }
        running.is_ready = true;
        let ready = JobAction::SendToClient(frame(own, JobMessage::Ready));
        Ok(Some(ready.into()))
    }

    /// Connects to the nodes after this one in the list; those before it connect to this one.
    fn connect_to_others(&mut self) {
        let own = self.submit.host.index();
        for (index, member) in self.submit.members.iter().enumerate().skip(own + 1) {
            let role = role_of(&self.rules, HostId::from_index(index));
            let connect = JobAction::Connect(Box::new(member.clone()), role);
            self.actions.push_back(connect.into());
        }
    }

    /// Starts the agents once the client has ordered the nodes to connect, and they and all states are here. The client learns
    /// of the states as soon as all are here.
    fn start_if_complete(&mut self) -> Result<(), JobError> {
        let residents = self.rules.on_host[self.submit.host.index()];
        let Phase::Gathering(gathered) = &mut self.phase else {
            return Ok(());
        };
        let has_states = u32::try_from(gathered.states.len()) == Ok(residents);
        if gathered.limit.is_none() || !has_states {
            return Ok(());
        }
        if !gathered.is_built {
            gathered.is_built = true;
            let built = frame(self.submit.host, JobMessage::Built);
            let built = JobAction::SendToClient(built);
            self.actions.push_back(built.into());
        }
        if !gathered.has_all_peers(&self.submit) {
            return Ok(());
        }
        let gathered = std::mem::take(gathered);
        self.start(gathered)
    }

    /// The agent of a process that starts here.
    fn agent(&self, rank: Rank, state: &ProcessState) -> Result<Process, JobError> {
        let (rules, own) = (&self.rules, self.submit.host);
        if rules.resumed.is_some() {
            return Process::resume(rules, (rank, own), &state.agent).map_err(JobError::input);
        }
        if !state.agent.is_empty() || !state.inbox.is_empty() {
            return Err(JobError::input(format!("{rank} has started already")));
        }
        Ok(Process::new(rules, rank, own))
    }

    /// Starts the agents, with the processes that start here, and sends the first probes.
    ///
    /// # Errors
    ///
    /// If an agent is none of the job.
    fn start(&mut self, gathered: Gathered) -> Result<(), JobError> {
        let Gathered {
            peers,
            counts,
            states,
            ..
        } = gathered;
        let own = self.submit.host;
        let member = &self.submit.members[own.index()];
        let slots = NonZeroU32::new(member.slots).unwrap_or(NonZeroU32::MIN);
        let processors = Processors {
            count: slots,
            speed: self.meter.offered(member.speed),
        };
        let part = (own, &self.prepared.setup, Arc::clone(&self.rules));
        let measured = (Rc::clone(&self.meter), processors);
        let are_written = self.submit.files.is_some_and(|files| files.outputs);
        let places = (self.checkpoints(processors), are_written);
        let mut world = HostWorld::new(part, peers, measured, places, self.now);
        let mut processes = BTreeMap::new();
        for (rank, state) in states {
            match state {
                InitialState::Running(state) => {
                    processes.insert(rank, self.agent(rank, &state)?);
                    world.insert_process(rank, state);
                }
                InitialState::Halted(output) => world.insert_halted(rank, output),
            }
        }
        world.start_probing();
        let world = Rc::new(RefCell::new(world));
        let for_agents: Rc<RefCell<dyn World>> = world.clone();
        let start = JobAction::Start(StartedJob {
            own,
            rules: Arc::clone(&self.rules),
            world: for_agents,
            processes,
            slots,
            speed: member.speed,
            counts,
        });
        self.actions.push_back(start.into());
        self.phase = Phase::Running(Running {
            world,
            is_ready: false,
            has_begun: false,
            waiting: VecDeque::new(),
            reported: self.now,
        });
        Ok(())
    }

    /// The checkpoints of the job on this node, if there are any.
    fn checkpoints(&self, processors: Processors) -> Option<Checkpoints> {
        let setup = &self.prepared.setup;
        let checkpointing = setup.checkpointing.as_ref()?;
        let job = NonZeroU64::new(self.submit.job).map(JobId)?;
        Some(Checkpoints::of_job(
            job,
            self.submit.host,
            setup,
            checkpointing,
            &self.rules,
            processors.count,
            self.submit.checkpoint.is_some(),
        ))
    }

    /// Starts all processes here, and handles the events that have waited for it.
    fn begin(&mut self) -> Result<(), JobError> {
        let Phase::Running(running) = &mut self.phase else {
            return Ok(());
        };
        running.has_begun = true;
        let own = self.submit.host;
        let mut world = running.world.borrow_mut();
        world.begin();
        world.deliver_halted();
        let message = AgentMessage::Start(Start {
            superstep: self.rules.first_superstep(),
            interval: None,
            checkpoint: false,
            reduced: None,
        });
        for (rank, _) in self.rules.running().filter(|(_, host)| *host == own) {
            let event = Event::Message {
                from: Address::SetManager(self.rules.first),
                message: message.clone(),
            };
            world.deliver(Address::Process(rank), event);
        }
        drop(world);
        let waiting = std::mem::take(&mut running.waiting);
        waiting.into_iter().try_for_each(|event| self.handle(event))
    }
}

/// The frame of a message of `own` to the client.
fn frame(own: HostId, message: JobMessage) -> Frame {
    let message = Message::Job(Box::new(message));
    encode(Address::Node(own), Address::Client, &message)
}

/// How long nodes may take to connect to each other.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// The error of a job that its client stops.
const STOPPED: &str = "the client has stopped the job";
/// The time between two parts of the record that are sent to the client.
const REPORTING: Duration = Duration::from_millis(50);
