//! The world of simulated agents.
//!
//! # The end of supersteps, and those that repeat earlier ones
//!
//! Where one Manager ends supersteps, the world knows when it [starts](agents::Membership::released) the next one.
//! If that repeats an earlier one, the Manager sends nothing. Agents handle the events of the course instead: each process
//! that observes its supersteps what happened to it, in the order of arrival, and the Manager one arrival for all. What
//! processes ask for meanwhile has been done, and is known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use agents::{
    Cost, Deliberated, Deliberation, Delivery, Event, Exchange, Executor, HostProbe, Joining,
    LinkProber, Mail, Membership, Moved, Outcome, Payment, Rules, RunError, Setup,
    SimulatedPrograms, TransferStart, buddies,
};
use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, Reductions, SetId};
use model::{ExternalLoad, HostLink, MeasuredMove, Path};
use protocol::{Address, AgentMessage, Arrived, EncodedState, Migrate, Start};
use sha2::{Digest, Sha256};
use simulator::{Activity, Engine, LinkId, Platform};

use crate::attainable::Attainable;
use crate::checkpoints::{Checkpoints, Encoded};
use crate::link_probes;
use crate::pool::{Pool, Situation};
use crate::repetition::{Course, ProcessCourse, Repetition};
use crate::supersteps::Supersteps;
use crate::traffic::{Observing, Passage, Traffic};
use crate::transfers::{BarrierMessage, Ends, OnNetwork, Release, Rendezvous, Transfer, Transfers};

/// A platform under a simulated clock, with the programs and all activities in progress.
pub(super) struct SimulatedWorld {
    platform: Arc<Platform>,
    engine: Engine,
    start: TransferStart,
    rules: Arc<Rules>,
    supersteps: Supersteps,
    repetition: Repetition,
    /// The superstep that passes as an earlier one did.
    replay: Option<Replay>,
    /// The time of the event of such a superstep that a process handles.
    replayed: Option<Instant>,
    /// The processes that have not halted, where one Manager ends supersteps.
    living: u32,
    /// The arrivals so far in this superstep, where one Manager ends it.
    arrived: Option<Arrived>,
    /// The host of each process.
    hosts: Vec<HostId>,
    /// The host where each process started, if its messages count for the Set of that host throughout.
    starts: Option<Vec<HostId>>,
    traffic: Traffic,
    transfers: Transfers,
    /// What the moves of processes took that have arrived and are not installed yet.
    measured: BTreeMap<Rank, MeasuredMove>,
    rendezvous: Rendezvous,
    /// The plan that is being made.
    deliberated: Option<Box<Deliberated>>,
    /// The hosts that may join, if there are any.
    pool: Option<Pool>,
    /// When the state of the run is saved, if it is.
    checkpoints: Option<Checkpoints>,
    /// Events at this instant, without any delay.
    deliveries: Deliveries,
    release: Release,
    ended: Vec<Activity>,
    finished: usize,
    finished_at: Instant,
    recorded: Recorded,
    error: Option<RunError>,
}

/// What an activity of the simulator stands for.
#[derive(Clone, Copy)]
enum ActivityKind {
    /// The computation of a process.
    Computation = 0,
    /// A message between programs.
    Flight = 1,
    /// A message between agents.
    Transfer = 2,
    /// The deferred cost of a process.
    Delay = 3,
    /// The pause of a Manager.
    WakeManager = 4,
    /// The stall of a process in a checkpoint.
    Stall = 5,
    /// The encoding of the state of a process on a host, in a checkpoint.
    Encoding = 6,
    /// The states of a host on the way to its buddy.
    Copy = 7,
    /// The plan of a Manager.
    Planning = 8,
}

impl SimulatedWorld {
    pub(super) fn new(
        setup: &Setup,
        rules: Arc<Rules>,
        programs: Box<dyn SimulatedPrograms>,
    ) -> Self {
        let size = setup.placement.len();
        let rendezvous = Rendezvous::new(setup.start, &rules);
        let repetition = Repetition::new(setup);
        Self {
            platform: Arc::clone(&setup.platform),
            engine: Engine::new(Arc::clone(&setup.platform), setup.network),
            start: setup.start,
            rules,
            supersteps: Supersteps::new(programs, size),
            repetition,
            replay: None,
            replayed: None,
            living: u32::try_from(size).expect("ranks fit 32 bits"),
            arrived: None,
            hosts: setup.placement.clone(),
            starts: setup.senders_stay().then(|| setup.placement.clone()),
            traffic: Traffic::new(size, Observing::new(setup)),
            transfers: Transfers::new(setup.platform.sets().len()),
            measured: BTreeMap::new(),
            rendezvous,
            deliberated: None,
            pool: setup.elasticity.clone().map(Pool::new),
            checkpoints: setup
                .checkpointing
                .map(|checkpointing| Checkpoints::new(checkpointing, &setup.placement)),
            deliveries: Deliveries::default(),
            release: Release::default(),
            ended: Vec::new(),
            finished: 0,
            finished_at: Instant::START,
            recorded: Recorded::new(setup),
            error: None,
        }
    }

    /// Lets all processes start the first superstep.
    pub(super) fn begin(&mut self) {
        let start = AgentMessage::Start(Start {
            superstep: 0,
            interval: None,
            checkpoint: false,
            reduced: None,
        });
        let from = Address::SetManager(self.rules.first);
        for rank in (0..self.hosts.len()).map(Rank::from_index) {
            self.send(from, Address::Process(rank), start.clone(), Cost::Free);
        }
    }

    /// Adds an event that is to be handled now.
    fn deliver(&mut self, delivery: Delivery) {
        self.deliveries.push(Due::Other(delivery));
    }

    /// The next event and its agent; `None` when all processes have finished and all supersteps are recorded, or the run has
    /// failed. `handle` has processes handle the events of a superstep that passes as an earlier one did.
    pub(super) fn next(
        &mut self,
        handle: &mut dyn FnMut(Rank, Event, &mut Self),
    ) -> Option<Delivery> {
        loop {
            if self.error.is_some() {
                return None;
            }
            if let Some(due) = self.deliveries.pop() {
                return Some(self.delivery(due));
            }
            if let Some(replay) = self.replay.take() {
                return Some(self.pass(replay, handle));
            }
            self.advance()?;
        }
    }

    /// An event that is due, and its agent.
    fn delivery(&mut self, due: Due) -> Delivery {
        let delivery = match due {
            Due::Computed(rank) => Delivery {
                to: Address::Process(rank),
                event: self.supersteps.computed(rank),
            },
            Due::Exchanged(rank) => Delivery {
                to: Address::Process(rank),
                event: Event::Exchanged(self.exchange_of(rank)),
            },
            Due::Barrier(message) => {
                let rank = message.rank();
                let reductions = match message {
                    BarrierMessage::Arrived(_) => self.supersteps.take_reductions(rank),
                    _ => Reductions::default(),
                };
                let ends = Ends::new(&self.rules, &self.supersteps, &self.hosts, rank);
                let (from, to, message) = message.received(ends, reductions, &mut self.release);
                Delivery {
                    to,
                    event: Event::Message { from, message },
                }
            }
            Due::Other(delivery) => delivery,
        };
        if let Event::Message {
            from,
            message: AgentMessage::Arrived(arrived),
        } = &delivery.event
            && matches!(delivery.to, Address::SetManager(_))
            && self.rules.barrier.has_one_end()
        {
            self.arrive(*from, arrived);
        }
        delivery
    }

    /// Goes on to the next date at which activities end. Returns `None` if the run is over.
    fn advance(&mut self) -> Option<()> {
        let waiting = self.hosts.len() - self.finished;
        if waiting == 0 && self.recorded.supersteps() == self.supersteps.begun() {
            return None;
        }
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        if self.engine.advance(&mut ended).is_none() {
            let at = self.engine.now();
            self.fail(RunError::Stuck { at, waiting });
        }
        for activity in &ended {
            self.end_activity(*activity);
        }
        self.ended = ended;
        Some(())
    }

    /// Passes the events that were recorded since the last call to `observer`.
    pub(super) fn observe(&mut self, observer: &mut dyn FnMut(&record::Event)) {
        self.recorded.observe(observer);
    }

    /// The result of the run, which is over.
    pub(super) fn end(&mut self) -> Result<Outcome, RunError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let traffic = (self.traffic.messages, self.traffic.bytes);
        let end = self.recorded.end(self.finished_at, traffic);
        Ok(Outcome {
            nodes: Vec::new(),
            transfers: None,
            builds: Vec::new(),
            repeated: self.repetition.count(),
            end,
            calls: self.recorded.calls(),
            joins: self.recorded.joins(),
            checkpoints: self.recorded.checkpoints(),
            outputs: self.supersteps.outputs(),
        })
    }

    fn end_activity(&mut self, activity: Activity) {
        let (kind, index) = unpack(activity);
        match kind {
            ActivityKind::Computation => {
                let rank = Rank(index);
                self.supersteps.end(rank, self.engine.since_rest());
                self.deliveries.push(Due::Computed(rank));
            }
            ActivityKind::Flight => {
                let plan = self.supersteps.plan();
                let (_, to, _) = plan.message(index);
                let following = self.traffic.arrive(plan, index, self.hosts[to.index()]);
                self.end_flight(index);
                for number in following {
                    self.end_flight(number);
                }
            }
            ActivityKind::Transfer => self.end_transfer(index),
            ActivityKind::Delay => self.compute(Rank(index)),
            ActivityKind::Stall | ActivityKind::Encoding | ActivityKind::Copy => {
                self.continue_checkpoint(kind, index);
            }
            ActivityKind::Planning => self.end_planning(SetId(index)),
            ActivityKind::WakeManager => {
                let to = Address::SetManager(SetId(index));
                self.deliver(Delivery {
                    to,
                    event: Event::Woken,
                });
            }
        }
    }

    /// The Manager of `set` has its plan.
    fn end_planning(&mut self, set: SetId) {
        let deliberated = self.deliberated.take().expect("a plan was being made");
        self.deliver(Delivery {
            to: Address::SetManager(set),
            event: Event::Deliberated(deliberated),
        });
    }

    /// A message of a program has arrived.
    #[inline]
    fn end_flight(&mut self, number: u32) {
        let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
        let sets = &self.rules.sets;
        let set = |rank: Rank| sets[hosts[rank.index()].index()];
        let plan = self.supersteps.plan();
        let (from, to) = self
            .traffic
            .end(plan, number, self.engine.since_rest(), set);
        self.deliver_exchanges(from);
        self.deliver_exchanges(to);
    }

    /// A message between agents has arrived.
    fn end_transfer(&mut self, number: u32) {
        let from = match self.transfers.remove(number) {
            OnNetwork::Barrier(message) => {
                let (from, _) = self.ends_of(message);
                self.deliveries.push(Due::Barrier(message));
                if self.rendezvous.is_release(message)
                    && let Some(next) = self.rendezvous.released()
                {
                    self.start_transfer(next);
                }
                from
            }
            OnNetwork::Other(transfer) => {
                let from = transfer.from;
                self.open(transfer);
                from
            }
        };
        if let Address::SetManager(set) = from {
            self.transfers.delivered(set);
            self.deliver_flushed(set);
        }
    }

    fn deliver_flushed(&mut self, set: SetId) {
        if self.transfers.has_flushed(set) {
            let to = Address::SetManager(set);
            self.deliver(Delivery {
                to,
                event: Event::Flushed,
            });
        }
    }

    fn open(&mut self, transfer: Transfer) {
        if let AgentMessage::State(state) = &transfer.message {
            let Address::Node(host) = transfer.to else {
                unreachable!("states go to nodes")
            };
            let took = self.engine.now() - transfer.sent;
            let moved = record::Moved {
                at: self.engine.now(),
                rank: state.rank,
                host,
                epoch: state.epoch,
                bytes: transfer.bytes,
                took,
                times: Some(record::MoveTimes {
                    frozen: took,
                    packed: Seconds::ZERO,
                    sent: took,
                    unpacked: Seconds::ZERO,
                    round_trip: self.round_trip(transfer.from, transfer.to),
                }),
                parts: None,
                declared: None,
            };
            self.measured.insert(state.rank, moved.measured());
            self.record(record::Event::Moved(moved));
        }
        let event = Event::Message {
            from: transfer.from,
            message: transfer.message,
        };
        self.deliver(Delivery {
            to: transfer.to,
            event,
        });
    }

    /// The round trip between the hosts of two agents.
    fn round_trip(&self, from: Address, to: Address) -> Seconds {
        let latency = |from, to| self.engine.latency(from, to).unwrap_or_default();
        let (from, to) = (self.host_of(from), self.host_of(to));
        latency(from, to) + latency(to, from)
    }

    fn compute(&mut self, rank: Rank) {
        let host = self.hosts[rank.index()];
        let work = self.supersteps.start(rank, self.engine.since_rest());
        self.engine
            .compute(host, work, pack(ActivityKind::Computation, rank.0));
    }

    /// Executes the programs for `superstep`, when its first process starts it. Returns whether it is this one.
    fn execute(&mut self, superstep: u64, reduced: Option<&Reductions>) -> Result<bool, RunError> {
        let standby = self.pool.as_ref().map_or(&[][..], Pool::standby);
        let Some(plan) = self.supersteps.begin(superstep, standby, reduced)? else {
            return Ok(false);
        };
        self.repetition.begin(plan);
        self.recorded.begin(&plan.work);
        if let Some(pool) = &mut self.pool {
            pool.add_work(&plan.work);
        }
        for taken in plan.snapshots.drain(..) {
            let host = self.hosts[taken.rank.index()];
            let sha256 = Sha256::digest(&taken.contents).into();
            let snapshot = record::Snapshot::of(&taken, host, sha256);
            self.recorded.add(record::Event::Snapshot(record::Snapshot {
                contents: Some(taken.contents),
                ..snapshot
            }));
        }
        Ok(true)
    }

    fn deliver_exchanges(&mut self, rank: Rank) {
        if self.traffic.completes(rank) {
            self.deliveries.push(Due::Exchanged(rank));
        }
    }

    /// What `rank` has exchanged, which arrives at the end of the superstep.
    fn exchange_of(&mut self, rank: Rank) -> Exchange {
        let exchange = self.traffic.exchange(self.supersteps.plan(), rank);
        self.repetition
            .arrived(rank, |started, computed| ProcessCourse {
                rank,
                started,
                computed,
                arrived: self.engine.since_rest(),
                work: self.supersteps.plan().work[rank.index()],
                computation: self.supersteps.elapsed()[rank.index()],
                exchange: exchange.clone(),
            });
        exchange
    }

    fn start_flight(&mut self, number: u32) {
        let plan = self.supersteps.plan();
        let (from, to, bytes) = plan.message(number);
        let (from, to) = (self.hosts[from.index()], self.hosts[to.index()]);
        match self
            .traffic
            .start(plan, number, to, self.engine.since_rest())
        {
            Passage::Travels => {
                self.transfer(from, to, bytes, pack(ActivityKind::Flight, number));
            }
            Passage::Follows => {}
            Passage::IsThere => self.end_flight(number),
        }
    }

    fn start_transfer(&mut self, number: u32) {
        let ((from, to), bytes) = match self.transfers.get(number) {
            OnNetwork::Barrier(message) => (self.ends_of(message), self.length_of(message)),
            OnNetwork::Other(transfer) => {
                let scheduler = self.rules.scheduler.as_ref();
                let bytes = match (&transfer.message, scheduler) {
                    (AgentMessage::State(_), Some(scheduler)) => {
                        scheduler.bytes_on_network(transfer.bytes)
                    }
                    _ => transfer.bytes,
                };
                ((transfer.from, transfer.to), bytes)
            }
        };
        let (from, to) = (self.host_of(from), self.host_of(to));
        self.transfer(from, to, bytes, pack(ActivityKind::Transfer, number));
    }

    fn transfer(&mut self, from: HostId, to: HostId, bytes: Bytes, activity: Activity) {
        if let Err(error) = self.engine.transfer(from, to, bytes, activity) {
            self.fail(error.into());
        }
    }

    /// The length of a message of a barrier.
    fn length_of(&self, message: BarrierMessage) -> Bytes {
        let reductions = match message {
            BarrierMessage::Arrived(rank) => self.supersteps.reductions_len(rank),
            BarrierMessage::Start(_) => self.release.reduced_len(),
            BarrierMessage::Halted(_) | BarrierMessage::Finish(_) => Bytes::ZERO,
        };
        self.rules.barrier.options().message + reductions
    }

    /// Puts a message of a barrier on the network.
    fn post(&mut self, from: Address, message: BarrierMessage) {
        let number = self.transfers.insert(from, OnNetwork::Barrier(message));
        if !self.rendezvous.is_release(message) {
            self.start_or_hold(number);
        } else if self.rendezvous.release(number) {
            self.start_transfer(number);
        }
    }

    /// Starts a message, unless it has to wait for its receiver.
    fn start_or_hold(&mut self, number: u32) {
        let ending = self.supersteps.begun().wrapping_sub(1);
        match self.transfers.get(number) {
            OnNetwork::Barrier(message) if !self.rendezvous.may_start(message, ending) => {
                self.rendezvous.hold(message.rank(), number);
            }
            _ => self.start_transfer(number),
        }
    }

    /// The sender and the receiver of a message of a barrier.
    fn ends_of(&self, message: BarrierMessage) -> (Address, Address) {
        let rank = message.rank();
        message.ends(Ends::new(&self.rules, &self.supersteps, &self.hosts, rank))
    }

    fn host_of(&self, agent: Address) -> HostId {
        match agent {
            Address::Process(rank) => self.hosts[rank.index()],
            Address::Node(host) => host,
            Address::SetManager(set) => self.rules.managers[set.index()],
            Address::Client => unreachable!("simulated jobs have no client"),
        }
    }
}

/// The activity of `kind` with the number `index` among those of its kind.
fn pack(kind: ActivityKind, index: u32) -> Activity {
    Activity(((kind as u64) << INDEX_BITS) | u64::from(index))
}

/// The kind of an activity, and its number among those of its kind.
fn unpack(activity: Activity) -> (ActivityKind, u32) {
    let index = u32::try_from(activity.0 & u64::from(u32::MAX)).expect("32 bits are left");
    let kind = match activity.0 >> INDEX_BITS {
        0 => ActivityKind::Computation,
        1 => ActivityKind::Flight,
        2 => ActivityKind::Transfer,
        3 => ActivityKind::Delay,
        4 => ActivityKind::WakeManager,
        5 => ActivityKind::Stall,
        6 => ActivityKind::Encoding,
        7 => ActivityKind::Copy,
        8 => ActivityKind::Planning,
        other => unreachable!("no activity is of kind {other}"),
    };
    (kind, index)
}

const INDEX_BITS: u32 = 32;

impl Mail for SimulatedWorld {
    fn now(&self) -> Instant {
        self.replayed.unwrap_or_else(|| self.engine.now())
    }

    fn send(&mut self, from: Address, to: Address, mut message: AgentMessage, cost: Cost) {
        if self.replayed.is_some() {
            // The arrival of a process in a superstep whose course is known.
            return;
        }
        let bytes = match cost {
            Cost::Free => None,
            Cost::Network(bytes) => Some(bytes),
            Cost::Encoded if self.host_of(from) == self.host_of(to) => None,
            Cost::Encoded => Some(message.wire_size(from, to)),
        };
        let ends = |rank| Ends::new(&self.rules, &self.supersteps, &self.hosts, rank);
        let of_barrier = BarrierMessage::new((from, to), &message, ends, &mut self.release);
        if let (Some(BarrierMessage::Arrived(rank)), AgentMessage::Arrived(arrived)) =
            (of_barrier, &mut message)
        {
            let reductions = std::mem::take(&mut arrived.reductions);
            self.supersteps.keep_reductions(rank, reductions);
        }
        match (of_barrier, bytes) {
            (Some(message), None) => return self.deliveries.push(Due::Barrier(message)),
            (Some(message), Some(bytes)) => {
                assert_eq!(bytes, self.length_of(message), "the agents charge for it");
                return self.post(from, message);
            }
            (None, _) => {}
        }
        let transfer = Transfer {
            from,
            to,
            message,
            bytes: bytes.unwrap_or_default(),
            sent: self.engine.now(),
        };
        if bytes.is_none() {
            return self.open(transfer);
        }
        let number = self.transfers.insert(from, OnNetwork::Other(transfer));
        self.start_or_hold(number);
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        let Address::SetManager(set) = agent else {
            unreachable!("only Managers hold back")
        };
        self.engine
            .wake(after, pack(ActivityKind::WakeManager, set.0));
    }

    fn flush(&mut self, set: SetId) {
        self.transfers.await_arrival(set);
        self.deliver_flushed(set);
    }

    fn record(&mut self, event: record::Event) {
        if let (record::Event::Superstep(superstep), Some(checkpoints)) =
            (&event, &mut self.checkpoints)
        {
            checkpoints.elapse(superstep);
        }
        self.recorded.add(event);
    }

    fn fail(&mut self, error: RunError) {
        self.error.get_or_insert(error);
    }
}

impl Executor for SimulatedWorld {
    fn run(
        &mut self,
        rank: Rank,
        superstep: u64,
        _: Seconds,
        delay: Seconds,
        reduced: Option<Arc<Reductions>>,
    ) {
        if self.replayed.is_some() {
            return;
        }
        match self.execute(superstep, reduced.as_deref()) {
            Ok(true) => self.traffic.begin(self.supersteps.plan()),
            Ok(false) => {}
            Err(error) => return self.fail(error),
        }
        if Seconds::ZERO < delay {
            self.repetition.stop();
        }
        self.repetition.started(rank, self.engine.since_rest());
        if !self.waits_for_checkpoint(rank, delay) {
            self.compute_after(rank, delay);
        }
    }

    fn exchange(&mut self, rank: Rank) {
        if self.replayed.is_some() {
            return;
        }
        self.repetition.computed(rank, self.engine.since_rest());
        let sends = self.supersteps.sends(rank);
        let count = u32::try_from(sends.len()).expect("a process sends fewer messages than that");
        self.traffic.computed(rank, count);
        for number in sends {
            let (_, to, _) = self.supersteps.plan().message(number);
            if self.start == TransferStart::Eager || self.traffic.is_waiting(to) {
                self.start_flight(number);
            } else {
                self.traffic.hold(to, number);
            }
        }
        while let Some(number) = self.traffic.pop_held(rank) {
            self.start_flight(number);
        }
        self.deliver_exchanges(rank);
    }

    fn checkpoint(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        self.save(rank, superstep, &agent);
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        let packed = self.supersteps.pack(order.rank);
        let (mut payload, declared) = match packed {
            Ok(packed) => packed,
            Err(error) => return self.fail(error),
        };
        let length = u32::try_from(agent.len()).expect("an agent's state is small");
        payload.extend(agent);
        let state = EncodedState {
            rank: order.rank,
            epoch: order.epoch,
            agent: length,
            declared,
            payload: payload.into(),
        };
        let is_paid = self
            .rules
            .scheduler
            .as_ref()
            .is_some_and(|scheduler| scheduler.payment == Payment::Migrant);
        let cost = if is_paid { Cost::Free } else { Cost::Encoded };
        let message = AgentMessage::State(Box::new(state));
        let (from, to) = (Address::Node(order.from), Address::Node(order.to));
        self.recorded.add_moved(message.wire_size(from, to));
        self.send(from, to, message, cost);
    }

    fn install(&mut self, host: HostId, from: Address, state: EncodedState) {
        let agent = usize::try_from(state.agent).expect("u32 fits usize");
        let mut program = state.payload;
        let agent = program.split_off(program.len() - agent);
        let unpacked = self.supersteps.unpack(state.rank, &program);
        if let Err(error) = unpacked {
            return self.fail(error);
        }
        self.hosts[state.rank.index()] = host;
        self.repetition.forget();
        let measured = self.measured.remove(&state.rank);
        let event = Event::Moved(Box::new(Moved {
            from,
            agent,
            host,
            epoch: state.epoch,
            measured: measured.expect("the state has arrived"),
        }));
        self.deliver(Delivery {
            to: Address::Process(state.rank),
            event,
        });
    }

    fn memory(&self, rank: Rank) -> MemorySize {
        self.supersteps.memory(rank)
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        self.supersteps.remaining(rank, completed)
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        let deliberated = deliberation.conclude();
        let scheduler = self.rules.scheduler.as_ref().expect("a scheduler plans");
        let taken = scheduler.planning_time.of(deliberated.effort());
        self.deliberated = Some(Box::new(deliberated));
        if taken == Seconds::ZERO {
            self.end_planning(set);
        } else {
            self.engine.wake(taken, pack(ActivityKind::Planning, set.0));
        }
    }
}

impl HostProbe for SimulatedWorld {
    fn processors(&self, host: HostId) -> (InstructionsPerSecond, u32) {
        let host = self.platform.host(host);
        (host.speed, host.cores)
    }

    fn load(&mut self, host: HostId, window: Seconds) -> f64 {
        self.engine.load(host, window)
    }

    fn unavailable(&mut self, host: HostId, window: Seconds) -> f64 {
        self.engine.unavailable(host, window)
    }

    fn busy_periods(&mut self, host: HostId, window: Seconds) -> u64 {
        self.engine.busy_periods(host, window)
    }

    fn ages(&mut self, host: HostId) -> Vec<Seconds> {
        let mut ages = self.engine.job_ages(host);
        ages.truncate(ExternalLoad::AGES_MAX);
        ages
    }

    fn overhead_busy(&self, host: HostId) -> Seconds {
        self.engine.overhead_busy(host)
    }

    fn transfer_rate(&self, from: SetId, to: SetId) -> f64 {
        let (source, target) = ends(&self.platform, &self.rules, (from, to));
        transfer_rate(&self.platform, source, target)
    }

    fn path(&self, from: SetId, to: SetId) -> Path {
        let (source, target) = ends(&self.platform, &self.rules, (from, to));
        // Without a route, the first message to that Manager ends the run.
        let per_byte = self.engine.time_per_byte(source, target);
        let per_byte = per_byte.unwrap_or_default();
        Path {
            latency: self.engine.latency(source, target).unwrap_or_default(),
            per_byte,
            shared_per_byte: self.shared_per_byte((from, to), per_byte),
        }
    }

    fn links(&self, host: HostId) -> Vec<HostLink> {
        let scheduler = self.rules.scheduler.as_ref();
        let probing = scheduler.and_then(|scheduler| scheduler.link_probes);
        probing.map_or_else(Vec::new, |probing| {
            link_probes::links(probing, &self.platform, host, self.engine.now())
        })
    }

    fn effective_load(&mut self, host: HostId, window: Seconds) -> f64 {
        self.load(host, window)
    }

    fn link_prober(&mut self) -> Option<&mut dyn LinkProber> {
        None
    }
}

impl Membership for SimulatedWorld {
    fn joining(&mut self, completed: u64) -> Option<Joining> {
        let pool = self.pool.as_mut()?;
        let situation = Situation {
            completed,
            now: self.engine.now(),
            platform: &self.platform,
            hosts: &self.hosts,
            supersteps: &self.supersteps,
        };
        match pool.joining(situation) {
            Ok((joining, declined)) => {
                let declined = declined.into_iter().map(record::Event::Join);
                declined.for_each(|event| self.recorded.add(event));
                joining
            }
            Err(problem) => {
                self.fail(RunError::Elasticity(problem));
                None
            }
        }
    }

    fn commit(&mut self, _: SetId, _: u64, _: &[Migrate]) {
        // The simulated world knows the host of a process as soon as it is installed.
    }

    fn is_checkpoint_due(&mut self, completed: u64) -> bool {
        let now = self.engine.now();
        let checkpoints = self.checkpoints.as_ref();
        checkpoints.is_some_and(|checkpoints| checkpoints.is_due(completed, now))
    }

    fn finished(&mut self, _: Rank) {
        self.finished += 1;
        self.finished_at = self.engine.now();
    }

    fn released(&mut self, set: SetId, start: &Start, is_over: bool) -> bool {
        if set == self.rules.first && self.rules.barrier.has_one_end() && !is_over {
            self.begin_superstep(start);
        }
        self.replay.is_none()
    }
}

impl SimulatedWorld {
    /// [`Path::shared_per_byte`], from two ways between other hosts of the Sets, where a single message takes `per_byte`.
    fn shared_per_byte(&self, (from, to): (SetId, SetId), per_byte: f64) -> Option<f64> {
        let hosts = |set: SetId| &self.platform.set(set).hosts;
        let ways = if from == to {
            let [a, b, c, d] = *hosts(from).first_chunk()?;
            [(a, b), (c, d)]
        } else {
            let ([a, b], [c, d]) = (*hosts(from).first_chunk()?, *hosts(to).first_chunk()?);
            [(a, c), (b, d)]
        };
        let shared = self.engine.shared_time_per_byte(ways[0], ways[1]).ok()?;
        let assumed = if from == to { 0.0 } else { per_byte };
        (shared.total_cmp(&assumed).is_ne()).then_some(shared)
    }
}

/// Two hosts that stand for the route between two Sets: those of their Managers, and within a Set the Manager's and a
/// neighbour's, if there is one.
fn ends(platform: &Platform, rules: &Rules, (from, to): (SetId, SetId)) -> (HostId, HostId) {
    let source = rules.managers[from.index()];
    if from != to {
        return (source, rules.managers[to.index()]);
    }
    let hosts = &platform.set(to).hosts;
    let neighbour = hosts.iter().copied().find(|host| *host != source);
    (source, neighbour.unwrap_or(source))
}

/// The time that a byte takes between two hosts, in seconds per byte.
fn transfer_rate(platform: &Platform, source: HostId, target: HostId) -> f64 {
    let mut links: Vec<LinkId> = Vec::new();
    if platform.route(source, target, &mut links).is_err() {
        // No process can move there: the first message to that Manager ends the run.
        return 0.0;
    }
    let bandwidths = links
        .iter()
        .map(|link| platform.links()[link.index()].bandwidth.get());
    bandwidths
        .min_by(f64::total_cmp)
        .map_or(0.0, |bandwidth| 1.0 / bandwidth)
}

/// Events at this instant, in the order in which they came.
///
/// There may be two for each process at a time. The world can make most of them from what it knows, so these take a few
/// bytes each.
#[derive(Debug, Default)]
struct Deliveries {
    entries: VecDeque<Entry>,
    /// The events of the entries that say nothing.
    others: VecDeque<Delivery>,
}

/// An event that an agent handles next.
#[derive(Debug)]
enum Due {
    /// A process has computed.
    Computed(Rank),
    /// A process has exchanged its messages.
    Exchanged(Rank),
    /// A message of a barrier is received.
    Barrier(BarrierMessage),
    /// Any other event.
    Other(Delivery),
}

#[derive(Debug)]
enum Entry {
    Computed(Rank),
    Exchanged(Rank),
    Barrier(BarrierMessage),
    /// The first of the others.
    Other,
}

impl Deliveries {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, due: Due) {
        self.entries.push_back(match due {
            Due::Computed(rank) => Entry::Computed(rank),
            Due::Exchanged(rank) => Entry::Exchanged(rank),
            Due::Barrier(message) => Entry::Barrier(message),
            Due::Other(delivery) => {
                self.others.push_back(delivery);
                Entry::Other
            }
        });
    }

    /// Removes the first event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Due> {
        Some(match self.entries.pop_front()? {
            Entry::Computed(rank) => Due::Computed(rank),
            Entry::Exchanged(rank) => Due::Exchanged(rank),
            Entry::Barrier(message) => Due::Barrier(message),
            Entry::Other => {
                let delivery = self.others.pop_front();
                Due::Other(delivery.expect("each such entry has an event"))
            }
        })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The events of a run that its observer has not seen yet, and the sums over all of them.
struct Recorded {
    events: Vec<record::Event>,
    calls: Vec<record::Call>,
    joins: Vec<record::Join>,
    checkpoints: Vec<record::Checkpoint>,
    /// The number of supersteps recorded; the last one may be recorded after all processes have finished.
    supersteps: u64,
    /// What other mappings would have saved; not known if hosts join.
    attainable: Option<Attainable>,
    /// Bytes of the states that left a host.
    moved: Bytes,
}

impl Recorded {
    /// No events yet of a run on `setup`.
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            events: Vec::new(),
            calls: Vec::new(),
            joins: Vec::new(),
            checkpoints: Vec::new(),
            supersteps: 0,
            attainable: setup
                .elasticity
                .is_none()
                .then(|| Attainable::new(&setup.platform)),
            moved: Bytes(0),
        }
    }

    /// A superstep begins in which each process executes this many instructions.
    pub(super) fn begin(&mut self, work: &[Instructions]) {
        if let Some(attainable) = &mut self.attainable {
            attainable.began(work);
        }
    }

    /// Adds an event.
    fn add(&mut self, event: record::Event) {
        if let record::Event::Superstep(superstep) = &event {
            if let Some(attainable) = &mut self.attainable {
                attainable.ended(superstep.computation);
            }
            self.supersteps += 1;
        }
        self.events.push(event);
    }

    /// Adds the state of a process that leaves its host.
    fn add_moved(&mut self, bytes: Bytes) {
        self.moved += bytes;
    }

    /// The number of supersteps recorded.
    pub(super) const fn supersteps(&self) -> u64 {
        self.supersteps
    }

    /// Passes the new events to `observer`.
    pub(super) fn observe(&mut self, observer: &mut dyn FnMut(&record::Event)) {
        if self.events.is_empty() {
            return;
        }
        for event in self.events.drain(..) {
            observer(&event);
            match event {
                record::Event::Call(call) => self.calls.push(call.without_lists()),
                record::Event::Join(join) => self.joins.push(join),
                record::Event::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
                _ => {}
            }
        }
    }

    /// The end of a run that finished at `seconds`, with the number and the bytes of its messages.
    pub(super) fn end(&self, seconds: Instant, (messages, bytes): (u64, Bytes)) -> record::End {
        record::End {
            seconds,
            supersteps: self.supersteps,
            messages,
            bytes,
            attainable: self.attainable.as_ref().map(Attainable::total),
            imbalance: self.attainable.as_ref().map(Attainable::imbalance),
            moved: self.moved,
        }
    }

    /// Removes all joins that were observed.
    pub(super) fn joins(&mut self) -> Vec<record::Join> {
        std::mem::take(&mut self.joins)
    }

    /// Removes all checkpoints that were observed.
    pub(super) fn checkpoints(&mut self) -> Vec<record::Checkpoint> {
        std::mem::take(&mut self.checkpoints)
    }

    /// Removes all calls that were observed.
    pub(super) fn calls(&mut self) -> Vec<record::Call> {
        std::mem::take(&mut self.calls)
    }
}

impl SimulatedWorld {
    /// The state of `rank` in which it is about to start `superstep` is saved: it stalls.
    fn save(&mut self, rank: Rank, superstep: u64, agent: &[u8]) {
        let Some(checkpoints) = &mut self.checkpoints else {
            return;
        };
        let (now, host) = (self.engine.now(), self.hosts[rank.index()]);
        if !checkpoints.has_begun(superstep) {
            let absent = self.pool.as_ref().map(Pool::absent).unwrap_or_default();
            let buddies = buddies(&self.rules.sets, &absent);
            let states = self.supersteps.states();
            checkpoints.begin((superstep, now), states, &self.hosts, &buddies);
        }
        let agent = u64::try_from(agent.len()).expect("a length fits 64 bits");
        let work = checkpoints.stall((rank, host), Bytes(agent), now, &self.platform);
        let stall = pack(ActivityKind::Stall, rank.0);
        self.engine.compute(host, work, stall);
    }

    /// Whether `rank` stalls. It waits for `delay` afterwards, and then computes.
    fn waits_for_checkpoint(&mut self, rank: Rank, delay: Seconds) -> bool {
        let checkpoints = self.checkpoints.as_mut();
        checkpoints.is_some_and(|checkpoints| checkpoints.delay(rank, delay))
    }

    /// `rank` computes its superstep, `delay` from now.
    fn compute_after(&mut self, rank: Rank, delay: Seconds) {
        if delay == Seconds::ZERO {
            self.compute(rank);
        } else {
            self.engine.wake(delay, pack(ActivityKind::Delay, rank.0));
        }
    }

    /// An activity of the checkpoint has ended, of the process or the host with this index.
    fn continue_checkpoint(&mut self, kind: ActivityKind, index: u32) {
        let checkpoints = self
            .checkpoints
            .as_mut()
            .expect("a checkpoint is under way");
        let now = self.engine.now();
        let encoded = match kind {
            ActivityKind::Stall => {
                let (rank, host) = (Rank(index), self.hosts[Rank(index).index()]);
                let (delay, work) = checkpoints.resume((rank, host), now, &self.platform);
                let encoded = match work {
                    Some(work) => {
                        // A process may move while its state is encoded: the host counts.
                        let encoding = pack(ActivityKind::Encoding, host.0);
                        self.engine.compute(host, work, encoding);
                        Encoded::Nothing
                    }
                    None => checkpoints.encoded(host, now, &self.platform),
                };
                self.compute_after(rank, delay);
                encoded
            }
            ActivityKind::Encoding => checkpoints.encoded(HostId(index), now, &self.platform),
            _ => checkpoints.saved(now, &self.platform),
        };
        match encoded {
            Encoded::Nothing => {}
            Encoded::Send(from, to, bytes) => {
                self.transfer(from, to, bytes, pack(ActivityKind::Copy, from.0));
            }
            Encoded::Complete(checkpoint) => {
                self.recorded.add(record::Event::Checkpoint(checkpoint));
            }
        }
    }
}

/// A superstep that passes as an earlier one did.
struct Replay {
    start: Start,
    course: Box<Course>,
}

impl SimulatedWorld {
    /// The first Manager is about to handle the arrival of processes. If these are the last ones, time counts from here if
    /// nothing is under way.
    fn arrive(&mut self, from: Address, arrived: &Arrived) {
        if let Address::Process(rank) = from {
            let has_halted = arrived.halted == 1;
            for number in self.rendezvous.arrive(rank, arrived.superstep, has_halted) {
                self.start_or_hold(number);
            }
        }
        let arrived = Arrived {
            reductions: Reductions::default(),
            ..*arrived
        };
        arrived.add_to(&mut self.arrived);
        let is_complete = |all: &mut Arrived| self.living <= all.processes;
        let Some(all) = self.arrived.take_if(is_complete) else {
            return;
        };
        self.living -= all.halted;
        let span = self.engine.rest();
        if let (Some(span), Some(recording)) = (span, self.repetition.recorded())
            && self.deliveries.is_empty()
        {
            let mut course = recording.course(self.supersteps.plan());
            course.span = span;
            course.all = Some(all);
            course.elapsed = self.supersteps.elapsed().to_vec();
            self.repetition.keep(course);
        }
    }

    /// The next superstep is about to be started by one Manager. Lets it pass as an earlier one did, if that is known.
    fn begin_superstep(&mut self, start: &Start) {
        let is_at_rest = self.engine.rest().is_some() && self.deliveries.is_empty();
        let is_plain = start.interval.is_none() && !start.checkpoint;
        if self.repetition.is_on() && is_at_rest && is_plain {
            self.repeat(start);
        }
        if self.replay.is_none() {
            let has_master = self.hosts[0] == self.rules.first_host();
            self.rendezvous.start(start.superstep, has_master);
        }
    }

    /// Executes the programs for the next superstep. If they do what they did in a recent one, lets it pass.
    fn repeat(&mut self, start: &Start) {
        if let Err(error) = self.execute(start.superstep, start.reduced.as_deref()) {
            return self.fail(error);
        }
        let plan = self.supersteps.plan();
        let Some(course) = self.repetition.take(plan, &self.engine) else {
            self.traffic.begin(plan);
            self.repetition.record(plan);
            return;
        };
        self.traffic.repeat(plan);
        self.supersteps.set_elapsed(&course.elapsed);
        self.replay = Some(Replay {
            start: start.clone(),
            course,
        });
    }

    /// Has processes handle the events of a superstep that passes as an earlier one did. Returns its end, for the Manager.
    fn pass(&mut self, replay: Replay, handle: &mut dyn FnMut(Rank, Event, &mut Self)) -> Delivery {
        let Replay { start, course } = replay;
        for process in &course.processes {
            let rank = process.rank;
            let host = self.hosts[rank.index()];
            let set = self.rules.sets[host.index()];
            let started = Event::Message {
                from: self.rules.barrier.parent(host, set),
                message: AgentMessage::Start(start.clone()),
            };
            self.replayed = Some(self.engine.date(process.started));
            handle(rank, started, self);
            let computed = Event::Computed {
                work: process.work,
                time: process.computation,
                halted: false,
                reductions: Reductions::default(),
            };
            self.replayed = Some(self.engine.date(process.computed));
            handle(rank, computed, self);
            let exchanged = Event::Exchanged(process.exchange.clone());
            self.replayed = Some(self.engine.date(process.arrived));
            handle(rank, exchanged, self);
        }
        self.replayed = None;
        self.engine.repeat(&course.span);
        self.engine.rest();
        let manager = Address::SetManager(self.rules.first);
        let all = course.all.clone();
        let arrived = Arrived {
            superstep: start.superstep,
            reductions: self.supersteps.combined_reductions(),
            ..all.expect("a course that is kept is complete")
        };
        self.repetition.keep(course);
        let event = Event::Message {
            from: manager,
            message: AgentMessage::Arrived(arrived),
        };
        Delivery { to: manager, event }
    }
}
