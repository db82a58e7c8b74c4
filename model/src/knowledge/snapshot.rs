//! Hosts, processes and the network as they are at a call.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use bsp::numbers::length;
use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use serde::{Deserialize, Serialize};

use super::assignment::Flows;
use super::network::Sample;
use crate::bounded::{count, non_negative};
use crate::{Edge, Graph, Lesson, MigrationTime, MoveCost, Network, Path, ProbedLink};

/// Hosts, processes and the network as they are at a call, for plans that name hosts.
///
/// Hosts and processes are numbered by their position in the lists of this snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    hosts: Vec<Host>,
    processes: Vec<Load>,
    /// The processes, the lightest first.
    lightest_first: Vec<usize>,
    /// The same, the heaviest first.
    heaviest_first: Vec<usize>,
    /// The host of each process, by process.
    places: Vec<usize>,
    /// Seconds per byte from Set to Set.
    rates: Vec<Vec<f64>>,
    /// The hosts of each Set.
    members: Vec<Vec<usize>>,
    /// By host: its position among them.
    positions: Vec<usize>,
    /// Seconds per byte from host to host, where that is measured.
    links: BTreeMap<(usize, usize), f64>,
    /// The same, where it has been probed just now.
    probed: BTreeMap<(usize, usize), f64>,
    graph: Graph,
    network: Network,
    /// What the barrier adds for the processes of each Set, by Set.
    barriers: Vec<BarrierTime>,
    /// The processor times of other programs' processes, by host, where there are any.
    ages: BTreeMap<usize, Vec<Seconds>>,
    pub(crate) cost: MoveCost,
    migration_time: MigrationTime,
    /// Measured migration time as a multiple of what [`MoveCost`] predicts.
    cost_factor: f64,
    horizon: f64,
    /// Seconds by which the time of a host is uncertain.
    noise: f64,
    /// Hosts that have been looked at for a process.
    candidates: Cell<u64>,
    /// Seconds that no plan is carried out for.
    least_gain: f64,
}

impl Snapshot {
    /// The `processors` of every Set, by Set, with the `loads` of the processes on them. A process whose
    /// host is not among the processors is left out.
    ///
    /// `rates` holds the seconds that a byte takes from Set to Set.
    #[must_use]
    pub fn new(
        processors: &[Vec<Processor>],
        mut loads: Vec<Load>,
        rates: Vec<Vec<f64>>,
        cost: MoveCost,
        assumptions: &PlanningAssumptions,
    ) -> Self {
        let hosts = hosts_of(processors);
        let position = |host: HostId| hosts.binary_search_by_key(&host, |host| host.id).ok();
        loads.sort_by_key(|load| load.rank);
        let number = loads.len();
        let mut placed = (Vec::with_capacity(number), Vec::with_capacity(number));
        placed.extend(
            loads
                .into_iter()
                .filter_map(|load| Some((position(load.host)?, load.sound()))),
        );
        let (places, mut processes): (Vec<usize>, Vec<Load>) = placed;
        fill_in_idle(&mut processes);
        let mut lightest_first: Vec<usize> = (0..processes.len()).collect();
        lightest_first.sort_unstable_by(|one, other| lighter_first(&processes, *one, *other));
        let heaviest_first = heaviest_first(&lightest_first, &processes);
        let mut members = vec![Vec::new(); processors.len()];
        let mut positions = Vec::with_capacity(hosts.len());
        for (number, host) in hosts.iter().enumerate() {
            let members = &mut members[host.set.index()];
            positions.push(members.len());
            members.push(number);
        }
        Self {
            graph: Graph::new(&processes, &places, &hosts),
            network: Network::new(&alone(&rates), &assumptions.lessons),
            hosts,
            processes,
            lightest_first,
            heaviest_first,
            places,
            rates,
            members,
            positions,
            links: BTreeMap::new(),
            probed: BTreeMap::new(),
            barriers: Vec::new(),
            ages: BTreeMap::new(),
            cost,
            migration_time: assumptions.migration_time,
            cost_factor: non_negative(assumptions.cost_factor),
            horizon: non_negative(assumptions.horizon),
            noise: 0.0,
            candidates: Cell::new(0),
            least_gain: 0.0,
        }
    }

    /// The same with what the barrier adds for the processes of each Set; without a call of this method it adds
    /// nothing.
    #[must_use]
    pub fn with_barriers(self, barriers: Vec<BarrierTime>) -> Self {
        Self { barriers, ..self }
    }

    /// The same with the `links` that are measured; without a call of this method, images take from host to host what
    /// bytes take from Set to Set. Links of hosts that are not there are left out.
    #[must_use]
    pub fn with_links(mut self, links: &[HostLink]) -> Self {
        for link in links {
            if let (Some(from), Some(to)) = (self.host(link.from), self.host(link.to)) {
                self.links.insert((from, to), non_negative(link.per_byte));
            }
        }
        self
    }

    /// The same with the `external` loads of hosts over longer times; without a call of this method, they are as in the
    /// last moment. Hosts that are not there are left out.
    #[must_use]
    pub fn with_external(mut self, external: &[ExternalLoad]) -> Self {
        for load in external {
            if let Some(host) = self.host(load.host) {
                self.hosts[host].utilisation = load.utilisation;
                self.ages.insert(host, load.ages.clone());
            }
        }
        self
    }

    /// The same with `factor` times the interruptions that are expected on hosts, as [`Host::interruption`]; without a call
    /// of this method there are none.
    #[must_use]
    pub(crate) fn with_interruptions(
        mut self,
        interruptions: &BTreeMap<HostId, f64>,
        factor: f64,
    ) -> Self {
        for (id, interruption) in interruptions {
            if let Some(host) = self.host(*id) {
                self.hosts[host].interruption = factor * non_negative(*interruption);
            }
        }
        self
    }

    /// The same without what other programs do on the hosts `owned`.
    #[must_use]
    pub(crate) fn without_owners(mut self, owned: &[HostId]) -> Self {
        for id in owned {
            if let Some(host) = self.host(*id) {
                self.hosts[host].rate = self.hosts[host].speed;
                self.hosts[host].interruption = 0.0;
            }
        }
        self
    }

    /// The same with times of hosts that are uncertain by so many seconds; without a call of this method they are certain.
    #[must_use]
    pub fn with_noise(self, seconds: f64) -> Self {
        Self {
            noise: non_negative(seconds),
            ..self
        }
    }

    /// The same where no plan counts, carried out or left undone, that makes supersteps shorter by no more than `seconds`;
    /// without a call of this method any plan does.
    #[must_use]
    pub fn with_least_gain(self, seconds: f64) -> Self {
        Self {
            least_gain: non_negative(seconds),
            ..self
        }
    }

    /// The same with `links` that have been probed just now, and are what images take.
    #[must_use]
    pub fn with_probed(mut self, links: &[ProbedLink]) -> Self {
        for link in links {
            if let (Some(from), Some(to)) = (self.host(link.from), self.host(link.to)) {
                self.probed.insert((from, to), non_negative(link.per_byte));
            }
        }
        self
    }

    /// The same with the `paths` of messages from every Set to every Set, from which and from the messages of the
    /// processes the network is learned; without a call of this method messages take what bytes take by the rates.
    #[must_use]
    pub fn with_paths(mut self, paths: &[Vec<Path>]) -> Self {
        self.network = Network::new(paths, self.network.lessons());
        self.learn();
        self
    }

    /// Learns from what the messages of the present placement took.
    fn learn(&mut self) {
        let sets = self.sets();
        let flows = Flows::new(&self.graph, &self.hosts, &self.places, &self.places);
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); sets * sets];
        for (process, from) in self.places.iter().enumerate() {
            for message in self.graph.outgoing(process) {
                let to = self.places[message.other];
                if *from == to {
                    continue;
                }
                let pair = (self.hosts[*from].set, self.hosts[to].set);
                let rate = |from, to| self.network.per_byte(from, to);
                let sending = flows.sent(*from) * rate(pair.0, pair.0);
                let receiving = flows.received(to) * rate(pair.1, pair.1);
                let crossing = flows.crossing(pair.0, pair.1).0 * self.rate(pair.0, pair.1);
                samples[pair.0.index() * sets + pair.1.index()].push(Sample {
                    alone: message.bytes * rate(pair.0, pair.1),
                    occupied: sending.max(receiving).max(crossing),
                    took: message.time,
                });
            }
        }
        for (pair, samples) in samples
            .iter()
            .enumerate()
            .filter(|(_, all)| !all.is_empty())
        {
            let (from, to) = (pair / sets, pair % sets);
            self.network
                .learn(SetId::from_index(from), SetId::from_index(to), samples);
        }
    }

    /// The hosts, in the order of their ids.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The number of the host `id`, if it is there.
    #[must_use]
    pub fn host(&self, id: HostId) -> Option<usize> {
        self.hosts.binary_search_by_key(&id, |host| host.id).ok()
    }

    /// The processes that have not halted, in rank order.
    #[must_use]
    pub fn processes(&self) -> &[Load] {
        &self.processes
    }

    /// The number of the process `rank`, if it has not halted.
    #[must_use]
    pub fn process(&self, rank: Rank) -> Option<usize> {
        let found = self.processes.binary_search_by_key(&rank, |load| load.rank);
        found.ok()
    }

    /// The processes by work, then by rank.
    pub(crate) fn lightest_first(&self) -> &[usize] {
        &self.lightest_first
    }

    /// The processes by decreasing work, ties by rank.
    pub(crate) fn heaviest_first(&self) -> &[usize] {
        &self.heaviest_first
    }

    /// The host of each process, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Seconds by which the time of a host is uncertain: placements whose supersteps differ by less are equally good.
    #[must_use]
    pub const fn noise(&self) -> f64 {
        self.noise
    }

    /// Seconds: a plan that makes supersteps shorter by no more than that is not carried out.
    #[must_use]
    pub const fn least_gain(&self) -> f64 {
        self.least_gain
    }

    /// Supersteps for which the placement is expected to stay good, `H`.
    #[must_use]
    pub fn horizon(&self) -> f64 {
        self.horizon
    }

    /// Counts a host that is looked at for a process.
    pub(crate) fn count_candidate(&self) {
        self.candidates.set(self.candidates.get() + 1);
    }

    /// How much has been looked at to make a plan.
    #[must_use]
    pub fn effort(&self) -> PlanningEffort {
        PlanningEffort {
            processes: length(self.processes.len()),
            candidates: self.candidates.get(),
        }
    }

    /// How many Sets there are.
    #[must_use]
    pub fn sets(&self) -> usize {
        self.members.len()
    }

    /// All pairs of different Sets.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (SetId, SetId)> + use<> {
        let sets = self.sets();
        let all = (0..sets).flat_map(move |from| (0..sets).map(move |to| (from, to)));
        let different = all.filter(|(from, to)| from != to);
        different.map(|(from, to)| (SetId::from_index(from), SetId::from_index(to)))
    }

    /// The hosts of a Set.
    #[must_use]
    pub fn members(&self, set: SetId) -> &[usize] {
        &self.members[set.index()]
    }

    /// The position of a host among those of its Set.
    pub(crate) fn position(&self, host: usize) -> usize {
        self.positions[host]
    }

    /// Seconds that one byte takes from Set to Set.
    #[must_use]
    pub fn rate(&self, from: SetId, to: SetId) -> f64 {
        rate_between(&self.rates, from, to)
    }

    /// What each process sends to each other.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What messages take.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Seconds that `process` computes in a superstep if it is alone on `host`.
    #[must_use]
    pub fn computation(&self, process: usize, host: usize) -> f64 {
        self.processes[process].instructions / self.hosts[host].rate
    }

    /// The processor time that each process of other programs has had that keeps a core of `host` busy.
    #[must_use]
    pub fn ages(&self, host: usize) -> &[Seconds] {
        self.ages.get(&host).map_or(&[], Vec::as_slice)
    }

    /// What the barrier adds for the processes of `set`.
    pub(crate) fn barrier(&self, set: SetId) -> BarrierTime {
        self.barriers.get(set.index()).copied().unwrap_or_default()
    }

    /// Whether the Managers of Sets wait for each other at the end of a superstep.
    fn has_hierarchical_barrier(&self) -> bool {
        self.barriers.contains(&BarrierTime::Hierarchical)
    }

    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    pub(crate) fn barrier_exchange(&self, is_in_use: impl Fn(SetId) -> bool) -> f64 {
        if !self.has_hierarchical_barrier() {
            return 0.0;
        }
        let pairs = self
            .pairs()
            .filter(|(from, to)| is_in_use(*from) && is_in_use(*to));
        let latencies = pairs.map(|(from, to)| self.network.latency(from, to));
        latencies.fold(0.0, f64::max)
    }

    /// Seconds that `process` takes to move from the host it runs on to `host`; zero if that is the same one.
    #[must_use]
    pub fn migration(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        if from == host {
            return 0.0;
        }
        let image = self.processes[process].image;
        let per_byte = self.image_per_byte(from, host);
        self.cost_factor * self.cost.time(image, per_byte).get()
    }

    /// Seconds that a process with this image takes to move from one Set to another, at the rate between them or, if
    /// that is slower, at the one that messages have been measured to have.
    pub(crate) fn image_transfer(&self, image: MemorySize, from: SetId, to: SetId) -> f64 {
        let per_byte = self
            .rate(from, to)
            .max(self.long_message_per_byte(from, to));
        self.cost_factor * self.cost.time(image, per_byte).get()
    }

    /// Seconds that one byte of an image takes from host to host, as it is predicted.
    fn image_per_byte(&self, from: usize, to: usize) -> f64 {
        if let Some(probed) = self.probed.get(&(from, to)) {
            return *probed;
        }
        let sets = (self.hosts[from].set, self.hosts[to].set);
        match self.links.get(&(from, to)) {
            // What is measured of the pair says more than what is known of all pairs of the Sets.
            Some(link) => link * self.network.long_slowness(sets.0, sets.1).max(1.0),
            None => self
                .rate(sets.0, sets.1)
                .max(self.long_message_per_byte(sets.0, sets.1)),
        }
    }

    /// Seconds that one byte of a long message has been measured to take from Set to Set.
    fn long_message_per_byte(&self, from: SetId, to: SetId) -> f64 {
        self.network.per_byte(from, to) * self.network.long_slowness(from, to)
    }

    /// Seconds for which the move of `process` to `host` occupies what all moves between the Sets of its hosts share.
    #[must_use]
    pub(crate) fn shared_migration(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        if from == host {
            return 0.0;
        }
        let sets = (self.hosts[from].set, self.hosts[host].set);
        match self.network.shared_per_byte(sets.0, sets.1) {
            Some(per_byte) => {
                let per_byte = per_byte * self.network.long_slowness(sets.0, sets.1).max(1.0);
                let image = self.processes[process].image;
                self.cost_factor * self.cost.transfer(image, per_byte).get()
            }
            None if sets.0 == sets.1 => 0.0,
            None => self.migration(process, host),
        }
    }

    /// Whether the cost of moves is learned.
    pub(crate) const fn learns_cost(&self) -> bool {
        self.cost.is_learned()
    }

    /// Seconds per byte that are predicted for the image of `process` on its way to `host`, if the cost of moves is
    /// learned.
    pub(crate) fn learned_per_byte(&self, process: usize, host: usize) -> Option<f64> {
        let per_byte = || self.image_per_byte(self.places[process], host);
        self.learns_cost().then(per_byte)
    }

    /// The same with so many cores on each host.
    #[cfg(test)]
    pub(crate) fn with_cores(mut self, cores: impl Fn(usize) -> u32) -> Self {
        for (number, host) in self.hosts.iter_mut().enumerate() {
            host.cores = f64::from(cores(number));
        }
        self
    }

    /// How long the moves of one call take together.
    #[must_use]
    pub fn migration_time(&self) -> MigrationTime {
        self.migration_time
    }
}

/// The `processors` of every Set as hosts, in the order of their ids.
fn hosts_of(processors: &[Vec<Processor>]) -> Vec<Host> {
    let sets = processors.iter().enumerate();
    let mut hosts: Vec<Host> = sets
        .flat_map(|(set, processors)| {
            processors.iter().map(move |processor| Host {
                id: processor.host,
                set: SetId::from_index(set),
                rate: processor.rate(),
                speed: processor.speed.get(),
                utilisation: processor.load,
                interruption: 0.0,
                cores: processor.width(),
            })
        })
        .collect();
    hosts.sort_by_key(|host| host.id);
    hosts
}

fn rate_between(rates: &[Vec<f64>], from: SetId, to: SetId) -> f64 {
    let rate = rates
        .get(from.index())
        .and_then(|rates| rates.get(to.index()));
    non_negative(rate.copied().unwrap_or_default())
}

/// Paths without latency.
fn alone(rates: &[Vec<f64>]) -> Vec<Vec<Path>> {
    let path = |rate: &f64| Path {
        latency: Seconds::ZERO,
        per_byte: *rate,
        shared_per_byte: None,
    };
    let rates = rates.iter();
    rates
        .map(|rates| rates.iter().map(path).collect())
        .collect()
}

/// A host that processes may be placed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Its number on the platform.
    pub id: HostId,
    /// Its Set.
    pub set: SetId,
    /// What other programs leave of one core, in instructions per second; above zero.
    pub rate: f64,
    /// Instructions per second of one core without other programs.
    pub speed: f64,
    /// The part of its cores that other programs used over `planning.owner_window`, in `[0, 1]`.
    pub utilisation: f64,
    /// Seconds for which the owner's jobs are expected to interrupt each second of computation, beyond what `rate` says.
    pub interruption: f64,
    /// How many processes can compute at the same time; at least 1.
    pub cores: f64,
}

/// What bytes take from one host to another, where that is measured by pairs of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostLink {
    /// The host that measured it.
    pub from: HostId,
    /// The other one.
    pub to: HostId,
    /// Predicted seconds per byte.
    pub per_byte: f64,
}

/// The external load of a host over longer times than the last moment, and the processes that cause it.
///
/// A host that had none of it reports none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExternalLoad {
    /// The host.
    pub host: HostId,
    /// The part of its cores that other programs used over `planning.owner_window`, its utilisation by its owner, `ρ`, in
    /// `[0, 1]`.
    pub utilisation: f64,
    /// The part of a core that a process would have been without since the last call, or since the run began.
    pub since: f64,
    /// How often per second, in the same window as the utilisation, other programs began to keep a core busy on the idle
    /// host: `λ`.
    pub arrivals: f64,
    /// The part of a core that one process more would not have on the host now, in `[0, 1]`.
    pub present: f64,
    /// The processor time that each process of other programs has had that keeps a core busy now, the longest first.
    pub ages: Vec<Seconds>,
}

impl ExternalLoad {
    /// Whether there is anything to report.
    #[must_use]
    pub fn is_any(&self) -> bool {
        let loads = [self.utilisation, self.since];
        !self.ages.is_empty() || loads.iter().any(|load| 0.0 < *load)
    }

    /// Whether these are loads: fractions, and times that are not negative, no more of them than
    /// [`ExternalLoad::AGES_MAX`].
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let loads = [self.utilisation, self.since, self.present];
        loads.iter().all(|load| (0.0..=1.0).contains(load))
            && (0.0..f64::INFINITY).contains(&self.arrivals)
            && self.ages.iter().all(|age| Seconds::ZERO <= *age)
            && self.ages.len() <= Self::AGES_MAX
    }

    /// Whether `loads` are those of hosts that `is_own`, each once and by host.
    #[must_use]
    pub fn are_sound(loads: &[Self], is_own: impl Fn(HostId) -> bool) -> bool {
        loads.is_sorted_by(|one, other| one.host < other.host)
            && loads
                .iter()
                .all(|load| is_own(load.host) && load.is_sound())
    }

    /// How many processes of other programs are reported, the longest ones.
    pub const AGES_MAX: usize = 64;
}

/// What hosts have measured in addition to their speed and load; empty where nothing is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    /// The links to other hosts, if the cost of moves is learned.
    pub links: Vec<HostLink>,
    /// The external load of hosts that have one, by host, where plans name processors.
    pub external: Vec<ExternalLoad>,
}

impl Measurements {
    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.external.is_empty()
    }
}

/// What the barrier adds to a superstep for the processes of one Set, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BarrierTime {
    /// Nothing.
    #[default]
    Ideal,
    /// The first Manager releases all processes and waits for all.
    Central {
        /// From the first Manager to a process.
        release: f64,
        /// From a process to the first Manager.
        arrival: f64,
    },
    /// The first Manager handles processes one after the other.
    ByRank {
        /// What each process adds to every superstep.
        process: f64,
    },
    /// Managers of Sets with processes wait for each other.
    Hierarchical,
}

impl BarrierTime {
    /// What every process of the Set adds to the length of a superstep.
    pub(crate) fn process(self) -> f64 {
        match self {
            Self::ByRank { process } => non_negative(process),
            Self::Ideal | Self::Central { .. } | Self::Hierarchical => 0.0,
        }
    }

    /// How much later than on the first Manager's host a superstep starts.
    pub(crate) fn release(self) -> f64 {
        match self {
            Self::Central { release, .. } => non_negative(release),
            Self::Ideal | Self::ByRank { .. } | Self::Hierarchical => 0.0,
        }
    }

    /// How long the first Manager waits for a process that has completed its superstep.
    pub(crate) fn arrival(self) -> f64 {
        match self {
            Self::Central { arrival, .. } => non_negative(arrival),
            Self::Ideal | Self::ByRank { .. } | Self::Hierarchical => 0.0,
        }
    }
}

/// What a planner assumes of moves and messages when it builds a [`Snapshot`](crate::Snapshot).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanningAssumptions {
    /// Supersteps for which the placement is expected to stay good, `H`.
    pub horizon: f64,
    /// Measured migration time as a multiple of the predicted one.
    pub cost_factor: f64,
    /// How long the moves of one call take together.
    pub migration_time: MigrationTime,
    /// What has been learned of the messages between Sets, from Set to Set; empty if nothing.
    pub lessons: Vec<Lesson>,
}

/// What making a plan has taken, in a measure that is the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanningEffort {
    /// How many processes have been placed.
    pub processes: u64,
    /// How many times a host has been looked at for a process.
    pub candidates: u64,
}

/// A process as a planner has to know it to place it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The process.
    pub rank: Rank,
    /// The host that it runs on.
    pub host: HostId,
    /// Predicted instructions of the next superstep.
    pub instructions: f64,
    /// If the process seems to have finished: the most instructions that it executed in a superstep.
    pub finished: Option<f64>,
    /// Its memory image.
    pub image: MemorySize,
    /// What it is predicted to receive in a superstep.
    pub received: Vec<Received>,
    /// The heaviest of these, by sender.
    pub edges: Vec<Edge>,
    /// How much its computation times vary, as a part of them: [`Noise::deviation`](crate::Noise::deviation).
    pub noise: f64,
}

/// What a process receives in a superstep from the processes of one Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Received {
    /// The Set of the senders.
    pub set: SetId,
    /// How many bytes.
    pub bytes: f64,
    /// Seconds that the messages took, summed.
    pub time: f64,
}

impl Load {
    /// The same with finite numbers that are not negative.
    pub(crate) fn sound(mut self) -> Self {
        self.instructions = non_negative(self.instructions);
        self.noise = non_negative(self.noise);
        for received in &mut self.received {
            received.bytes = non_negative(received.bytes);
            received.time = non_negative(received.time);
        }
        for edge in &mut self.edges {
            *edge = edge.sound();
        }
        self
    }
}

/// By work, then by rank.
pub(crate) fn lighter_first(loads: &[Load], one: usize, other: usize) -> Ordering {
    let work = |process: usize| loads[process].instructions;
    work(one).total_cmp(&work(other)).then(one.cmp(&other))
}

/// The processes by decreasing work, ties by rank.
fn heaviest_first(lightest_first: &[usize], loads: &[Load]) -> Vec<usize> {
    let equal = |one: &usize, other: &usize| {
        let work = |process: usize| loads[process].instructions.to_bits();
        work(*one) == work(*other)
    };
    let groups = lightest_first.chunk_by(equal).rev();
    groups.flatten().copied().collect()
}

/// Fills in the instructions of idle processes: the mean of the busy ones, or nothing if the process has computed
/// as much as others do and seems to have finished.
///
/// A process that is idle now may compute as much as the others soon; counted as nothing, all of them could be
/// placed on one host.
fn fill_in_idle(processes: &mut [Load]) {
    let most = processes
        .iter()
        .map(|load| load.instructions)
        .fold(0.0, f64::max);
    // Initialisation work alone does not count as having computed.
    let has_finished = |load: &Load| {
        load.finished
            .is_some_and(|had| IDLE_OF_BUSIEST * most <= had)
    };
    let is_idle = |load: &Load| load.instructions < IDLE_OF_BUSIEST * most;
    let busy = processes.iter().filter(|load| !is_idle(load));
    let number = count(busy.clone().count());
    let mean = busy.map(|load| load.instructions).sum::<f64>() / number.max(1.0);
    for load in processes.iter_mut().filter(|load| is_idle(load)) {
        load.instructions = if has_finished(load) { 0.0 } else { mean };
    }
}

/// A process below this fraction of the largest work counts as idle.
const IDLE_OF_BUSIEST: f64 = 0.01;

/// A host and our processes on it, as its Set Manager knows them at a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// The host.
    pub host: HostId,
    /// Speed of one core, `cpu(p)`.
    pub speed: InstructionsPerSecond,
    /// How many processes can compute at the same time; at least 1.
    pub cores: u32,
    /// The part of its cores that other programs use, `load(p)`, in `[0, 1]`.
    pub load: f64,
    /// Our processes on it, each with what it adds to the host's time.
    pub residents: Vec<(Rank, Instructions)>,
}

impl Processor {
    /// What other programs leave of one core, `(1 − load(p))·cpu(p)`, in instructions per second.
    pub(crate) fn rate(&self) -> f64 {
        let share = 1.0 - self.load;
        // Not `clamp`: a load that is not a number counts as a full one.
        let share = if SHARE_MIN < share {
            share.min(1.0)
        } else {
            SHARE_MIN
        };
        self.speed.get() * share
    }

    /// Equation `TIME` of `docs/model.md`: how long the host takes for its residents.
    ///
    /// One core executes everything one after the other. Several share the sum, but a single process
    /// cannot use more than one of them.
    pub(crate) fn time(&self) -> Seconds {
        let works = self.residents.iter().map(|(_, work)| *work);
        let sum: Instructions = works.clone().sum::<Instructions>();
        let longest = works.max().unwrap_or_default();
        let shared = sum.as_f64() / (self.width() * self.rate());
        Seconds::bounded(shared.max(longest.as_f64() / self.rate()))
    }

    /// The number of cores, as a measure to divide by.
    pub(crate) fn width(&self) -> f64 {
        f64::from(self.cores.max(1))
    }
}

/// `capacity(j)`: the mean over the cores of a Set of `(1 − load(p))·cpu(p)`, in instructions per second; zero without
/// processors.
///
/// Implements equation `CAPACITY` of `docs/model.md`.
#[must_use]
pub fn capacity(processors: &[Processor]) -> f64 {
    let (mut sum, mut number) = (0.0, 0.0);
    for processor in processors {
        sum += processor.width() * processor.rate();
        number += processor.width();
    }
    if 0.0 < number { sum / number } else { 0.0 }
}

/// However loaded, a host keeps this share for our processes, so that its times stay finite.
const SHARE_MIN: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    /// By predicted instructions, and by the most executed if the process seems to have finished.
    fn filled_in(loads: &[(f64, Option<f64>)]) -> Vec<f64> {
        let load = |&(instructions, finished): &(f64, Option<f64>)| Load {
            rank: Rank(0),
            host: HostId(0),
            instructions,
            finished,
            image: MemorySize::default(),
            received: Vec::new(),
            edges: Vec::new(),
            noise: 0.0,
        };
        let mut loads: Vec<Load> = loads.iter().map(load).collect();
        fill_in_idle(&mut loads);
        loads.iter().map(|load| load.instructions).collect()
    }

    #[test]
    fn processes_not_started_count_as_the_mean_and_finished_ones_as_nothing() {
        let loads = [
            (4e9, None),
            (2e9, None),
            (0.0, None),
            (1e6, None),
            (0.0, Some(3e9)),
            (1e-60, Some(3e9)),
            // It did much more once, and goes on as others do.
            (3e9, Some(900e9)),
            // Initialisation work alone.
            (0.0, Some(1e6)),
        ];
        let expected = [4e9, 2e9, 3e9, 3e9, 0.0, 0.0, 3e9, 3e9];
        assert_eq!(filled_in(&loads), expected);
    }
}
