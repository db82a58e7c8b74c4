//! The world of simulated agents.

mod agent_interface;
mod checkpoint;
mod repeating;

use std::collections::BTreeMap;
use std::sync::Arc;

use agents::{
    Cost, Delivery, Event, Exchange, Mail, Outcome, Rules, RunError, Setup, SimulatedPrograms,
    TransferStart,
};
use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::MeasuredMove;
use protocol::{Address, AgentMessage, Arrived, Start};
use simulator::{Activity, Engine, Platform};

use super::barrier_message::{BarrierMessage, Ends, Release};
use super::checkpoints::Checkpoints;
use super::deliveries::{Deliveries, Due};
use super::pool::Pool;
use super::recorded::Recorded;
use super::rendezvous::Rendezvous;
use super::repetition::{ProcessCourse, Repetition};
use super::supersteps::Supersteps;
use super::traffic::{Observing, Traffic};
use super::transfers::{OnNetwork, Transfer, Transfers};
use repeating::Replay;

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
                let ends = Ends::new(&self.rules, &self.supersteps, &self.hosts, message.rank());
                let (from, to, message) = message.received(ends, &mut self.release);
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
                let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
                let sets = &self.rules.sets;
                let set = |rank: Rank| sets[hosts[rank.index()].index()];
                let plan = self.supersteps.plan();
                let (from, to) = self.traffic.end(plan, index, self.engine.since_rest(), set);
                self.deliver_exchanges(from);
                self.deliver_exchanges(to);
            }
            ActivityKind::Transfer => self.end_transfer(index),
            ActivityKind::Delay => self.compute(Rank(index)),
            ActivityKind::Stall | ActivityKind::Encoding | ActivityKind::Copy => {
                self.continue_checkpoint(kind, index);
            }
            ActivityKind::WakeManager => {
                let to = Address::SetManager(SetId(index));
                self.deliver(Delivery {
                    to,
                    event: Event::Woken,
                });
            }
        }
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
    fn execute(&mut self, superstep: u64) -> Result<bool, RunError> {
        let standby = self.pool.as_ref().map_or(&[][..], Pool::standby);
        let Some(plan) = self.supersteps.begin(superstep, standby)? else {
            return Ok(false);
        };
        self.repetition.begin(plan);
        self.recorded.begin(&plan.work);
        if let Some(pool) = &mut self.pool {
            pool.add_work(&plan.work);
        }
        if let Some(interaction) = plan.interaction.take() {
            self.recorded.add(record::Event::Interaction(interaction));
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
        self.traffic.start(number, self.engine.since_rest());
        let (from, to, bytes) = self.supersteps.plan().message(number);
        let (from, to) = (self.hosts[from.index()], self.hosts[to.index()]);
        self.transfer(from, to, bytes, pack(ActivityKind::Flight, number));
    }

    fn start_transfer(&mut self, number: u32) {
        let ((from, to), bytes) = match self.transfers.get(number) {
            OnNetwork::Barrier(message) => {
                (self.ends_of(message), self.rules.barrier.options().message)
            }
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
        other => unreachable!("no activity is of kind {other}"),
    };
    (kind, index)
}

const INDEX_BITS: u32 = 32;
