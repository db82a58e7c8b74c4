//! One node's part in a job.
//!
//! **The end.** A node that has reported its end ignores the loss of others, so it ends last: when all processes have
//! halted, its outputs and its part of the record are sent, and its Manager has passed the last barrier on. A node that
//! detects a failure sends the rest of its record and the reason to the client, and closes its connections with the
//! reason, upon which the others do the same.
//!
//! **A loss.** In a job that has views, a node that loses another one leaves the session: agents, messages and connections to
//! nodes end, and the pieces of checkpoints stay. It says so to the client, which orders the others to do the same, and submits
//! the next view to all that are left. Nodes join and leave in the same way, when processes are held. A job never changes its members in any other way. The pieces of processes that start on
//! another node than the one that has them are sent to it as soon as both are connected.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::mutant::{self, Mutant};
use agents::process_state::ProcessState;
use agents::{Event, Process, Rules, World, check};
use bsp::units::Seconds;
use bsp::{HostId, Rank, SetId};
use checkpoint::{Delta, Generation, Generations, Piece};
use protocol::transport::{JobId, PeerInfo, SpeakingRights};
use protocol::{
    Address, AgentMessage, Frame, JobMessage, LostNode, Message, SavedView, Start, Step, Submit,
    encode, variant,
};

use crate::checkpoints::Checkpoints;
use crate::host_meter::{HostMeter, Processors};
use crate::initial_states::InitialState;
use crate::job_error::JobError;
use crate::links::KnownLinks;
use crate::members::{Builds, Routes, names, role_of};
use crate::node::world::HostWorld;
use crate::node::{
    IncomingPieces, JobAction, JobEvent, JobProgress, NewPeer, NodeAction, Prepared, StartedJob,
    SuspendedPart,
};

/// The part of a node in a job, or in a view of it, from its submission on.
pub(super) struct Job {
    pub(super) submit: Submit,
    pub(super) prepared: Prepared,
    rules: Arc<Rules>,
    /// Which builds other nodes may run.
    builds: Builds,
    /// Where it reaches them.
    routes: Routes,
    meter: Rc<dyn HostMeter>,
    now: Clock,
    phase: Phase,
    /// The pieces of checkpoints of the view before, until there is a world.
    kept: Generations,
    /// What probes of links from here have found in earlier views.
    links: KnownLinks,
    actions: VecDeque<NodeAction>,
    /// Why this part ends, after these actions.
    stop: Option<Stop>,
}

/// Why the part of a node in a job, or in a view of it, ends before the job.
#[derive(Debug)]
pub(super) enum Stop {
    /// The job cannot go on.
    Failed(JobError),
    /// The view cannot go on, because these nodes are lost. If there are none, another member has said so.
    Suspended(Vec<LostNode>),
}

impl From<JobError> for Stop {
    fn from(error: JobError) -> Self {
        Self::Failed(error)
    }
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
    /// Bytes of their encodings.
    bytes: u64,
    /// Whether the client knows that all of them are here.
    is_built: bool,
    /// When all nodes must have connected, once the client has ordered them to.
    limit: Option<Clock>,
    /// Whether all machines count instructions.
    counts: bool,
    /// The processes whose pieces have arrived, if the view begins with a checkpoint.
    restored: BTreeSet<Rank>,
    /// What nodes that have all of theirs have sent already.
    early: Vec<JobEvent>,
    /// A node that this one cannot reach, and when it says so to the leader.
    missed: Option<(LostNode, Clock)>,
}

impl Gathered {
    /// Whether all other nodes of the job have connected.
    fn has_all_peers(&self, submit: &Submit) -> bool {
        self.peers.len() + 1 == submit.members.len()
    }
}

struct Running {
    world: Rc<RefCell<HostWorld>>,
    /// Bytes of the encoded states with which processes started here.
    bytes: u64,
    /// Whether the client knows that this node is ready.
    is_ready: bool,
    has_begun: bool,
    /// Events of nodes on which the job has begun before it has here.
    waiting: VecDeque<JobEvent>,
    /// When the client was last sent a part of the record.
    reported: Clock,
    /// When the client was last told how much of the job is done.
    progressed: Option<Clock>,
}

impl Running {
    /// When the client may be told next how much of the job is done.
    fn progress_due(&self, now: Clock) -> Clock {
        self.progressed.map_or(now, |at| at + PROGRESSING)
    }
}

impl Job {
    /// A job, or a view of it, that is submitted now, on a node that has `kept` these pieces of the view before.
    ///
    /// # Errors
    ///
    /// If the view is to begin with pieces that this node does not have.
    pub(super) fn new(
        submit: Submit,
        prepared: Prepared,
        (builds, routes): (Builds, Routes),
        meter: Rc<dyn HostMeter>,
        (kept, links): (Generations, KnownLinks),
        now: Clock,
    ) -> Result<Self, JobError> {
        let own = submit.host;
        let mut job = Self {
            rules: Arc::new(prepared.rules()),
            submit,
            prepared,
            builds,
            routes,
            meter,
            now,
            phase: Phase::Gathering(Gathered::default()),
            kept,
            links,
            actions: VecDeque::new(),
            stop: None,
        };
        let here = job.pieces_for(own)?;
        if !here.is_empty() {
            job.actions.push_back(JobAction::Restore(here).into());
        }
        Ok(job)
    }

    /// The checkpoint with which the view begins, if that is in the memory of its nodes.
    fn saved(&self) -> Option<(&SavedView, Generation)> {
        let saved = self.submit.view.as_ref()?.saved.as_ref()?;
        let superstep = self.submit.resumed.as_ref()?.superstep;
        let incarnation = saved.incarnation;
        let generation = Generation {
            incarnation,
            superstep,
        };
        Some((saved, generation))
    }

    /// The pieces that this node has to give to the node of `host`, with which processes start there.
    fn pieces_for(&self, host: HostId) -> Result<Vec<Piece>, JobError> {
        let Some((saved, generation)) = self.saved() else {
            return Ok(Vec::new());
        };
        let own = self.submit.host;
        let places = self.rules.placement.iter().zip(&saved.holders);
        let ranks = (0..).map(Rank).zip(places);
        let wanted = ranks.filter(|(_, (to, holder))| **to == host && **holder == own);
        let pieces = wanted.map(|(rank, _)| {
            let piece = self.kept.piece(generation, rank).cloned();
            piece.ok_or_else(|| {
                let name = self.name(own);
                JobError::cluster(format!(
                    "{name} has no piece of {rank} of the checkpoint of superstep {}",
                    generation.superstep
                ))
            })
        });
        pieces.collect()
    }

    fn name(&self, host: HostId) -> &str {
        &self.submit.members[host.index()].name
    }

    /// What is left when the node leaves the session, because it has lost these nodes, another one, or its leader.
    pub(super) fn into_suspended(self, lost: Vec<LostNode>) -> SuspendedPart {
        let wait = Duration::try_from_secs_f64(self.submit.wait.get()).unwrap_or_default();
        let wait = if self.has_ended() {
            // The leader has what it waits for, unless it is lost itself.
            wait.min(ENDED_WAIT)
        } else {
            wait.min(WAIT_MAX)
        };
        let begun = self.progress().superstep;
        let mut links = self.links;
        let kept = match self.phase {
            Phase::Running(running) => {
                let mut world = running.world.borrow_mut();
                let members = &self.submit.members;
                let probed = world.probed_links();
                links.extend(probed.filter_map(|(host, probed)| {
                    Some((members.get(host.index())?.name.clone(), probed))
                }));
                world.take_generations()
            }
            Phase::Gathering(_) => self.kept,
        };
        SuspendedPart {
            hosts: names(&self.submit.members),
            submit: self.submit,
            wait,
            lost,
            completed: begun.saturating_sub(1),
            kept,
            links,
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
            Phase::Gathering(_) if self.saved().is_some() => Step::Restore,
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
            Phase::Gathering(_) => Some(with(&self.kept)),
        }
    }

    /// Whether events of other nodes are handled now. Until then, nothing is to be read from their connections, which hold
    /// back the rest.
    pub(super) fn takes_peer_events(&self) -> bool {
        match &self.phase {
            Phase::Running(running) => running.waiting.is_empty(),
            Phase::Gathering(_) => self.saved().is_some(),
        }
    }

    /// When time matters next.
    pub(super) fn next_timeout(&self) -> Option<Clock> {
        match &self.phase {
            Phase::Gathering(gathered) => {
                let limit = gathered.limit;
                let limit = limit.filter(|_| !gathered.has_all_peers(&self.submit));
                let missed = gathered.missed.as_ref().map(|(_, at)| *at);
                limit.into_iter().chain(missed).min()
            }
            Phase::Running(running) => {
                let world = running.world.borrow();
                let reporting = world.has_news().then(|| running.reported + REPORTING);
                let progress = world
                    .has_progressed()
                    .then(|| running.progress_due(self.now));
                let due = reporting.into_iter().chain(progress);
                world.next_timeout().into_iter().chain(due).min()
            }
        }
    }

    /// Time has passed.
    ///
    /// # Errors
    ///
    /// If other nodes have not connected in time.
    pub(super) fn advance(&mut self, now: Clock) -> Result<(), Stop> {
        self.now = now;
        match &mut self.phase {
            Phase::Gathering(gathered) => {
                if let Some((lost, _)) = gathered.missed.take_if(|(_, at)| *at <= now) {
                    return Err(Stop::Suspended(vec![lost]));
                }
                let limit = gathered.limit.filter(|limit| *limit <= now);
                // Large states take long; the loss of a node that sends one is an event of its own.
                if limit.is_some() && !gathered.has_all_peers(&self.submit) {
                    return Err(self.unconnected());
                }
            }
            Phase::Running(running) => {
                let mut world = running.world.borrow_mut();
                world.advance(now);
                if world.has_news() && running.reported + REPORTING <= now {
                    running.reported = now;
                    world.send_record();
                }
                drop(world);
                if running.progress_due(now) <= now {
                    let mut world = running.world.borrow_mut();
                    if world.has_progressed() {
                        world.send_progress();
                        running.progressed = Some(now);
                    }
                }
            }
        }
        Ok(())
    }

    /// Not all other nodes have connected in time.
    fn unconnected(&self) -> Stop {
        let limit = CONNECT_LIMIT.as_secs();
        let Phase::Gathering(gathered) = &self.phase else {
            return Stop::Suspended(Vec::new());
        };
        if self.submit.view.is_none() {
            let problem = format!("not all other nodes have connected in {limit} s");
            return JobError::cluster(problem).into();
        }
        let hosts = (0..self.submit.members.len()).map(HostId::from_index);
        let others = hosts.filter(|host| *host != self.submit.host);
        let missing = others.filter(|host| !gathered.peers.contains_key(host));
        let lost = |host| LostNode {
            host,
            reason: format!("{} has not connected in {limit} s", self.name(host)),
            silent: None,
        };
        Stop::Suspended(missing.map(lost).collect())
    }

    /// The connection to the node of `host` has ended, or could not be opened. If that is a loss, the view of a job that has
    /// views ends. If the other node has closed it in order, it has said why to the client.
    fn peer_gone(&self, host: HostId, reason: Result<String, JobError>) -> Stop {
        let has_views = self.submit.view.is_some();
        let name = self.name(host);
        match reason {
            Ok(_) if has_views => Stop::Suspended(Vec::new()),
            Ok(reason) => JobError::cluster(format!("{name} has left: {reason}"))
                .reported()
                .into(),
            Err(error) => match error.loss.filter(|_| has_views) {
                Some(loss) => Stop::Suspended(vec![LostNode {
                    host,
                    reason: error.message,
                    silent: loss.silent,
                }]),
                None => error.into(),
            },
        }
    }

    /// Handles a message of the client.
    ///
    /// # Errors
    ///
    /// Why this part ends.
    pub(super) fn handle_client(&mut self, message: JobMessage) -> Result<(), Stop> {
        if matches!(message, JobMessage::Meet { .. }) && !mutant::is(Mutant::KeepOtherCheckpoints) {
            // Before, another view may follow the one before with another checkpoint.
            let generation = self.saved().map(|(_, generation)| generation);
            self.kept.go_on_with(generation);
        }
        match (&mut self.phase, message) {
            (Phase::Gathering(gathered), JobMessage::Meet { counts })
                if gathered.limit.is_none() =>
            {
                gathered.counts = counts;
                gathered.limit = Some(self.now + CONNECT_LIMIT);
                self.connect_to_others();
                self.start_if_complete()
            }
            (Phase::Running(running), JobMessage::Begin { saves })
                if running.is_ready && !running.has_begun =>
            {
                if !saves {
                    running.world.borrow_mut().save_nothing();
                }
                self.begin()
            }
            (_, JobMessage::Stop) => Err(JobError::cluster(STOPPED).reported().into()),
            (Phase::Running(running), JobMessage::Hold) if running.has_begun => {
                running.world.borrow_mut().hold();
                Ok(())
            }
            (_, JobMessage::Suspend) if self.submit.view.is_some() => {
                Err(Stop::Suspended(Vec::new()))
            }
            (_, message) => Err(JobError::cluster(format!(
                "the client said {} at the wrong time",
                variant(&message)
            ))
            .into()),
        }
    }

    /// Whether its processes can be held before a superstep, so that it goes on in another view without this node: others have
    /// copies of what it has.
    pub(super) fn can_be_held(&self) -> bool {
        let checkpointing = self.prepared.setup.checkpointing.as_ref();
        let are_copied = checkpointing.is_some_and(|checkpointing| checkpointing.copies);
        let is_saved = match &self.phase {
            Phase::Running(running) => {
                running.has_begun && running.world.borrow().generations().is_some()
            }
            Phase::Gathering(_) => false,
        };
        are_copied && is_saved && self.submit.view.is_some() && !self.has_ended()
    }

    /// Whether the job goes on when its client is lost: it has views, and has begun, here or in an earlier view.
    pub(super) fn goes_on_without_client(&self) -> bool {
        let has_begun = match &self.phase {
            Phase::Running(running) => running.has_begun,
            Phase::Gathering(_) => false,
        };
        let view = self.submit.view.as_ref();
        view.is_some_and(|view| has_begun || 1 < view.number)
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

    /// Handles an event of this node or of another one.
    ///
    /// # Errors
    ///
    /// Why this part ends.
    pub(super) fn handle(&mut self, event: JobEvent) -> Result<(), Stop> {
        let running = match &mut self.phase {
            Phase::Running(running) => running,
            Phase::Gathering(_) => return self.gather(event),
        };
        if event.waits() && !running.has_begun {
            running.waiting.push_back(event);
            return Ok(());
        }
        let mut world = running.world.borrow_mut();
        match event {
            JobEvent::State(..) => {
                return Err(JobError::cluster("a state arrived at the wrong time").into());
            }
            JobEvent::Failed(error) => return Err(error.into()),
            JobEvent::PeerGone(..) if world.has_ended() => {}
            JobEvent::PeerGone(host, reason) => {
                drop(world);
                return Err(self.peer_gone(host, reason));
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

    /// Handles an event before there are agents.
    fn gather(&mut self, event: JobEvent) -> Result<(), Stop> {
        let is_restored = self.saved().is_some();
        let Phase::Gathering(gathered) = &mut self.phase else {
            return Ok(());
        };
        match event {
            JobEvent::State(rank, state, bytes) => {
                let is_here = self.rules.placement.get(rank.index()) == Some(&self.submit.host);
                if !is_here || gathered.states.contains_key(&rank) {
                    return Err(JobError::cluster(format!("{rank} does not start here")).into());
                }
                gathered.states.insert(rank, state);
                gathered.bytes = gathered.bytes.saturating_add(bytes);
                self.start_if_complete()
            }
            JobEvent::Failed(error) => Err(error.into()),
            JobEvent::PeerGone(host, reason) => {
                let stop = self.peer_gone(host, reason);
                self.miss(stop)
            }
            JobEvent::Pieces(pieces) if is_restored => {
                self.restore(*pieces);
                Ok(())
            }
            // A node that has all of its processes probes links.
            event @ JobEvent::Message(_) if is_restored => {
                gathered.early.push(event);
                Ok(())
            }
            event if event.is_of_peer() => {
                Err(JobError::cluster("a node sent something at the wrong time").into())
            }
            _ => Ok(()),
        }
    }

    /// While a later view begins, a node that is lost to this one may have left the session because of another one, which the leader
    /// knows before this node can. Only if the leader says nothing, this one does.
    fn miss(&mut self, stop: Stop) -> Result<(), Stop> {
        let is_later = self
            .submit
            .view
            .as_ref()
            .is_some_and(|view| 1 < view.number);
        match (stop, &mut self.phase) {
            (Stop::Suspended(mut lost), Phase::Gathering(gathered)) if is_later => {
                if let Some(lost) = lost.pop() {
                    let at = self.now + MISSED;
                    gathered.missed.get_or_insert((lost, at));
                    return Ok(());
                }
                Err(Stop::Suspended(lost))
            }
            (stop, _) => Err(stop),
        }
    }

    /// Pieces have arrived with which processes start here. A node that sends others is refused.
    fn restore(&mut self, incoming: IncomingPieces) {
        let host = incoming.host;
        match self.check_pieces(incoming) {
            Ok(pieces) => self.actions.push_back(JobAction::Restore(pieces).into()),
            Err(problem) => {
                let error = format!("{} sent {problem}", self.name(host));
                let refuse = JobAction::Refuse(host, problem);
                self.actions.push_back(refuse.into());
                self.stop
                    .get_or_insert_with(|| JobError::cluster(error).into());
            }
        }
    }

    fn check_pieces(&mut self, incoming: IncomingPieces) -> Result<Vec<Piece>, String> {
        let IncomingPieces {
            host,
            ends,
            superstep,
            deltas,
        } = incoming;
        let own = self.submit.host;
        let Some((saved, generation)) = self.saved() else {
            return Err("pieces of a checkpoint".to_owned());
        };
        let is_expected = ends == (Address::Node(host), Address::Node(own));
        check(is_expected && superstep == generation.superstep, || {
            "unexpected pieces of a checkpoint".to_owned()
        })?;
        let holders = saved.holders.clone();
        let deltas = deltas.map_err(|error| error.to_string())?;
        let mut pieces = Vec::new();
        for delta in deltas {
            let piece = delta.apply(None).map_err(|error| error.to_string())?;
            let head = &piece.head;
            let (rank, index) = (head.rank, head.rank.index());
            let is_of_view = (head.job.0.get(), head.generation) == (self.submit.job, generation)
                && self.rules.placement.get(index) == Some(&own)
                && holders.get(index) == Some(&host);
            let is_new = match &mut self.phase {
                Phase::Gathering(gathered) => gathered.restored.insert(rank),
                Phase::Running(_) => false,
            };
            check(is_of_view && is_new, || {
                format!("a piece of {rank} with which it does not start here")
            })?;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// Adds the connection to another node of the job, in its role. A peer that has no part in the job is refused, and the
    /// job goes on.
    ///
    /// # Errors
    ///
    /// If the node runs another build, or an agent is none of the job.
    pub(super) fn admit(&mut self, peer: &NewPeer) -> Result<(), Stop> {
        let members = &self.submit.members;
        let name = peer.info.subject.name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let (own, rules) = (self.submit.host, &self.rules);
        let host = place.map(HostId::from_index);
        let new = match &mut self.phase {
            Phase::Gathering(gathered) => host.filter(|host| {
                *host != own
                    && peer.info.subject.role.serves_as(role_of(rules, *host))
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
        let pieces = self.pieces_for(host)?;
        if let (false, Some((_, generation))) = (pieces.is_empty(), self.saved()) {
            let whole: Vec<Delta> = pieces.iter().map(|piece| piece.delta_from(None)).collect();
            let send = JobAction::SendPieces(host, generation.superstep, whole);
            self.actions.push_back(send.into());
        }
        self.start_if_complete()
    }

    /// What is to be done now.
    ///
    /// # Errors
    ///
    /// Why this part ends.
    pub(super) fn poll(&mut self) -> Result<Option<NodeAction>, Stop> {
        if let Some(action) = self.actions.pop_front() {
            return Ok(Some(action));
        }
        if let Some(stop) = self.stop.take() {
            return Err(stop);
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
        let ready = JobMessage::Ready {
            states: running.bytes,
            free: self.meter.free_memory(),
        };
        let ready = JobAction::SendToClient(frame(own, ready));
        Ok(Some(ready.into()))
    }

    /// Connects to the nodes after this one in the list; those before it connect to this one.
    fn connect_to_others(&mut self) {
        let own = self.submit.host.index();
        for (index, member) in self.submit.members.iter().enumerate().skip(own + 1) {
            let role = role_of(&self.rules, HostId::from_index(index));
            let host = HostId::from_index(index);
            let member = self.routes.reached(member);
            let connect = JobAction::Connect(host, Box::new(member), role);
            self.actions.push_back(connect.into());
        }
    }

    /// Starts the agents once the client has ordered the nodes to connect, and they and all states are here. The client learns
    /// of the states as soon as all are here.
    fn start_if_complete(&mut self) -> Result<(), Stop> {
        let residents = self.rules.on_host[self.submit.host.index()];
        let Phase::Gathering(gathered) = &mut self.phase else {
            return Ok(());
        };
        let has_states = u32::try_from(gathered.states.len()) == Ok(residents);
        if gathered.limit.is_none() || !has_states || gathered.missed.is_some() {
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
        let mut gathered = std::mem::take(gathered);
        let early = std::mem::take(&mut gathered.early);
        self.start(gathered)?;
        early.into_iter().try_for_each(|event| self.handle(event))
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
            bytes,
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
        let kept = std::mem::take(&mut self.kept);
        let places = (self.checkpoints(processors, kept), are_written);
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
        let members = (0..).map(HostId).zip(&self.submit.members);
        let known =
            members.filter_map(|(host, member)| Some((host, *self.links.get(&member.name)?)));
        world.start_probing(&known.collect());
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
            bytes,
            is_ready: false,
            has_begun: false,
            waiting: VecDeque::new(),
            reported: self.now,
            progressed: None,
        });
        Ok(())
    }

    /// The checkpoints of the job on this node, if there are any.
    fn checkpoints(&self, processors: Processors, kept: Generations) -> Option<Checkpoints> {
        let setup = &self.prepared.setup;
        let job = NonZeroU64::new(self.submit.job).map(JobId)?;
        Checkpoints::of_job(
            job,
            self.submit.host,
            setup,
            &self.rules,
            processors.count,
            self.submit.checkpoint.is_some(),
            kept,
        )
    }

    /// Starts all processes here, and handles the events that have waited for it.
    fn begin(&mut self) -> Result<(), Stop> {
        // What the job goes on with is whole only when it is saved again.
        let is_saved = self.submit.view.is_some() && self.rules.resumed.is_some();
        let Phase::Running(running) = &mut self.phase else {
            return Ok(());
        };
        running.has_begun = true;
        let own = self.submit.host;
        let mut world = running.world.borrow_mut();
        let superstep = self.rules.first_superstep();
        world.begin();
        world.deliver_halted();
        let checkpoint = is_saved && world.begin_with_checkpoint(superstep);
        let message = AgentMessage::Start(Start {
            superstep,
            interval: None,
            checkpoint,
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
/// How long a node that has lost another one while a view begins waits for the leader to end the view.
const MISSED: Duration = Duration::from_secs(1);
/// The longest time for which a node waits for a leader.
const WAIT_MAX: Duration = Duration::from_secs(30 * 86_400);
/// How long a node that has done all waits for a leader.
const ENDED_WAIT: Duration = Duration::from_secs(10);
/// The error of a job that its client stops.
pub(super) const STOPPED: &str = "the client has stopped the job";
/// The time between two parts of the record that are sent to the client.
const REPORTING: Duration = Duration::from_millis(50);
/// The time between two messages about how much of a job is done.
const PROGRESSING: Duration = Duration::from_millis(100);
