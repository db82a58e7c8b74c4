//! What agents ask of the world of tests.

use bsp::units::{Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use migbsp::{HostLink, LinkProbe, Path, ProbedLink};
use protocol::{Address, AgentMessage, EncodedState, LinkProbed, Migrate, ProbeLink, Start};

use super::{Act, Pending, TestWorld, probed_per_byte};
use crate::deliberation::Deliberation;
use crate::elasticity::Joining;
use crate::error::RunError;
use crate::world::{
    Cost, Event, Exchange, Executor, HostProbe, LinkProber, Mail, Membership, Moved,
};

impl Mail for TestWorld {
    fn now(&self) -> Instant {
        Instant::START
    }

    fn send(&mut self, from: Address, to: Address, message: AgentMessage, cost: Cost) {
        self.sent.push((from, to, message.clone(), cost));
        let is_instant = match cost {
            Cost::Free => true,
            Cost::Network(_) => false,
            Cost::Encoded => self.host_of(from) == self.host_of(to),
        };
        if is_instant {
            self.instant
                .push_back((to, Event::Message { from, message }));
            return;
        }
        if let Address::SetManager(set) = from {
            self.under_way[set.index()].0 += 1;
        }
        self.pending.push(Pending::Letter(from, to, message));
    }

    fn wake(&mut self, agent: Address, after: Seconds) {
        self.acts.push(Act::Wake(agent, after));
        self.pending.push(Pending::Woken(agent));
    }

    fn flush(&mut self, set: SetId) {
        self.acts.push(Act::Flush(set));
        self.under_way[set.index()].1 = true;
        self.deliver_flushed(set);
    }

    fn record(&mut self, event: record::Event) {
        self.events.push(event);
    }

    fn fail(&mut self, error: RunError) {
        assert!(self.keeps_errors, "{error}");
        self.error.get_or_insert(error);
    }
}

impl Executor for TestWorld {
    fn run(&mut self, rank: Rank, superstep: u64, elapsed: Seconds, delay: Seconds) {
        self.acts.push(Act::Run(rank, superstep, elapsed, delay));
        self.supersteps[rank.index()] = superstep;
        self.pending.push(Pending::Computed(rank));
    }

    fn exchange(&mut self, rank: Rank) {
        self.acts.push(Act::Exchange(rank));
        let exchange = Exchange {
            sent: 1,
            received: 1,
            ..Exchange::default()
        };
        self.instant
            .push_back((Address::Process(rank), Event::Exchanged(exchange)));
    }

    fn checkpoint(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>) {
        self.acts.push(Act::Checkpoint(rank, superstep, agent));
    }

    fn depart(&mut self, order: Migrate, agent: Vec<u8>) {
        self.acts.push(Act::Depart(order, agent.clone()));
        let state = EncodedState {
            rank: order.rank,
            epoch: order.epoch,
            agent: u32::try_from(agent.len()).unwrap(),
            declared: None,
            payload: agent.into(),
        };
        let (from, to) = (Address::Node(order.from), Address::Node(order.to));
        self.send(
            from,
            to,
            AgentMessage::State(Box::new(state)),
            Cost::Encoded,
        );
    }

    fn install(&mut self, host: HostId, from: Address, state: EncodedState) {
        self.acts.push(Act::Install(host, state.rank));
        self.hosts[state.rank.index()] = host;
        let event = record::Moved {
            at: self.now(),
            rank: state.rank,
            host,
            epoch: state.epoch,
            bytes: bsp::units::Bytes(1_000_000),
            took: Seconds::new(0.25).expect("a quarter of a second"),
            times: None,
            parts: None,
            declared: None,
        };
        let moved = Moved {
            from,
            agent: state.payload,
            host,
            epoch: state.epoch,
            measured: event.measured(),
        };
        self.record(record::Event::Moved(event));
        self.instant
            .push_back((Address::Process(state.rank), Event::Moved(Box::new(moved))));
    }

    fn memory(&self, _: Rank) -> MemorySize {
        self.image.into()
    }

    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64> {
        let all = self.halts[rank.index()] + 1;
        Some(all.saturating_sub(completed))
    }

    fn deliberate(&mut self, set: SetId, deliberation: Deliberation) {
        let deliberated = Event::Deliberated(Box::new(deliberation.conclude()));
        self.instant
            .push_back((Address::SetManager(set), deliberated));
    }
}

impl HostProbe for TestWorld {
    fn processors(&self, host: HostId) -> (InstructionsPerSecond, u32) {
        let host = self.platform.host(host);
        (host.speed, host.cores)
    }

    fn load(&mut self, _: HostId, _: Seconds) -> f64 {
        0.0
    }

    fn overhead_busy(&self, _: HostId) -> Seconds {
        Seconds::ZERO
    }

    fn transfer_rate(&self, from: SetId, to: SetId) -> f64 {
        if from == to { 1e-8 } else { 1e-7 }
    }

    fn path(&self, from: SetId, to: SetId) -> Path {
        let latency = if from == to { 0.0 } else { 1e-3 };
        Path {
            latency: Seconds::new(latency).expect("a millisecond"),
            per_byte: self.transfer_rate(from, to),
        }
    }

    fn felt_load(&mut self, _: HostId, _: Seconds) -> f64 {
        0.0
    }

    fn withheld(&mut self, _: HostId, _: Seconds) -> f64 {
        0.0
    }

    fn busy_periods(&mut self, _: HostId, _: Seconds) -> u64 {
        0
    }

    fn ages(&mut self, _: HostId) -> Vec<Seconds> {
        Vec::new()
    }

    fn links(&self, _: HostId) -> Vec<HostLink> {
        Vec::new()
    }

    fn link_prober(&mut self) -> Option<&mut dyn LinkProber> {
        Some(self)
    }
}

impl LinkProber for TestWorld {
    fn probe(&mut self, order: ProbeLink, by: Address) {
        let LinkProbe { from, to, .. } = order.probe;
        self.acts.push(Act::Probe(from, to));
        let link = ProbedLink {
            from,
            to,
            per_byte: probed_per_byte(from, to),
            took: Seconds::ZERO,
        };
        let superstep = order.superstep;
        let probed = LinkProbed { superstep, link };
        self.instant
            .push_back((Address::Node(from), Event::LinkProbed { by, probed }));
    }
}

impl Membership for TestWorld {
    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]) {
        self.acts.push(Act::Commit(set, epoch, moves.to_vec()));
    }

    fn is_checkpoint_due(&mut self, completed: u64) -> bool {
        let every = self.checkpoint_interval;
        every.is_some_and(|every| completed.is_multiple_of(every))
    }

    fn finished(&mut self, rank: Rank) {
        self.finished.push(rank);
    }

    fn joining(&mut self, _: u64) -> Option<Joining> {
        None
    }

    fn released(&mut self, _: SetId, _: Start, _: bool) -> bool {
        true
    }
}
