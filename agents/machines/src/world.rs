//! The world of the agents on a real host.

mod agent_interface;
mod checkpointing;
mod checks;
mod client_link;
mod computation;
mod peer_links;
mod placement_epoch;
mod probe_messages;
mod probing;
mod record_queue;
mod report;
mod timers;
mod transfer_times;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant as Clock;

use agents::mutant::Mutant;
use agents::process_state::ProcessState;
use agents::{Delivery, Event, Mail, Rules, RunError, Setup, mutant};
use bsp::units;
use bsp::{HostId, Rank};
use migbsp::MeasuredMove;
use protocol::transport::PeerInfo;
use protocol::{Address, AgentMessage, EncodedState, Frame, Message, NodeMessage, Step, variant};

use super::checkpoints::Checkpoints;
use super::exchanges::Exchanges;
use super::failure::JobError;
use super::host_meter::HostMeter;
use super::job_progress::JobProgress;
use super::migration::ArrivedProcess;
use super::node::action::JobAction;
use super::node::event::NodeInput;
use super::processors::Processors;
use super::task::Done;
use super::time::seconds;
use client_link::ClientLink;
use computation::Computation;
use peer_links::PeerLinks;
use placement_epoch::PlacementEpoch;
use timers::Timers;
use transfer_times::TransferTimes;

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
    /// Bytes of the states that have left.
    moved: u64,
    actions: VecDeque<JobAction>,
    error: Option<JobError>,
}

impl HostWorld {
    /// The world of `own` in the job that `setup` describes, at `clock`, with the other nodes of the job.
    pub(super) fn new(
        (own, setup, rules): (HostId, &Setup, Arc<Rules>),
        peers: BTreeMap<HostId, Arc<PeerInfo>>,
        (meter, processors): (Rc<dyn HostMeter>, Processors),
        checkpoints: Option<Checkpoints>,
        clock: Clock,
    ) -> Self {
        let hosts = setup.placement.clone();
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
            client: ClientLink::new(own, rules.first_superstep()),
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
            moved: 0,
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
    pub(super) fn handle_sent(&mut self, host: HostId, bytes: u64, took: units::Seconds) {
        self.moved += bytes;
        self.transfers.learn(host, bytes, took);
    }

    /// Handles the result of a superstep that a program has executed. Once all programs here have, their messages are
    /// sent.
    pub(super) fn handle_executed(&mut self, done: Done) {
        let rank = done.rank;
        let mut executed = match self.computation.add_computed(done) {
            Ok(executed) => executed,
            Err(error) => return self.fail(error),
        };
        if let Some(interaction) = executed.interaction.take() {
            self.record(record::Event::Interaction(interaction));
        }
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
        self.step = Step::Transfer;
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
