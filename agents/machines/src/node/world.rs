//! The world of the agents on a real host.

mod client_link;
mod computation;
mod probing;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant as Clock;

use agents::mutant::{self, Mutant};
use agents::process_state::ProcessState;
use agents::{
    Cost, Deliberation, Delivery, Event, Executor, HostProbe, Joining, LinkProber, Mail,
    Membership, Moved, Rules, RunError, RunShape, Setup, Turn, check,
};
use bsp::units::{self, Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, Reductions, SetId, reference};
use checkpoint::{Generations, WrittenPieces};
use client_link::ClientLink;
use computation::Computation;
use model::{ExternalLoad, HostLink, MeasuredMove, Path};
use probing::TransferTimes;
use protocol::transport::{PeerError, PeerInfo, Refusal};
use protocol::{
    Address, AgentMessage, CheckpointMessage, EncodedState, Frame, JobStatus, Message, Migrate,
    NodeMessage, Placed, ProbeLink, Progressed, Start, Step, encode, variant,
};
use record::Names;

use crate::checkpoints::{CheckpointAction, Checkpoints, SavedPiece};
use crate::duration;
use crate::exchanges::Exchanges;
use crate::host_meter::{HostMeter, Processors};
use crate::job_error::JobError;
use crate::migration::ArrivedProcess;
use crate::node::{Done, IncomingPieces, JobAction, JobProgress, NodeInput};
use crate::seconds;

/// The world of the agents on one host, for one job.
///
/// Each part owns its state: the world connects agents, parts and messages.
pub(crate) struct HostWorld {
    own: HostId,
    /// When the event that is handled now happened.
    clock: Clock,
    rules: Arc<Rules>,
    superstep_limit: u64,
    began: Clock,
    meter: Rc<dyn HostMeter>,
    processors: Processors,
    client: ClientLink,
    peers: PeerLinks,
    placement: PlacementEpoch,
    /// Processes whose states name a placement before which another one has not been announced here yet.
    early: BTreeMap<Rank, ArrivedProcess>,
    transfers: TransferTimes,
    computation: Computation,
    timers: Timers,
    exchanges: Exchanges,
    /// The checkpoints, if there are any.
    checkpoints: Option<Checkpoints>,
    /// Processes that wait for the messages of the superstep.
    exchanging: BTreeSet<Rank>,
    /// Whether the barrier of the Manager here goes on: others wait for what it passes on.
    has_barrier: bool,
    /// What the moves of processes took that have arrived and are not installed yet.
    measured: BTreeMap<Rank, MeasuredMove>,
    /// Events of agents here that are to be handled now.
    deliveries: VecDeque<Delivery>,
    /// Where this host is in the protocol, between two supersteps.
    step: Step,
    /// Processes whose agents are not needed here any more.
    departed: Vec<Rank>,
    /// The number of supersteps that have begun here.
    supersteps: u64,
    /// Whether processes are held as soon as they are saved, and the superstep before which they are.
    holds: bool,
    held: Option<u64>,
    /// Bytes of the states that have left.
    moved: u64,
    /// The processes on standby, in rank order.
    standby: Arc<[Rank]>,
    /// If the job awaits hosts: how much of it is done, if the client has not been told.
    progress: Option<Option<Progressed>>,
    actions: VecDeque<JobAction>,
    error: Option<JobError>,
}

impl HostWorld {
    /// The world of `own` in the job that `setup` describes, at `clock`, with the other nodes of the job. If outputs
    /// `are_written`, they are to files of this node; otherwise the client receives them.
    pub(super) fn new(
        (own, setup, rules): (HostId, &Setup, Arc<Rules>),
        peers: BTreeMap<HostId, Arc<PeerInfo>>,
        (meter, processors): (Rc<dyn HostMeter>, Processors),
        (checkpoints, are_written): (Option<Checkpoints>, bool),
        clock: Clock,
    ) -> Self {
        let hosts = setup.placement.clone();
        let awaited = setup.awaited.as_ref();
        let peers = PeerLinks::new(own, peers);
        let exchanges = Exchanges::new(
            own,
            rules.sets.clone(),
            hosts,
            setup.senders_stay(),
            setup.superstep_limit,
        );
        Self {
            own,
            clock,
            superstep_limit: setup.superstep_limit,
            began: clock,
            client: ClientLink::new(own, rules.first_superstep(), are_written),
            placement: PlacementEpoch::new(own, Arc::clone(&rules)),
            early: BTreeMap::new(),
            transfers: TransferTimes::new(Arc::clone(&rules), own, peers.hosts()),
            peers,
            computation: Computation::new(processors),
            timers: Timers::default(),
            exchanges: match &rules.resumed {
                Some(resumed) => exchanges.resume(resumed),
                None => exchanges,
            },
            checkpoints,
            exchanging: BTreeSet::new(),
            has_barrier: rules.barrier.ends_in_each_set() && rules.managers.contains(&own),
            measured: BTreeMap::new(),
            meter,
            processors,
            rules,
            deliveries: VecDeque::new(),
            step: Step::Ready,
            departed: Vec::new(),
            supersteps: 0,
            holds: false,
            held: None,
            moved: 0,
            standby: awaited.map_or_else(Arc::default, |awaited| Arc::clone(&awaited.standby)),
            progress: awaited.map(|_| None),
            actions: VecDeque::new(),
            error: None,
        }
    }

    /// Adds a process that starts here, without its agent.
    pub(super) fn insert_process(&mut self, rank: Rank, state: ProcessState) {
        self.computation.insert(rank, state.program);
        if self.rules.resumed.is_some() {
            self.exchanges.restore_inbox(rank, state.inbox);
        }
    }

    /// Starts the clock of the run.
    pub(super) fn begin(&mut self) {
        self.began = self.clock;
        self.act(JobAction::StartClock);
        self.report_progress(self.rules.first_superstep());
    }

    /// Time has passed: wakes the agents that asked for it.
    pub(super) fn advance(&mut self, clock: Clock) {
        self.clock = clock;
        for agent in self.timers.due(clock) {
            self.deliver(agent, Event::Woken);
        }
    }

    /// When the next agent wants to be woken.
    pub(super) fn next_timeout(&self) -> Option<Clock> {
        self.timers.next()
    }

    /// What is to be done now, for agents first: they handle all events before supersteps are executed.
    ///
    /// # Errors
    ///
    /// The first error of the job, if there is one.
    pub(super) fn poll(&mut self) -> Result<Option<JobAction>, JobError> {
        if let Some(action) = self.actions.pop_front() {
            return Ok(Some(action));
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if !self.deliveries.is_empty() {
            let deliveries = std::mem::take(&mut self.deliveries);
            return Ok(Some(JobAction::Deliver(deliveries)));
        }
        if !self.departed.is_empty() {
            let departed = std::mem::take(&mut self.departed);
            return Ok(Some(JobAction::Release(departed)));
        }
        if let Some(tasks) = self.computation.take_starting() {
            return Ok(Some(JobAction::Execute(tasks)));
        }
        self.end_if_complete();
        if self.client.is_full() {
            self.send_record();
        }
        Ok(self.actions.pop_front())
    }

    /// Adds an event for an agent here.
    pub(super) fn deliver(&mut self, to: Address, event: Event) {
        self.deliveries.push_back(Delivery { to, event });
    }

    /// How far the job is here.
    pub(super) fn progress(&self) -> JobProgress {
        JobProgress {
            // A host that all processes have left hears of no superstep but the last one.
            superstep: self.exchanges.supersteps().unwrap_or(self.supersteps),
            processes: self.exchanges.living_here(),
            calls: self.client.calls(),
            notes: self.client.notes().first(JobStatus::NOTES_MAX),
        }
    }

    /// Where this host is in the protocol.
    pub(super) fn step(&self) -> Step {
        if self.has_ended() {
            return Step::End;
        }
        let of_checkpoint = self.checkpoints.as_ref().and_then(Checkpoints::step);
        let of_exchange = || self.exchanges.step();
        of_checkpoint.or_else(of_exchange).unwrap_or(self.step)
    }

    /// Handles a message from another node.
    pub(super) fn handle_message(&mut self, input: NodeInput) {
        let NodeInput {
            host,
            ends: (from, to),
            message,
            arrived,
            transport,
            memory,
        } = input;
        match message {
            Message::Node(NodeMessage::Batch(batch)) => {
                let bytes = u64::try_from(batch.payload.len()).expect("lengths fit 64 bits");
                let now = seconds(arrived.saturating_duration_since(self.began));
                let times = (batch.sent, now);
                let took = self.transfers.add_batch(host, bytes, times, transport);
                let received = self.exchanges.receive(host, *batch, took, memory);
                self.check_peer(host, received);
                self.send_acknowledgements();
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::BatchAcknowledged(superstep)) => {
                let acknowledged = self.exchanges.acknowledged(host, superstep);
                self.check_peer(host, acknowledged);
                self.deliver_exchanges();
            }
            Message::Node(NodeMessage::Placed(placed)) => {
                let size = self.exchanges.size();
                let checked = self.placement.check(from, &placed, size);
                match checked.and_then(|()| self.check_residents(&placed.moves)) {
                    Ok(()) => self.place(placed.epoch, &placed.moves),
                    Err(problem) => self.refuse(Address::Node(host), problem),
                }
            }
            Message::Node(NodeMessage::Probe(probe)) => self.handle_probe(host, &probe, arrived),
            Message::Node(NodeMessage::Checkpoint(superstep, message)) => {
                self.handle_checkpoint((host, superstep), message);
            }
            Message::Job(message) => {
                let problem = format!("{}, a message of a client", variant(&message));
                self.refuse(Address::Node(host), problem);
            }
            Message::Agent(message) => self.deliver_from(host, (from, to), message),
        }
    }

    /// A process has arrived that moves here. It waits until the placement before its own has been announced here, which
    /// says where the process comes from. Its agent follows when the node's agent installs it.
    pub(super) fn handle_process(&mut self, process: ArrivedProcess) {
        let (host, rank, epoch) = (process.host, process.head.rank, process.head.epoch);
        let is_between_nodes = process.ends == (Address::Node(host), Address::Node(self.own));
        let is_known = !self.placement.is_before(epoch) || mutant::is(Mutant::RefuseEarlyImage);
        let is_first = !self.early.contains_key(&rank);
        if !is_known && is_between_nodes && is_first && rank.0 < self.exchanges.size() {
            self.early.insert(rank, process);
            return;
        }
        let is_expected = is_known
            && is_between_nodes
            && self.exchanges.host_of(rank) == Some(host)
            && !self.computation.contains(rank)
            && process.decoded.parts.agent == units::Bytes(process.head.agent.into());
        if is_expected {
            self.receive_process(process);
        } else {
            let problem = format!("an unexpected state of {rank}");
            self.refuse(Address::Node(host), problem);
        }
    }

    /// The state of a process has reached `host`.
    pub(super) fn handle_sent(&mut self, host: HostId, bytes: u64, took: Seconds) {
        self.moved += bytes;
        self.transfers.learn(host, bytes, took);
    }

    /// Handles the result of a superstep that a program has executed. Once all programs here have, their messages are
    /// sent.
    pub(super) fn handle_executed(&mut self, mut done: Done) {
        let rank = done.rank;
        for snapshot in std::mem::take(&mut done.snapshots) {
            self.record(record::Event::Snapshot(snapshot));
        }
        let executed = match self.computation.add_computed(done) {
            Ok(executed) => executed,
            Err(error) => return self.fail(error),
        };
        if let Some(output) = &executed.output {
            self.client.add_output(rank, output.clone());
            if let Some(checkpoints) = &mut self.checkpoints {
                let superstep = self.supersteps.saturating_sub(1);
                checkpoints.halt(rank, (superstep, executed.charged), output.clone());
            }
        }
        if let Err(error) = self.exchanges.computed(rank, executed) {
            return self.fail(error);
        }
        if self.exchanges.all_computed() {
            self.send_batches();
            for (rank, event) in self.computation.finish(self.clock) {
                self.deliver(Address::Process(rank), event);
            }
            self.report_progress(self.supersteps);
        }
    }

    /// If the job awaits hosts, the client is to be told how much of it is done after `completed` supersteps.
    fn report_progress(&mut self, completed: u64) {
        if let Some(progress) = &mut self.progress {
            *progress = Some(self.computation.progressed(completed));
        }
    }

    fn send_batches(&mut self) {
        let now = self.lasted();
        for (host, batch) in self.exchanges.batches(self.peers.hosts(), now) {
            self.send_to_node(host, NodeMessage::Batch(Box::new(batch)));
        }
        self.send_acknowledgements();
    }

    fn send_acknowledgements(&mut self) {
        for (host, superstep) in self.exchanges.acknowledgements() {
            self.send_to_node(host, NodeMessage::BatchAcknowledged(superstep));
        }
    }

    /// Delivers the messages of the superstep to all processes here, once all batches have arrived and all processes
    /// wait for them.
    fn deliver_exchanges(&mut self) {
        if !self.exchanges.is_awaited_by(self.exchanging.len()) {
            return;
        }
        match self.exchanges.complete() {
            Ok(None) => {}
            Ok(Some(exchanged)) => {
                self.exchanging.clear();
                for (rank, exchange) in exchanged {
                    self.deliver(Address::Process(rank), Event::Exchanged(exchange));
                }
            }
            Err(error) => self.fail(error),
        }
    }

    fn receive_process(&mut self, process: ArrivedProcess) {
        let ArrivedProcess {
            ends: (from, to),
            head,
            decoded,
            transfer,
            round_trip,
            memory,
            ..
        } = process;
        let (rank, epoch) = (head.rank, head.epoch);
        let (took, times) = transfer.times(round_trip);
        let ProcessState {
            program,
            agent,
            inbox,
        } = decoded.state;
        self.computation.insert(rank, program);
        self.exchanges.insert_inbox(rank, inbox);
        let moved = record::Moved {
            at: self.now(),
            rank,
            host: self.own,
            epoch,
            bytes: units::Bytes(decoded.bytes),
            took,
            times: Some(times),
            parts: Some(decoded.parts),
            declared: head.declared.filter(MeasuredMove::is_possible_size),
        };
        self.measured.insert(rank, moved.measured());
        self.record(record::Event::Moved(moved));
        let message = AgentMessage::State(Box::new(EncodedState {
            payload: agent.into(),
            ..head
        }));
        self.deliver(to, Event::Message { from, message });
        drop(memory);
    }

    /// Begins the placement of `epoch`, in which `moves` run on other hosts.
    fn place(&mut self, epoch: u64, moves: &[(Rank, HostId)]) {
        for (rank, host) in moves {
            if mutant::is(Mutant::KeepOldPlacement) && *host != self.own {
                continue;
            }
            self.exchanges.place(*rank, *host);
        }
        self.step = Step::Commit;
        // Without the processes that left, all batches of this host may be complete.
        self.send_acknowledgements();
        self.placement.advance(epoch);
        self.act(JobAction::AdvanceEpoch(epoch));
        let placement = &self.placement;
        let is_known =
            |_: &Rank, process: &mut ArrivedProcess| !placement.is_before(process.head.epoch);
        let known: Vec<(Rank, ArrivedProcess)> = self.early.extract_if(.., is_known).collect();
        for (_, process) in known {
            self.handle_process(process);
        }
    }

    fn act(&mut self, action: JobAction) {
        self.actions.push_back(action);
    }

    fn send_to_node(&mut self, host: HostId, message: NodeMessage) {
        let sent = self.peers.frame_to_node(host, message);
        self.send_frame(host, sent);
    }

    fn send_frame(&mut self, host: HostId, frame: Result<Frame, JobError>) {
        match frame {
            Ok(frame) => self.act(JobAction::Send(host, frame)),
            Err(error) => self.check(Err::<(), _>(error)),
        }
    }

    /// The host of an agent, if the agent exists.
    fn host_of(&self, agent: Address) -> Option<HostId> {
        match agent {
            Address::Process(rank) => self.exchanges.host_of(rank),
            Address::Node(host) => Some(host),
            Address::SetManager(set) => self.rules.managers.get(set.index()).copied(),
            Address::Client => None,
        }
    }

    /// Keeps the error of a message from `host`. A violation of the protocol closes the connection.
    fn check_peer(&mut self, host: HostId, result: Result<(), RunError>) {
        match result {
            Err(RunError::Peer(problem)) => self.refuse(Address::Node(host), problem),
            other => self.check(other),
        }
    }

    /// Keeps the first error, which ends the job.
    fn check(&mut self, result: Result<(), impl Into<JobError>>) {
        if let Err(error) = result {
            self.error.get_or_insert_with(|| error.into());
        }
    }
}

impl Mail for HostWorld {
    fn now(&self) -> Instant {
        Instant::START + self.lasted()
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, _: Cost) {
        self.step = message.step();
        match self.host_of(to) {
            Some(host) if host == self.own => self.deliver(to, Event::Message { from, message }),
            Some(host) => {
                let frame = self.peers.frame(host, from, to, &message.into());
                self.send_frame(host, frame);
            }
            None => self.fail(RunError::Peer(format!("{from:?} has a message for {to:?}"))),
        }
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        let at = self.clock.checked_add(duration(after));
        // No run lasts as long as the clock of the system goes.
        if let Some(at) = at {
            self.timers.add(at, agent);
        }
    }

    fn flush(&mut self, set: SetId) {
        // Messages keep their order, so those sent before have arrived.
        self.deliver(Address::SetManager(set), Event::Flushed);
    }

    fn record(&mut self, event: record::Event) {
        if let record::Event::Superstep(superstep) = &event {
            self.elapse(superstep);
        }
        self.meter.count(&event);
        self.client.record(&event);
    }

    fn refuse(&mut self, from: Address, problem: String) {
        let host = self.host_of(from);
        let peer = host.and_then(|host| Some((host, self.peers.info(host)?)));
        let error = match peer {
            Some((host, info)) => {
                let error = PeerError::Refused {
                    peer: Arc::clone(info),
                    source: Refusal::Content(problem.clone()),
                };
                self.act(JobAction::Refuse(host, problem));
                error.into()
            }
            None => RunError::Peer(format!("{from:?}: {problem}")).into(),
        };
        self.check(Err::<(), JobError>(error));
    }

    fn fail(&mut self, error: RunError) {
        self.check(Err::<(), _>(error));
    }
}

impl Executor for HostWorld {
    fn run(
        &mut self,
        rank: Rank,
        superstep: u64,
        elapsed: Seconds,
        delay: Seconds,
        reduced: Option<Arc<Reductions>>,
    ) {
        if self.superstep_limit <= superstep {
            let limit = self.superstep_limit;
            // All nodes name the same process.
            let rank = self.exchanges.first_running().unwrap_or(rank);
            return self.fail(reference::Error::NeverHalts { rank, limit }.into());
        }
        self.supersteps = superstep + 1;
        self.pass_checkpoint(superstep);
        let begun = self.exchanges.begin(superstep);
        let started = begun.and_then(|()| {
            let turn = Turn {
                rank,
                size: self.exchanges.size(),
                superstep,
                elapsed,
                inbox: self.exchanges.remove_inbox(rank),
                standby: Arc::clone(&self.standby),
                reduced,
            };
            let is_held = self.held == Some(superstep);
            self.computation.start(turn, delay, is_held)
        });
        self.check(started);
    }

    fn exchange(&mut self, rank: Rank) {
        self.exchanging.insert(rank);
        self.deliver_exchanges();
    }

    fn checkpoint(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        self.save(rank, superstep, agent);
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        let Migrate { rank, to, .. } = order;
        let program = self.computation.remove(rank);
        let Some(program) = program.filter(|_| self.peers.info(to).is_some()) else {
            let problem = format!("{rank} cannot move to {to}: one of them is not in this job");
            return self.fail(RunError::Peer(problem));
        };
        self.departed.push(rank);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.leave(rank);
        }
        let process = ProcessState {
            agent,
            inbox: if mutant::is(Mutant::LeaveInbox) {
                Vec::new()
            } else {
                self.exchanges.leave(rank)
            },
            program,
        };
        self.step = Step::Transfer;
        self.act(JobAction::Depart(order, Box::new(process)));
    }

    fn install(&mut self, host: HostId, from: Address, state: EncodedState) {
        let Some(measured) = self.measured.remove(&state.rank) else {
            let problem = format!("a state of {}, which has arrived already", state.rank);
            return self.refuse(from, problem);
        };
        let moved = Moved {
            from,
            agent: state.payload,
            host,
            epoch: state.epoch,
            measured,
        };
        self.deliver(Address::Process(state.rank), Event::Moved(Box::new(moved)));
    }

    fn memory(&self, rank: Rank) -> MemorySize {
        self.computation.memory(rank)
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.computation.remaining(rank, completed)
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        self.step = Step::Plan;
        self.act(JobAction::Plan(set, Box::new(deliberation)));
    }
}

impl HostProbe for HostWorld {
    fn processors(&self, _: HostId) -> (InstructionsPerSecond, u32) {
        let Processors { count, speed } = self.processors;
        (speed, count.get())
    }

    fn load(&mut self, _: HostId, window: Seconds) -> f64 {
        self.meter.load(window)
    }

    fn effective_load(&mut self, host: HostId, window: Seconds) -> f64 {
        let effective = self.computation.effective_load(self.clock, window);
        let effective = effective.filter(|_| self.meter.is_a_host());
        effective.unwrap_or_else(|| self.load(host, window))
    }

    fn unavailable(&mut self, _: HostId, window: Seconds) -> f64 {
        self.meter.unavailable(window)
    }

    fn busy_periods(&mut self, _: HostId, window: Seconds) -> u64 {
        self.meter.busy_periods(window)
    }

    fn ages(&mut self, _: HostId) -> Vec<Seconds> {
        let mut ages = self.meter.ages();
        ages.truncate(ExternalLoad::AGES_MAX);
        ages
    }

    fn overhead_busy(&self, _: HostId) -> Seconds {
        self.meter.overhead()
    }

    fn transfer_rate(&self, _: SetId, to: SetId) -> f64 {
        self.transfers.per_byte(to)
    }

    fn path(&self, _: SetId, to: SetId) -> Path {
        Path {
            latency: self.transfers.latency(to),
            per_byte: self.transfers.per_byte(to),
            shared_per_byte: None,
        }
    }

    fn links(&self, host: HostId) -> Vec<HostLink> {
        let links = self.transfers.to_hosts();
        let link = |(to, per_byte)| HostLink {
            from: host,
            to,
            per_byte,
        };
        links.map(link).collect()
    }

    fn link_prober(&mut self) -> Option<&mut dyn LinkProber> {
        Some(self)
    }
}

impl LinkProber for HostWorld {
    fn probe(&mut self, order: ProbeLink, by: Address) {
        self.order_probe(order, by);
    }
}

impl Membership for HostWorld {
    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]) {
        if !self.placement.is_announced_by(set) {
            return;
        }
        let ends = moves.iter().flat_map(|order| [order.from, order.to]);
        let concerned: Vec<HostId> = ends.collect();
        let moves: Vec<(Rank, HostId)> = moves.iter().map(|order| (order.rank, order.to)).collect();
        self.place(epoch, &moves);
        let placed = Message::Node(NodeMessage::Placed(Box::new(Placed { epoch, moves })));
        for host in self.placement.receivers(set) {
            if mutant::is(Mutant::AnnounceToFew) && !concerned.contains(&host) {
                continue;
            }
            let (from, to) = (Address::SetManager(set), Address::Node(host));
            let frame = self.peers.frame(host, from, to, &placed);
            self.send_frame(host, frame);
        }
    }

    fn is_checkpoint_due(&mut self, completed: u64) -> bool {
        let now = self.now();
        let checkpoints = self.checkpoints.as_mut();
        checkpoints.is_some_and(|checkpoints| checkpoints.decide(completed, now, self.holds))
    }

    fn finished(&mut self, rank: Rank) {
        self.departed.push(rank);
        let delivery = self.client.deliver_output(rank);
        self.act(delivery);
    }

    fn joining(&mut self, _: u64) -> Option<Joining> {
        // A host joins with another view of the job.
        None
    }

    fn released(&mut self, _: SetId, start: &Start, is_over: bool) -> bool {
        let now = self.now();
        if let Some(checkpoints) = self.checkpoints.as_mut().filter(|_| start.checkpoint) {
            checkpoints.note(start.superstep, now);
        }
        self.has_barrier &= !is_over;
        true
    }
}

impl HostWorld {
    /// Checks that the processes that `moves` places here or elsewhere have arrived or left.
    fn check_residents(&self, moves: &[(Rank, HostId)]) -> Result<(), String> {
        moves.iter().try_for_each(|(rank, to)| {
            let is_here = self.computation.contains(*rank);
            let was_here = self.exchanges.host_of(*rank) == Some(self.own);
            let is_consistent = if *to == self.own {
                is_here
            } else {
                !was_here || !is_here
            };
            check(is_consistent, || {
                format!("a placement of {rank} on {to}, where it has not moved")
            })
        })
    }

    /// Delivers a message of an agent on `host`, if its sender runs there.
    fn deliver_from(
        &mut self,
        host: HostId,
        (from, to): (Address, Address),
        message: AgentMessage,
    ) {
        let rules = Arc::clone(&self.rules);
        let shape = RunShape {
            rules: &rules,
            superstep_limit: self.superstep_limit,
        };
        let checked = shape.check_message((from, to), &message);
        let checked = checked.and_then(|()| {
            check(self.host_of(from) == Some(host), || {
                format!("a message of {from:?}, which does not run there")
            })?;
            check(self.host_of(to) == Some(self.own), || {
                format!("a message to {to:?}, which does not run here")
            })
        });
        match checked {
            Ok(()) => {
                self.step = message.step();
                self.deliver(to, Event::Message { from, message });
            }
            Err(problem) => self.refuse(Address::Node(host), problem),
        }
    }
}

/// The other nodes of a job.
struct PeerLinks {
    own: HostId,
    peers: BTreeMap<HostId, Arc<PeerInfo>>,
}

impl PeerLinks {
    /// The nodes that `own` is connected to, by host.
    const fn new(own: HostId, peers: BTreeMap<HostId, Arc<PeerInfo>>) -> Self {
        Self { own, peers }
    }

    /// The hosts of the other nodes.
    fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.peers.keys().copied()
    }

    /// The node of `host`.
    fn info(&self, host: HostId) -> Option<&Arc<PeerInfo>> {
        self.peers.get(&host)
    }

    /// The frame of `message` to an agent on `host`.
    ///
    /// # Errors
    ///
    /// If there is no such node.
    fn frame(
        &self,
        host: HostId,
        from: Address,
        to: Address,
        message: &Message,
    ) -> Result<Frame, JobError> {
        if !self.peers.contains_key(&host) {
            let problem = format!("{from:?} has a message for {to:?} on {host}");
            return Err(RunError::Peer(problem).into());
        }
        Ok(encode(from, to, message))
    }

    /// The frame of `message` to the node of `host`.
    ///
    /// # Errors
    ///
    /// If there is no such node.
    fn frame_to_node(&self, host: HostId, message: NodeMessage) -> Result<Frame, JobError> {
        let (from, to) = (Address::Node(self.own), Address::Node(host));
        self.frame(host, from, to, &Message::Node(message))
    }
}

/// The epoch of the placement on one node.
struct PlacementEpoch {
    own: HostId,
    rules: Arc<Rules>,
    /// The number of times that the placement has changed.
    epoch: u64,
}

impl PlacementEpoch {
    /// The epoch of the initial placement.
    const fn new(own: HostId, rules: Arc<Rules>) -> Self {
        Self {
            own,
            rules,
            epoch: 0,
        }
    }

    /// Whether the Manager of `set` announces placements: the one that starts supersteps does, so that the
    /// announcement arrives first.
    fn is_announced_by(&self, set: SetId) -> bool {
        self.rules.barrier.root(set) == set
    }

    /// The other hosts to which the Manager of `set` announces placements.
    fn receivers(&self, set: SetId) -> Vec<HostId> {
        let sets = self.rules.sets.iter().enumerate();
        let receivers = sets.filter(|(_, other)| self.rules.barrier.root(**other) == set);
        let hosts = receivers.map(|(index, _)| HostId::from_index(index));
        hosts.filter(|host| *host != self.own).collect()
    }

    /// Checks that `placed` is the next placement of `processes` processes, and that `from` may announce it here.
    fn check(&self, from: Address, placed: &Placed, processes: u32) -> Result<(), String> {
        let own_set = self.rules.sets[self.own.index()];
        let hosts = self.rules.sets.len();
        let is_next = from == Address::SetManager(self.rules.barrier.root(own_set))
            && Some(placed.epoch) == self.epoch.checked_add(1);
        let mut moves = placed.moves.iter();
        if is_next && moves.all(|(rank, host)| rank.0 < processes && host.index() < hosts) {
            return Ok(());
        }
        Err(format!(
            "placement {} by {from:?}, which is not the next one",
            placed.epoch
        ))
    }

    /// Whether a placement is still to be announced here before that of `epoch`.
    fn is_before(&self, epoch: u64) -> bool {
        self.epoch.saturating_add(1) < epoch
    }

    /// Begins `epoch`.
    const fn advance(&mut self, epoch: u64) {
        self.epoch = epoch;
    }
}

/// When agents want to be woken, in the order of these dates.
#[derive(Debug, Default)]
struct Timers {
    agents: BTreeMap<(Clock, u64), Address>,
    /// The number of timers so far: those of one date go off in the order in which they were added.
    added: u64,
}

impl Timers {
    /// `agent` is to be woken at `at`.
    fn add(&mut self, at: Clock, agent: Address) {
        self.agents.insert((at, self.added), agent);
        self.added += 1;
    }

    /// The next date.
    fn next(&self) -> Option<Clock> {
        self.agents.keys().next().map(|(at, _)| *at)
    }

    /// Removes the agents that are to be woken by `now`.
    fn due(&mut self, now: Clock) -> Vec<Address> {
        let later = self.agents.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.agents, later);
        due.into_values().collect()
    }
}

impl HostWorld {
    /// The pieces here, if there are checkpoints.
    pub(crate) fn generations(&self) -> Option<&Generations> {
        self.checkpoints.as_ref().map(Checkpoints::generations)
    }

    /// There are no checkpoints, whatever the experiment says.
    pub(super) fn save_nothing(&mut self) {
        self.checkpoints = None;
    }

    /// A checkpoint is due as soon as there can be one, and no superstep is executed after it: the job goes on in another view.
    pub(super) const fn hold(&mut self) {
        self.holds = true;
    }

    /// Takes the pieces here away.
    pub(super) fn take_generations(&mut self) -> Generations {
        let checkpoints = self.checkpoints.as_mut();
        checkpoints.map_or_else(Generations::default, Checkpoints::take_generations)
    }

    /// The job goes on with `superstep`, and is saved before that if there are checkpoints. Whether there are.
    pub(super) fn begin_with_checkpoint(&mut self, superstep: u64) -> bool {
        let now = self.now();
        let checkpoints = self.checkpoints.as_mut();
        checkpoints
            .map(|checkpoints| checkpoints.begin_at_start(superstep, now))
            .is_some()
    }

    /// Saves the state of `rank` before `superstep`, when that is executed.
    fn save(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        let now = self.now();
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        if !checkpoints.has_begun(superstep) {
            let running = self.exchanges.residents();
            let begun = checkpoints.begin(superstep, now, running);
            self.check(begun.map_err(RunError::Peer));
        }
        if let Some(checkpoints) = &self.checkpoints {
            let inbox = self.exchanges.inbox(rank).to_vec();
            let work = self.computation.work(rank);
            let saving = checkpoints.saving((rank, superstep), agent, inbox, work);
            self.computation.save(saving);
        }
        if let Some(checkpoints) = self.checkpoints.as_mut().filter(|_| self.holds) {
            checkpoints.hold();
            self.held = Some(superstep);
        }
        self.go_on_with_checkpoint();
    }

    /// The state of a process has been saved.
    pub(crate) fn handle_saved(&mut self, saved: SavedPiece) {
        if let Some(checkpoints) = &mut self.checkpoints {
            let added = checkpoints.add_saved(saved);
            self.check(added.map_err(RunError::Peer));
        }
        self.go_on_with_checkpoint();
    }

    /// The file of this node is written, or cannot be.
    pub(crate) fn handle_written(&mut self, superstep: u64, file: Result<WrittenPieces, String>) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.handle_written(superstep, file);
        }
        self.go_on_with_checkpoint();
    }

    /// A checkpoint is complete on disk, or cannot be.
    pub(crate) fn handle_checkpoint_finished(
        &mut self,
        superstep: u64,
        finished: Result<(), String>,
    ) {
        let now = self.now();
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.handle_finished(superstep, finished, now);
        }
        self.go_on_with_checkpoint();
    }

    /// Pieces of another node have arrived.
    pub(crate) fn handle_pieces(&mut self, pieces: IncomingPieces) {
        let IncomingPieces {
            host,
            ends,
            superstep,
            deltas,
        } = pieces;
        let added = match &mut self.checkpoints {
            Some(checkpoints) if ends == (Address::Node(host), Address::Node(self.own)) => deltas
                .map_err(|error| error.to_string())
                .and_then(|deltas| checkpoints.add_pieces((host, superstep), deltas)),
            Some(_) | None => Err("unexpected pieces of a checkpoint".to_owned()),
        };
        if let Err(problem) = added {
            self.refuse(Address::Node(host), problem);
        }
        self.go_on_with_checkpoint();
    }

    /// Handles a message of the node of a host about the checkpoint before a superstep.
    fn handle_checkpoint(&mut self, from: (HostId, u64), message: CheckpointMessage) {
        let is_idle = self.computation.is_empty() && self.exchanges.step().is_none();
        let may_start = !is_idle && self.supersteps <= from.1;
        let situation = (self.now(), may_start);
        let shape = RunShape {
            rules: &self.rules,
            superstep_limit: self.superstep_limit,
        };
        let handled = shape
            .superstep(from.1)
            .and_then(|()| match &mut self.checkpoints {
                Some(checkpoints) => checkpoints.handle_message(from, message, situation),
                None => Err("a message about a checkpoint, of which there are none".to_owned()),
            });
        if let Err(problem) = handled {
            self.refuse(Address::Node(from.0), problem);
        }
        self.go_on_with_checkpoint();
    }

    /// A process here starts `superstep`.
    fn pass_checkpoint(&mut self, superstep: u64) {
        let now = self.now();
        if let Some(checkpoints) = &mut self.checkpoints {
            let passed = checkpoints.pass(superstep, now);
            self.check(passed.map_err(RunError::Peer));
            self.go_on_with_checkpoint();
        }
    }

    /// A superstep has been recorded here.
    fn elapse(&mut self, superstep: &record::Superstep) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.elapse(superstep.index, superstep.ended - superstep.started);
        }
    }

    /// Does what the checkpoint needs now.
    fn go_on_with_checkpoint(&mut self) {
        let now = self.now();
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        checkpoints.report_if_saved(now);
        while let Some(action) = self.checkpoints.as_mut().and_then(|it| it.poll()) {
            match action {
                CheckpointAction::Send(host, superstep, message) => {
                    self.send_to_node(host, NodeMessage::Checkpoint(superstep, message));
                }
                CheckpointAction::SendPieces(host, superstep, deltas) => {
                    self.act(JobAction::SendPieces(host, superstep, deltas));
                }
                CheckpointAction::Write(generation, pieces) => {
                    self.act(JobAction::WritePieces(generation, pieces));
                }
                CheckpointAction::Finish(generation, files) => {
                    self.act(JobAction::FinishCheckpoint(generation, files));
                }
                CheckpointAction::Record(checkpoint) => {
                    let is_held = checkpoint.held;
                    self.record(record::Event::Checkpoint(checkpoint));
                    if is_held {
                        // Processes stand still until the client knows of it.
                        self.send_record();
                    }
                }
            }
        }
    }
}
