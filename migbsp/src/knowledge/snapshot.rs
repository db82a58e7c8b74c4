//! Hosts, processes and the network as they are at a call.

use bsp::{HostId, Image, SetId};

use crate::bounded::non_negative;
use crate::knowledge::load::fill_in_idle;
use crate::{Contention, Load, MigrationCost, MigrationTime, PlanningAssumptions, Processor};

/// Hosts, processes and the network as they are at a call, for plans that name hosts.
///
/// Hosts and processes are numbered by their position in the lists of this snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    hosts: Vec<Host>,
    processes: Vec<Load>,
    /// The host of each process, by process.
    places: Vec<usize>,
    /// Seconds per byte from Set to Set.
    rates: Vec<Vec<f64>>,
    /// The hosts of each Set.
    members: Vec<Vec<usize>>,
    /// Seconds that each process would spend receiving in each Set: process × Set.
    receptions: Vec<f64>,
    /// Seconds that a process in each Set adds to every superstep, by Set.
    barrier_delays: Vec<f64>,
    contention: Contention,
    cost: MigrationCost,
    migration_time: MigrationTime,
    /// Measured migration time as a multiple of what [`MigrationCost`] predicts.
    cost_factor: f64,
    horizon: f64,
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
    /// How many processes can compute at the same time; at least 1.
    pub cores: f64,
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
        cost: MigrationCost,
        assumptions: PlanningAssumptions,
    ) -> Self {
        let hosts = hosts_of(processors);
        let position = |host: HostId| hosts.binary_search_by_key(&host, |host| host.id).ok();
        loads.sort_by_key(|load| load.rank);
        let (places, mut processes): (Vec<usize>, Vec<Load>) = loads
            .into_iter()
            .filter_map(|load| Some((position(load.host)?, load.sound())))
            .unzip();
        fill_in_idle(&mut processes);
        let mut members = vec![Vec::new(); processors.len()];
        for (number, host) in hosts.iter().enumerate() {
            members[host.set.index()].push(number);
        }
        let contention = {
            let sets = places.iter().map(|host| hosts[*host].set);
            let rate = |from, to| rate_between(&rates, from, to);
            let loads = sets.zip(&processes);
            Contention::measured(loads, processors.len(), rate, assumptions.sharing)
        };
        let mut snapshot = Self {
            hosts,
            processes,
            places,
            rates,
            members,
            receptions: Vec::new(),
            barrier_delays: Vec::new(),
            contention,
            cost,
            migration_time: assumptions.migration_time,
            cost_factor: non_negative(assumptions.cost_factor),
            horizon: non_negative(assumptions.horizon),
        };
        snapshot.receptions = snapshot.reception_times();
        snapshot
    }

    /// The same with seconds that each process adds to every superstep because the barrier handles processes one
    /// after the other, by Set; without a call of this method they are zero.
    #[must_use]
    pub fn with_barrier_delays(self, barrier_delays: Vec<f64>) -> Self {
        Self {
            barrier_delays,
            ..self
        }
    }

    /// The hosts, in the order of their ids.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The processes that have not halted, in rank order.
    #[must_use]
    pub fn processes(&self) -> &[Load] {
        &self.processes
    }

    /// The host of each process, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// Supersteps for which the placement is expected to stay good, `H`.
    #[must_use]
    pub fn horizon(&self) -> f64 {
        self.horizon
    }

    /// How many Sets there are.
    #[must_use]
    pub fn sets(&self) -> usize {
        self.members.len()
    }

    /// The hosts of a Set.
    #[must_use]
    pub fn members(&self, set: SetId) -> &[usize] {
        &self.members[set.index()]
    }

    /// Seconds that one byte takes from Set to Set.
    #[must_use]
    pub fn rate(&self, from: SetId, to: SetId) -> f64 {
        rate_between(&self.rates, from, to)
    }

    /// What messages between Sets take, as measured.
    #[must_use]
    pub fn contention(&self) -> &Contention {
        &self.contention
    }

    /// Seconds that `process` computes in a superstep if it is alone on `host`.
    #[must_use]
    pub fn computation(&self, process: usize, host: usize) -> f64 {
        self.processes[process].instructions / self.hosts[host].rate
    }

    /// Seconds that `process` spends receiving in a superstep if it runs in `set`.
    #[must_use]
    pub fn communication(&self, process: usize, set: SetId) -> f64 {
        self.receptions[process * self.sets() + set.index()]
    }

    /// Seconds that a process in `set` adds to every superstep because the barrier handles processes one after the
    /// other.
    #[must_use]
    pub fn barrier_delay(&self, set: SetId) -> f64 {
        let delay = self.barrier_delays.get(set.index());
        non_negative(delay.copied().unwrap_or_default())
    }

    /// Seconds that `process` takes to move from the host it runs on to `host`; zero if that is the same one.
    #[must_use]
    pub fn migration(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        if from == host {
            return 0.0;
        }
        let image = self.processes[process].image;
        self.image_transfer(image, self.hosts[from].set, self.hosts[host].set)
    }

    /// Seconds that a process with this image takes to move from one Set to another.
    pub(crate) fn image_transfer(&self, image: Image, from: SetId, to: SetId) -> f64 {
        self.cost_factor * self.cost.time(image, self.rate(from, to)).get()
    }

    /// How long the moves of one call take together.
    #[must_use]
    pub fn migration_time(&self) -> MigrationTime {
        self.migration_time
    }

    /// Process × Set.
    fn reception_times(&self) -> Vec<f64> {
        let sets = (0..self.sets()).map(SetId::from_index);
        let processes = self.processes.iter();
        processes
            .flat_map(|load| {
                let sets = sets.clone();
                sets.map(move |set| self.reception(load, set, |sender| sender))
            })
            .collect()
    }

    /// Seconds that `load` spends receiving in a superstep if it runs in `set`, where `location` is the Set that the
    /// messages of each Set's processes come from.
    pub(crate) fn reception(
        &self,
        load: &Load,
        set: SetId,
        location: impl Fn(SetId) -> SetId,
    ) -> f64 {
        let (mut time, mut latency) = (0.0, 0.0);
        for received in &load.received {
            let sender = location(received.set);
            let alone = received.bytes * self.rate(sender, set);
            if sender == set {
                time += alone;
            } else if 0.0 < alone {
                time += alone * self.contention.slowness(set);
                latency = self.contention.latency();
            }
        }
        time + latency
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

#[cfg(test)]
impl Snapshot {
    /// Prices moves anew.
    pub(crate) fn make_cost(&mut self, cost: MigrationCost) {
        self.cost = cost;
    }
}

#[cfg(test)]
mod tests {
    use bsp::units::{Bytes, InstructionsPerSecond};
    use bsp::{HostId, Rank};

    use crate::knowledge::dominant_set::DominantSets;
    use crate::{Received, Sharing, Traffic};

    use super::*;

    /// A megabyte takes 8 ms inside a Set and 40 ms between the two, by rates.
    fn rates() -> Vec<Vec<f64>> {
        vec![vec![8e-9, 40e-9], vec![40e-9, 8e-9]]
    }

    /// A megabyte from `set` that took `time` seconds.
    fn megabyte(set: u32, time: f64) -> Received {
        Received {
            set: SetId(set),
            bytes: 1e6,
            time,
        }
    }

    /// Two Sets of one host; process after process on the host of that number, with what it received.
    fn snapshot(processes: Vec<(u32, Vec<Received>)>) -> Snapshot {
        let processor = |host| Processor {
            host: HostId(host),
            speed: InstructionsPerSecond::new(1e9).unwrap(),
            cores: 1,
            load: 0.0,
            residents: Vec::new(),
        };
        let loads = (0..).zip(processes).map(|(rank, (host, received))| Load {
            rank: Rank(rank),
            host: HostId(host),
            instructions: 1e9,
            finished: None,
            image: Image {
                data: Bytes::ZERO,
                fixed: Bytes::ZERO,
            },
            received,
        });
        Snapshot::new(
            &[vec![processor(0)], vec![processor(1)]],
            loads.collect(),
            rates(),
            MigrationCost::default(),
            PlanningAssumptions {
                horizon: 1.0,
                cost_factor: 1.0,
                migration_time: MigrationTime::SharedLinks,
                sharing: Sharing::default(),
            },
        )
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-9,
            "{value} against {expected}"
        );
    }

    #[test]
    fn only_messages_of_other_sets_meet_contention() {
        // Both processes run in Set 0; each receives a megabyte from Set 1, in 41 ms and in 601 ms, and one a
        // megabyte from its own Set.
        let snapshot = snapshot(vec![
            (0, vec![megabyte(0, 0.5), megabyte(1, 0.041)]),
            (0, vec![megabyte(1, 0.601)]),
        ]);
        // Equation CONTENTION: a latency of 1 ms, and eight times as long as predicted. Both messages share the
        // connection, by a degree of (1 + 0.5 / 2) / (1 + 1 / 2) with the initial weight of a half.
        let degree = 1.25 / 1.5;
        let slowness = 8.0 / (1.0 + degree);
        close(snapshot.contention().latency(), 1e-3);
        close(snapshot.contention().slowness(SetId(0)), slowness);
        close(
            snapshot.communication(0, SetId(0)),
            8e-3 + 40e-3 * slowness + 1e-3,
        );
        close(snapshot.communication(1, SetId(0)), 40e-3 * slowness + 1e-3);
        // In Set 1 the sides change, and no message is known to have been slow there.
        close(snapshot.communication(0, SetId(1)), 40e-3 + 8e-3 + 1e-3);
        close(snapshot.communication(1, SetId(1)), 8e-3);
    }

    #[test]
    fn messages_between_sets_keep_their_connections_busy() {
        // Set 0 receives two megabytes from Set 1, and that one from Set 0; within a Set nothing counts.
        let snapshot = snapshot(vec![
            (0, vec![megabyte(1, 40e-3), megabyte(0, 8e-3)]),
            (0, vec![megabyte(1, 40e-3)]),
            (1, vec![megabyte(0, 40e-3)]),
        ]);
        let sets = DominantSets::present(&snapshot);
        let mut traffic = Traffic::new(&snapshot, snapshot.places(), &sets);
        let degree = snapshot.contention().sharing().degree();
        let slowness = |set| snapshot.contention().slowness(SetId(set));
        // Equation TRAFFIC.
        close(traffic.busy(SetId(0)), 2.0 * 40e-3 * degree * slowness(0));
        close(traffic.busy(SetId(1)), 40e-3 * degree * slowness(1));
        // What the first process receives from Set 1, and sends to it, is local in Set 1; what it receives from its
        // present Set is not.
        let ways = (SetId(0), SetId(1));
        let after = traffic.busy_after(0, ways, &sets);
        traffic.relocate(0, ways, &sets);
        for (set, after) in (0..).zip(after) {
            close(traffic.busy(SetId(set)), after);
        }
        close(after[1], 40e-3 * degree * slowness(1));
    }

    #[test]
    fn a_migration_costs_what_its_image_takes_between_its_sets() {
        let mut snapshot = snapshot(vec![(0, Vec::new()), (1, Vec::new())]);
        snapshot.processes[0].image.data = Bytes(1_000_000);
        close(snapshot.migration(0, 0), 0.0);
        close(snapshot.migration(0, 1), 40e-3);
        close(snapshot.migration(1, 0), 0.0);
        snapshot.cost_factor = 3.0;
        close(snapshot.migration(0, 1), 120e-3);
    }
}
