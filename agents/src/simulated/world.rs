//! The outside of simulated agents.

use std::collections::VecDeque;
use std::sync::Arc;

use bsp::units::{Bytes, Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use protocol::{Address, AgentMessage, Migrate, ProcessImage};
use simulator::{Activity, Engine, Platform};

use super::activity::{ActivityKind, pack, unpack};
use super::rendezvous::Rendezvous;
use super::routes;
use super::traffic::Traffic;
use super::transfers::{Transfer, Transfers};
use crate::attainable::Attainable;
use crate::deliberation::Deliberation;
use crate::error::RunError;
use crate::outcome::Outcome;
use crate::programs::{SimulatedPrograms, SuperstepPlan};
use crate::record;
use crate::setup::{Payment, Rules, Setup, TransferStart};
use crate::world::{Cost, Delivery, Event, Moved, World};

/// A platform under a simulated clock, with the programs and everything that is under way.
pub(super) struct SimulatedWorld {
    platform: Arc<Platform>,
    engine: Engine,
    start: TransferStart,
    rules: Arc<Rules>,
    programs: Box<dyn SimulatedPrograms>,
    plan: SuperstepPlan,
    /// The superstep that `plan` is about, plus one.
    planned: u64,
    /// The host of each process.
    hosts: Vec<HostId>,
    /// The host where each process started, if its messages count for that one's Set for ever.
    starts: Option<Vec<HostId>>,
    /// When each process began to compute.
    began: Vec<Instant>,
    traffic: Traffic,
    transfers: Transfers,
    rendezvous: Rendezvous,
    /// What happens at this instant without any delay.
    deliveries: VecDeque<Delivery>,
    ended: Vec<Activity>,
    finished: usize,
    finished_at: Instant,
    /// Supersteps that were recorded; the last may be so after everybody has finished.
    recorded: u64,
    attainable: Attainable,
    /// Bytes of the states that left a host.
    moved: Bytes,
    events: Vec<record::Event>,
    calls: Vec<record::Call>,
    error: Option<RunError>,
}

impl SimulatedWorld {
    pub(super) fn new(
        setup: &Setup,
        rules: Arc<Rules>,
        programs: Box<dyn SimulatedPrograms>,
    ) -> Self {
        let size = setup.placement.len();
        let rendezvous = Rendezvous::new(setup.start, Arc::clone(&rules), size);
        Self {
            platform: Arc::clone(&setup.platform),
            engine: Engine::new(Arc::clone(&setup.platform), setup.network),
            start: setup.start,
            rules,
            programs,
            plan: SuperstepPlan::default(),
            planned: 0,
            hosts: setup.placement.clone(),
            starts: setup.senders_stay().then(|| setup.placement.clone()),
            began: vec![Instant::START; size],
            traffic: Traffic::new(size, setup.scheduler.is_some()),
            transfers: Transfers::new(setup.platform.sets().len()),
            rendezvous,
            deliveries: VecDeque::new(),
            ended: Vec::new(),
            finished: 0,
            finished_at: Instant::START,
            recorded: 0,
            attainable: Attainable::new(&setup.platform),
            moved: Bytes(0),
            events: Vec::new(),
            calls: Vec::new(),
            error: None,
        }
    }

    /// Something happens at once.
    pub(super) fn deliver(&mut self, delivery: Delivery) {
        self.deliveries.push_back(delivery);
    }

    /// What happens next, and to whom; `None` when everybody has finished and all is recorded.
    pub(super) fn next(&mut self) -> Result<Option<Delivery>, RunError> {
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if let Some(delivery) = self.deliveries.pop_front() {
                return Ok(Some(delivery));
            }
            let waiting = self.hosts.len() - self.finished;
            if waiting == 0 && self.recorded == self.planned {
                return Ok(None);
            }
            let mut ended = std::mem::take(&mut self.ended);
            ended.clear();
            if self.engine.advance(&mut ended).is_none() {
                return Err(RunError::Stuck {
                    at: self.engine.now(),
                    waiting,
                });
            }
            for activity in &ended {
                self.end_activity(*activity);
            }
            self.ended = ended;
        }
    }

    /// Tells what was recorded since the last time.
    pub(super) fn tell(&mut self, observer: &mut dyn FnMut(&record::Event)) {
        for event in self.events.drain(..) {
            observer(&event);
            if let record::Event::Call(call) = event {
                self.calls.push(call);
            }
        }
    }

    /// The result of the run, once all processes have finished.
    pub(super) fn end(&mut self) -> Outcome {
        let end = record::End {
            seconds: self.finished_at,
            supersteps: self.planned,
            messages: self.traffic.messages,
            bytes: self.traffic.bytes,
            attainable: Some(self.attainable.total()),
            imbalance: Some(self.attainable.imbalance()),
            moved: self.moved,
        };
        Outcome {
            end,
            calls: std::mem::take(&mut self.calls),
            outputs: self.programs.outputs(),
        }
    }

    fn end_activity(&mut self, activity: Activity) {
        let (kind, index) = unpack(activity);
        match kind {
            ActivityKind::Computation => {
                let rank = Rank(index);
                let time = self.engine.now() - self.began[rank.index()];
                let work = self.plan.work[rank.index()];
                let halted = self.plan.halts[rank.index()];
                let event = Event::Computed { work, time, halted };
                self.deliver(Delivery {
                    to: Address::Process(rank),
                    event,
                });
            }
            ActivityKind::Flight => {
                let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
                let sets = &self.rules.sets;
                let set = |rank: Rank| sets[hosts[rank.index()].index()];
                let (from, to) = self.traffic.end(index, self.engine.now(), set);
                self.deliver_exchanges(from);
                self.deliver_exchanges(to);
            }
            ActivityKind::Transfer => {
                let transfer = self.transfers.remove(index);
                let from = transfer.from;
                let is_release = self.rendezvous.is_release(from, &transfer.message);
                self.open(transfer);
                if is_release && let Some(next) = self.rendezvous.released() {
                    self.start_transfer(next);
                }
                if let Address::SetManager(set) = from {
                    self.transfers.delivered(set);
                    self.deliver_flushed(set);
                }
            }
            ActivityKind::Delay => self.compute(Rank(index)),
            ActivityKind::WakeManager => {
                let to = Address::SetManager(SetId(index));
                self.deliver(Delivery {
                    to,
                    event: Event::Woken,
                });
            }
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
        if let AgentMessage::ProcessImage(state) = &transfer.message {
            let Address::Node(host) = transfer.to else {
                unreachable!("states go to nodes")
            };
            self.record(record::Event::Moved(record::Moved {
                at: self.engine.now(),
                rank: state.rank,
                host,
                epoch: state.epoch,
                bytes: transfer.bytes,
                took: self.engine.now() - transfer.sent,
            }));
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

    fn compute(&mut self, rank: Rank) {
        let host = self.hosts[rank.index()];
        self.began[rank.index()] = self.engine.now();
        let work = self.plan.work[rank.index()];
        self.engine
            .compute(host, work, pack(ActivityKind::Computation, rank.0));
    }

    /// Executes the programs for `superstep`, when its first process starts it.
    fn plan(&mut self, superstep: u64) -> Result<(), RunError> {
        if self.planned <= superstep {
            assert_eq!(self.planned, superstep, "supersteps follow each other");
            self.programs.execute(superstep, &mut self.plan)?;
            self.traffic.begin(&self.plan);
            self.attainable.began(&self.plan.work);
            self.planned += 1;
        }
        Ok(())
    }

    fn deliver_exchanges(&mut self, rank: Rank) {
        if let Some(exchange) = self.traffic.completed(rank) {
            let event = Event::Exchanged(exchange);
            self.deliver(Delivery {
                to: Address::Process(rank),
                event,
            });
        }
    }

    fn start_flight(&mut self, number: u32) {
        let flight = self.traffic.start(number, self.engine.now());
        let from = self.hosts[flight.from.index()];
        let to = self.hosts[flight.to.index()];
        self.transfer(from, to, flight.bytes, pack(ActivityKind::Flight, number));
    }

    fn start_transfer(&mut self, number: u32) {
        let Transfer {
            from, to, bytes, ..
        } = *self.transfers.get(number);
        let (from, to) = (self.host_of(from), self.host_of(to));
        self.transfer(from, to, bytes, pack(ActivityKind::Transfer, number));
    }

    fn transfer(&mut self, from: HostId, to: HostId, bytes: Bytes, activity: Activity) {
        if let Err(error) = self.engine.transfer(from, to, bytes, activity) {
            self.fail(error.into());
        }
    }

    /// Puts a message between agents on the network.
    fn post(&mut self, transfer: Transfer) {
        let is_release = self.rendezvous.is_release(transfer.from, &transfer.message);
        let number = self.transfers.insert(transfer);
        if !is_release {
            self.start_or_hold(number);
        } else if self.rendezvous.release(number) {
            self.start_transfer(number);
        }
    }

    /// Starts a message, unless it has to wait for its receiver.
    fn start_or_hold(&mut self, number: u32) {
        let Transfer { from, message, .. } = self.transfers.get(number);
        if self.rendezvous.may_start(*from, message) {
            self.start_transfer(number);
        } else {
            self.rendezvous.hold(*from, number);
        }
    }

    fn host_of(&self, agent: Address) -> HostId {
        match agent {
            Address::Process(rank) => self.hosts[rank.index()],
            Address::Node(host) => host,
            Address::SetManager(set) => self.rules.managers[set.index()],
            Address::Client => unreachable!("nobody submits what is simulated"),
        }
    }
}

impl World for SimulatedWorld {
    fn now(&self) -> Instant {
        self.engine.now()
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, cost: Cost) {
        let bytes = match cost {
            Cost::Free => None,
            Cost::Network(bytes) => Some(bytes),
            Cost::Encoded if self.host_of(from) == self.host_of(to) => None,
            Cost::Encoded => Some(message.wire_size(from, to)),
        };
        let sent = self.engine.now();
        let transfer = Transfer {
            from,
            to,
            message,
            bytes: bytes.unwrap_or_default(),
            sent,
        };
        match bytes {
            None => self.open(transfer),
            Some(_) => self.post(transfer),
        }
    }

    fn run(&mut self, rank: Rank, superstep: u64, delay: Seconds) {
        if let Err(error) = self.plan(superstep) {
            self.fail(error);
        } else if delay == Seconds::ZERO {
            self.compute(rank);
        } else {
            self.engine.wake(delay, pack(ActivityKind::Delay, rank.0));
        }
    }

    fn exchange(&mut self, rank: Rank) {
        let sends = self.plan.first_send[rank.index()]..self.plan.first_send[rank.index() + 1];
        let count = u32::try_from(sends.len()).expect("a process sends fewer messages than that");
        self.traffic.computed(rank, count);
        for index in sends {
            let (to, bytes) = self.plan.sends[index];
            let number = self.traffic.add(rank, to, bytes);
            if self.start == TransferStart::Eager || self.traffic.is_waiting(to) {
                self.start_flight(number);
            } else {
                self.traffic.hold(number);
            }
        }
        while let Some(number) = self.traffic.pop_held(rank) {
            self.start_flight(number);
        }
        self.deliver_exchanges(rank);
    }

    fn listen(&mut self, superstep: u64, to: Option<Rank>) {
        for number in self.rendezvous.listen(superstep, to) {
            self.start_or_hold(number);
        }
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        let packed = self.programs.pack(order.rank);
        let (program, declared) = match packed {
            Ok(packed) => packed,
            Err(error) => return self.fail(error),
        };
        let length = u32::try_from(agent.len()).expect("an agent's state is small");
        let mut payload = agent;
        payload.extend(program);
        let state = ProcessImage {
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
        let message = AgentMessage::ProcessImage(Box::new(state));
        let (from, to) = (Address::Node(order.from), Address::Node(order.to));
        self.moved += message.wire_size(from, to);
        self.send(from, to, message, cost);
    }

    fn install(&mut self, host: HostId, state: ProcessImage) {
        let length = usize::try_from(state.agent).expect("u32 fits usize");
        let (agent, program) = (state.payload.slice(..length), state.payload.slice(length..));
        let unpacked = self.programs.unpack(state.rank, &program);
        if let Err(error) = unpacked {
            return self.fail(error);
        }
        self.hosts[state.rank.index()] = host;
        let event = Event::Moved(Box::new(Moved {
            agent,
            host,
            epoch: state.epoch,
        }));
        self.deliver(Delivery {
            to: Address::Process(state.rank),
            event,
        });
    }

    fn commit(&mut self, _: SetId, _: u64, _: &[Migrate]) {
        // Where processes live is known as soon as they do.
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

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        // What planning takes is not simulated.
        self.deliver(Delivery {
            to: Address::SetManager(set),
            event: Event::Deliberated(Box::new(deliberation.conclude())),
        });
    }

    fn finished(&mut self, _: Rank) {
        self.finished += 1;
        self.finished_at = self.engine.now();
    }

    fn image(&self, rank: Rank) -> Image {
        self.programs.image(rank)
    }

    fn processors(&self, host: HostId) -> (InstructionsPerSecond, u32) {
        let host = self.platform.host(host);
        (host.speed, host.cores)
    }

    fn load(&self, host: HostId, window: Seconds) -> f64 {
        self.engine.load(host, window)
    }

    fn overhead_busy(&self, host: HostId) -> Seconds {
        self.engine.overhead_busy(host)
    }

    fn transfer_rate(&self, from: SetId, to: SetId) -> f64 {
        let (source, target) = routes::ends(&self.platform, &self.rules, (from, to));
        routes::transfer_rate(&self.platform, source, target)
    }

    fn latency(&self, from: SetId, to: SetId) -> Seconds {
        let (source, target) = routes::ends(&self.platform, &self.rules, (from, to));
        // Where no way leads, the first message to that Manager ends the run.
        self.engine.latency(source, target).unwrap_or_default()
    }

    fn record(&mut self, event: record::Event) {
        if let record::Event::Superstep(superstep) = &event {
            self.attainable.ended(superstep.computation);
            self.recorded += 1;
        }
        self.events.push(event);
    }

    fn fail(&mut self, error: RunError) {
        self.error.get_or_insert(error);
    }
}
