//! What simulated agents ask of their world.

use agents::{
    Cost, Deliberation, Delivery, Event, Executor, HostProbe, Joining, LinkProber, Mail,
    Membership, Moved, Payment, Rules, RunError, TransferStart,
};
use bsp::units::{Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use migbsp::{ExternalLoad, HostLink, Path};
use protocol::{Address, AgentMessage, EncodedState, Migrate, Start};
use simulator::{LinkId, Platform};

use super::{ActivityKind, SimulatedWorld, pack};
use crate::barrier_message::{BarrierMessage, Ends};
use crate::deliveries::Due;
use crate::link_probes;
use crate::pool::Situation;
use crate::transfers::{OnNetwork, Transfer};

impl Mail for SimulatedWorld {
    fn now(&self) -> Instant {
        self.replayed.unwrap_or_else(|| self.engine.now())
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, cost: Cost) {
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
        match (of_barrier, bytes) {
            (Some(message), None) => return self.deliveries.push(Due::Barrier(message)),
            (Some(message), Some(bytes)) => {
                assert_eq!(
                    bytes,
                    self.rules.barrier.options().message,
                    "all are of one size"
                );
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
    fn run(&mut self, rank: Rank, superstep: u64, _: Seconds, delay: Seconds) {
        if self.replayed.is_some() {
            return;
        }
        match self.execute(superstep) {
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
        // Planning takes no simulated time.
        self.deliver(Delivery {
            to: Address::SetManager(set),
            event: Event::Deliberated(Box::new(deliberation.conclude())),
        });
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

    fn withheld(&mut self, host: HostId, window: Seconds) -> f64 {
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
        Path {
            latency: self.engine.latency(source, target).unwrap_or_default(),
            per_byte: self
                .engine
                .time_per_byte(source, target)
                .unwrap_or_default(),
        }
    }

    fn links(&self, host: HostId) -> Vec<HostLink> {
        let scheduler = self.rules.scheduler.as_ref();
        let probing = scheduler.and_then(|scheduler| scheduler.link_probes);
        probing.map_or_else(Vec::new, |probing| {
            link_probes::links(probing, &self.platform, host, self.engine.now())
        })
    }

    fn felt_load(&mut self, host: HostId, window: Seconds) -> f64 {
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

    fn released(&mut self, set: SetId, start: Start, is_over: bool) -> bool {
        if set == self.rules.first && self.rules.barrier.has_one_end() && !is_over {
            self.begin_superstep(start);
        }
        self.replay.is_none()
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
