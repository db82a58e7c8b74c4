//! A world for tests without a clock: what is under way arrives in any order one likes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bsp::units::{Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, Reductions, SetId, Sum, reference};
use model::{HostLink, LinkProbe, Path, ProbedLink};
use protocol::{Address, AgentMessage, EncodedState, LinkProbed, Migrate, ProbeLink, Start};
use simulator::{NetworkOptions, Platform};

use crate::barrier::{Barrier, BarrierTree, Collection, Shape};
use crate::node::Node;
use crate::outcome::RunError;
use crate::process::Process;
use crate::set_manager::SetManager;
use crate::setup::{Joining, Rules, Scheduler, Script, Setup, TransferStart};
use crate::world::{
    Cost, Deliberation, Event, Exchange, Executor, HostProbe, LinkProber, Mail, Membership, Moved,
};

/// Connected Sets with these numbers of hosts, cores per host, and instructions per second.
pub(crate) fn platform(sets: &[(u32, u32, u32)]) -> Platform {
    let mut text = String::new();
    for (index, (hosts, cores, speed)) in sets.iter().enumerate() {
        text += &format!(
            "[[set]]\nname = \"s{index}\"\nhosts = {hosts}\ncores = {cores}\nspeed = \"{speed} f\"\n\
             link = {{ bandwidth = \"12.5 MBps\", latency = \"50 us\" }}\n"
        );
        for other in 0..index {
            text += &format!(
                "[[link]]\nname = \"l{other}-{index}\"\nbetween = [\"s{other}\", \"s{index}\"]\n\
                 bandwidth = \"125 MBps\"\nlatency = \"100 us\"\n"
            );
        }
    }
    Platform::from_toml(&text).unwrap()
}

/// What agents did to the world, except sending messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    Run(Rank, u64, Seconds, Seconds),
    Exchange(Rank),
    Checkpoint(Rank, u64, Vec<u8>),
    Depart(Migrate, Vec<u8>),
    Install(HostId, Rank),
    Commit(SetId, u64, Vec<Migrate>),
    Wake(Address, Seconds),
    Flush(SetId),
    Probe(HostId, HostId),
}

/// What a probe of a link finds, in seconds per byte.
pub(crate) fn probed_per_byte(from: HostId, to: HostId) -> f64 {
    1e-8 * f64::from(1 + from.0 + 3 * to.0)
}

/// Something that will arrive.
#[derive(Debug)]
enum Pending {
    Letter(Address, Address, AgentMessage),
    Computed(Rank),
    Woken(Address),
}

/// A world in which nothing takes time; what has to wait is asked for.
#[derive(Debug)]
pub(crate) struct TestWorld {
    pub(crate) rules: Rules,
    /// Bytes of the image of each process.
    pub(crate) image: bsp::units::Bytes,
    /// The supersteps from one checkpoint to the next, if there are checkpoints.
    pub(crate) checkpoint_interval: Option<u64>,
    platform: Arc<Platform>,
    /// The superstep in which each process halts.
    halts: Vec<u64>,
    hosts: Vec<HostId>,
    supersteps: Vec<u64>,
    /// The contributions to reductions in each superstep.
    contributed: BTreeMap<u64, Reductions>,
    /// What arrives without delay, in order.
    instant: VecDeque<(Address, Event)>,
    pending: Vec<Pending>,
    /// Messages under way and whether their end is waited for, by Set.
    under_way: Vec<(u32, bool)>,
    pub(crate) sent: Vec<(Address, Address, AgentMessage, Cost)>,
    pub(crate) acts: Vec<Act>,
    pub(crate) events: Vec<record::Event>,
    pub(crate) finished: Vec<Rank>,
    /// Whether an error is kept, and does not panic.
    keeps_errors: bool,
    error: Option<RunError>,
}

/// All agents of a run.
#[derive(Debug)]
pub(crate) struct Agents {
    pub(crate) processes: Vec<Process>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) managers: Vec<SetManager>,
}

/// Calls after every superstep, if balance does not stretch the interval, and moves what is decided.
pub(crate) fn scheduler(change: impl FnOnce(&mut model::Parameters)) -> Scheduler {
    let mut parameters = model::Parameters {
        interval: 1,
        tolerance: 1e-9,
        omega: u32::MAX,
        ..model::Parameters::default()
    };
    change(&mut parameters);
    Scheduler {
        model: model::Config::new(parameters).unwrap(),
        load_window: Seconds::ZERO,
        ..Scheduler::default()
    }
}

/// The moves of a script, as (superstep, rank, host).
pub(crate) fn script(moves: &[(u64, u32, u32)]) -> Script {
    let mut script = Script::default();
    for (superstep, rank, host) in moves {
        let orders = script.0.entry(*superstep).or_default();
        orders.push((Rank(*rank), HostId(*host)));
    }
    script
}

impl TestWorld {
    /// Three Sets: hosts 0 to 2; hosts 3 and 4, twice as fast; host 5. Processes start on `hosts`, of
    /// which process `r` halts in superstep `halts[r]`.
    pub(crate) fn new(
        shape: Shape,
        collection: Collection,
        hosts: &[u32],
        halts: &[u64],
        scheduler: Option<Scheduler>,
    ) -> Self {
        let platform = Arc::new(platform(&[
            (3, 1, 1_000_000_000),
            (2, 1, 2_000_000_000),
            (1, 1, 1_000_000_000),
        ]));
        let hosts: Vec<HostId> = hosts.iter().copied().map(HostId).collect();
        let setup = Setup {
            platform: Arc::clone(&platform),
            network: NetworkOptions::default(),
            start: TransferStart::Eager,
            placement: hosts.clone(),
            barrier: Barrier {
                shape,
                collection,
                ..Barrier::default()
            },
            scheduler,
            elasticity: None,
            awaited: None,
            checkpointing: None,
            superstep_limit: 1000,
            traced: false,
            repeats: true,
            resumed: None,
        };
        Self {
            rules: Rules::new(&setup),
            under_way: vec![(0, false); platform.sets().len()],
            platform,
            halts: halts.to_vec(),
            supersteps: vec![0; hosts.len()],
            contributed: BTreeMap::new(),
            hosts,
            instant: VecDeque::new(),
            pending: Vec::new(),
            sent: Vec::new(),
            acts: Vec::new(),
            events: Vec::new(),
            finished: Vec::new(),
            image: bsp::units::Bytes(1000),
            checkpoint_interval: None,
            keeps_errors: false,
            error: None,
        }
    }

    /// How the record of a run here begins.
    pub(crate) fn run(&self) -> record::Run {
        let name = |host: &HostId| self.platform.host(*host).name.clone();
        let sets = self.platform.sets().iter().map(|set| set.name.clone());
        let hosts = self.platform.hosts().iter().map(|host| host.name.clone());
        record::Run {
            schema: record::SCHEMA.to_owned(),
            scenario: "iii".to_owned(),
            sets: sets.collect(),
            hosts: hosts.collect(),
            members: record::Run::members_of(self.platform.hosts().iter().map(|host| host.set)),
            placement: self.hosts.iter().map(name).collect(),
            round: self.rules.round,
            resumed: None,
            view: None,
        }
    }

    pub(crate) fn agents(&self) -> Agents {
        let rules = &self.rules;
        let ranks = || (0..self.hosts.len()).map(Rank::from_index);
        let node = |host: HostId| {
            let residents = ranks().filter(|rank| self.hosts[rank.index()] == host);
            Node::new(rules, host, residents)
        };
        let sets = self.platform.sets().iter().enumerate();
        Agents {
            processes: ranks()
                .map(|rank| Process::new(rules, rank, self.hosts[rank.index()]))
                .collect(),
            nodes: (0..self.platform.hosts().len())
                .map(|index| node(HostId::from_index(index)))
                .collect(),
            managers: sets
                .map(|(index, set)| {
                    SetManager::new(rules, SetId::from_index(index), set.hosts.clone())
                })
                .collect(),
        }
    }

    /// Runs all agents to the end; `pick` chooses which of the messages in transfer arrives next.
    pub(crate) fn play(&mut self, agents: &mut Agents, mut pick: impl FnMut(usize) -> usize) {
        self.start();
        while self.step(agents, &mut pick) {}
    }

    /// Keeps errors from now on; without this, an error panics.
    pub(crate) fn keep_errors(&mut self) {
        self.keeps_errors = true;
    }

    /// The first error, if one was kept.
    pub(crate) fn error(&self) -> Option<String> {
        self.error.as_ref().map(RunError::to_string)
    }

    /// The host of a process.
    pub(crate) fn host(&self, rank: Rank) -> HostId {
        self.hosts[rank.index()]
    }

    /// Starts all processes.
    pub(crate) fn start(&mut self) {
        for rank in (0..self.hosts.len()).map(Rank::from_index) {
            let message = AgentMessage::Start(Start {
                superstep: 0,
                interval: None,
                checkpoint: false,
                reduced: None,
            });
            let from = Address::SetManager(self.rules.first);
            self.instant
                .push_back((Address::Process(rank), Event::Message { from, message }));
        }
    }

    /// Delivers the next event; false if there is none.
    pub(crate) fn step(
        &mut self,
        agents: &mut Agents,
        pick: &mut dyn FnMut(usize) -> usize,
    ) -> bool {
        if let Some((to, event)) = self.instant.pop_front() {
            self.deliver(agents, to, event);
            return true;
        }
        if self.pending.is_empty() {
            return false;
        }
        let next = pick(self.pending.len());
        match self.pending.remove(next) {
            Pending::Letter(from, to, message) => {
                self.instant
                    .push_back((to, Event::Message { from, message }));
                if let Address::SetManager(set) = from {
                    self.under_way[set.index()].0 -= 1;
                    self.deliver_flushed(set);
                }
            }
            Pending::Computed(rank) => self.deliver_computed(rank),
            Pending::Woken(to) => self.instant.push_back((to, Event::Woken)),
        }
        true
    }

    /// Delivers an event to an agent.
    pub(crate) fn deliver(&mut self, agents: &mut Agents, to: Address, event: Event) {
        // The rules are read while the world is written.
        let rules = std::mem::replace(&mut self.rules, no_rules());
        match to {
            Address::Process(rank) => agents.processes[rank.index()].handle(&rules, event, self),
            Address::Node(host) => agents.nodes[host.index()].handle(&rules, event, self),
            Address::SetManager(set) => agents.managers[set.index()].handle(&rules, event, self),
            Address::Client => unreachable!("staged jobs have no client"),
        }
        self.rules = rules;
    }

    fn deliver_computed(&mut self, rank: Rank) {
        let host = self.platform.host(self.hosts[rank.index()]);
        // A sum that would depend on the order if it were rounded on the way.
        let reductions = Reductions::of("sum", Sum(0.1 * f64::from(rank.0 + 1)));
        let superstep = self.supersteps[rank.index()];
        let contributed = self.contributed.entry(superstep).or_default();
        contributed.combine(reductions.clone());
        let work = Instructions(100_000_000 * (1 + u64::from(rank.0) % 3));
        let event = Event::Computed {
            work,
            time: Seconds::new(work.as_f64() / host.speed.get()).unwrap(),
            halted: self.halts[rank.index()] <= self.supersteps[rank.index()],
            reductions: reductions.clone(),
        };
        self.instant.push_back((Address::Process(rank), event));
    }

    fn deliver_flushed(&mut self, set: SetId) {
        let (count, waits) = &mut self.under_way[set.index()];
        if *count == 0 && std::mem::take(waits) {
            self.instant
                .push_back((Address::SetManager(set), Event::Flushed));
        }
    }

    fn host_of(&self, agent: Address) -> HostId {
        match agent {
            Address::Process(rank) => self.hosts[rank.index()],
            Address::Node(host) => host,
            // The initial Manager: the rules are borrowed while an agent handles an event.
            Address::SetManager(set) => self.platform.set(set).hosts[0],
            Address::Client => unreachable!("staged jobs have no client"),
        }
    }
}

/// Stands in for the rules while an agent reads them.
fn no_rules() -> Rules {
    Rules {
        barrier: BarrierTree::new(Barrier::default(), SetId(0), 0),
        scheduler: None,
        managers: Vec::new(),
        sets: Vec::new(),
        placement: Arc::default(),
        on_host: Vec::new(),
        in_set: Vec::new(),
        first: SetId(0),
        absent: std::collections::BTreeSet::new(),
        checkpoints: false,
        traced: false,
        round: bsp::Round::SUPERSTEP,
        resumed: None,
    }
}

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
    fn run(
        &mut self,
        rank: Rank,
        superstep: u64,
        elapsed: Seconds,
        delay: Seconds,
        reduced: Option<Arc<Reductions>>,
    ) {
        let before = superstep.wrapping_sub(1);
        if let Some(contributed) = self.contributed.get(&before).filter(|_| !self.keeps_errors) {
            let expected = reference::conclude(contributed.clone(), before);
            let expected = expected.as_ref().ok().map(|concluded| &concluded.reduced);
            assert_eq!(reduced.as_deref(), expected, "{rank} in {superstep}");
        }
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
            shared_per_byte: None,
        }
    }

    fn effective_load(&mut self, _: HostId, _: Seconds) -> f64 {
        0.0
    }

    fn unavailable(&mut self, _: HostId, _: Seconds) -> f64 {
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

    fn released(&mut self, _: SetId, _: &Start, _: bool) -> bool {
        true
    }
}
