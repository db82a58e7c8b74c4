//! What there is to plan with: hosts, processes, and what it costs to move them.

use bsp::units::Seconds;
use bsp::{HostId, Image, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::{count, non_negative, seconds};
use crate::{Bill, Contention, Mapping, MigrationCost, Processor, Sharing};

/// Hosts and processes as they are at a call, for plans that name processors.
///
/// Hosts and processes are numbered by their place in here.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    hosts: Vec<Host>,
    processes: Vec<Load>,
    /// Where each process runs, by process; a number of a host.
    places: Vec<usize>,
    /// Seconds per byte from Set to Set.
    rates: Vec<Vec<f64>>,
    /// Hosts of each Set.
    members: Vec<Vec<usize>>,
    /// Seconds that each process receives for in each Set: process × Set.
    receptions: Vec<f64>,
    /// Seconds that a process in each Set adds to every superstep, by Set.
    tolls: Vec<f64>,
    contention: Contention,
    cost: MigrationCost,
    burden: Burden,
    /// What moving has cost, measured, as a multiple of what [`MigrationCost`] foretells.
    dearness: f64,
    horizon: f64,
}

/// A host that processes may be placed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Which one.
    pub id: HostId,
    /// Its Set.
    pub set: SetId,
    /// What others leave of one core, in instructions per second; above zero.
    pub rate: f64,
    /// How many processes can compute at once; at least 1.
    pub cores: f64,
}

/// A process as others have to know it to place it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Which one.
    pub rank: Rank,
    /// Where it runs.
    pub host: HostId,
    /// What it will execute in a superstep, in instructions.
    pub instructions: f64,
    /// If it seems to have finished: the most instructions that it executed in a superstep.
    pub finished: Option<f64>,
    /// Its memory image.
    pub image: Image,
    /// What it will receive in a superstep.
    pub received: Vec<Received>,
}

/// What a process receives in a superstep from the processes of one Set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Received {
    /// Where the senders run.
    pub set: SetId,
    /// How many bytes.
    pub bytes: f64,
    /// Seconds that messages were under way, each counted.
    pub time: f64,
}

/// One process to another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Which process.
    pub rank: Rank,
    /// From here.
    pub from: HostId,
    /// To there.
    pub to: HostId,
}

/// What the scene's moves are judged by, besides what it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Supersteps for which the placement is expected to stay good, `H`.
    pub horizon: f64,
    /// What moving has cost, measured, as a multiple of what was foretold.
    pub dearness: f64,
    /// What moves that are made together take.
    pub burden: Burden,
    /// What was seen before of how messages share cables.
    pub sharing: Sharing,
}

/// What moves that are made together take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Burden {
    /// States that cross the same cable share it: as long as the busiest host, or the busiest Set's
    /// connection to others, needs for what it sends or receives.
    #[default]
    Shared,
    /// Each migrant pays for itself: as long as the dearest move.
    Alone,
}

impl Load {
    /// What can be computed with: numbers that mean something.
    fn sound(mut self) -> Self {
        self.instructions = non_negative(self.instructions);
        for received in &mut self.received {
            received.bytes = non_negative(received.bytes);
            received.time = non_negative(received.time);
        }
        self
    }
}

impl Scene {
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
        outlook: Outlook,
    ) -> Self {
        let sets = processors.iter().enumerate();
        let mut hosts: Vec<Host> = sets
            .flat_map(|(set, processors)| {
                processors.iter().map(move |processor| Host {
                    id: processor.host,
                    set: SetId::from_index(set),
                    rate: processor.rate(),
                    cores: f64::from(processor.cores.max(1)),
                })
            })
            .collect();
        hosts.sort_by_key(|host| host.id);
        let place = |host: HostId| hosts.binary_search_by_key(&host, |host| host.id).ok();
        loads.sort_by_key(|load| load.rank);
        let (places, mut processes): (Vec<usize>, Vec<Load>) = loads
            .into_iter()
            .filter_map(|load| Some((place(load.host)?, load.sound())))
            .unzip();
        even_out(&mut processes);
        let mut members = vec![Vec::new(); processors.len()];
        for (number, host) in hosts.iter().enumerate() {
            members[host.set.index()].push(number);
        }
        let contention = {
            let sets = places.iter().map(|host| hosts[*host].set);
            let rate = |from, to| rate_of(&rates, from, to);
            let loads = sets.zip(&processes);
            Contention::of(loads, processors.len(), rate, outlook.sharing)
        };
        let mut scene = Self {
            hosts,
            processes,
            places,
            rates,
            members,
            receptions: Vec::new(),
            tolls: Vec::new(),
            contention,
            cost,
            burden: outlook.burden,
            dearness: non_negative(outlook.dearness),
            horizon: non_negative(outlook.horizon),
        };
        scene.receptions = scene.reception_times();
        scene
    }

    /// With what each process adds to every superstep besides what it makes its host do, in seconds, by Set;
    /// nothing unless this says otherwise.
    #[must_use]
    pub fn with_tolls(self, tolls: Vec<f64>) -> Self {
        Self { tolls, ..self }
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

    /// Where each process runs, by process; a number of a host.
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
        rate_of(&self.rates, from, to)
    }

    /// How messages between Sets fare.
    #[must_use]
    pub fn contention(&self) -> &Contention {
        &self.contention
    }

    /// Seconds that `process` needs on `host` to compute a superstep alone.
    #[must_use]
    pub fn computation(&self, process: usize, host: usize) -> f64 {
        self.processes[process].instructions / self.hosts[host].rate
    }

    /// Seconds that `process` needs in `set` to receive what it receives in a superstep.
    #[must_use]
    pub fn communication(&self, process: usize, set: SetId) -> f64 {
        self.receptions[process * self.sets() + set.index()]
    }

    /// Seconds that a process in `set` adds to every superstep besides what it makes its host do.
    #[must_use]
    pub fn toll(&self, set: SetId) -> f64 {
        non_negative(self.tolls.get(set.index()).copied().unwrap_or_default())
    }

    /// Seconds that `process` takes to move from where it runs to `host`; nothing if it runs there.
    #[must_use]
    pub fn migration(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        if from == host {
            return 0.0;
        }
        let image = self.processes[process].image;
        self.price(image, self.hosts[from].set, self.hosts[host].set)
    }

    /// Seconds that somebody with this image takes to move from one Set to another.
    pub(crate) fn price(&self, image: Image, from: SetId, to: SetId) -> f64 {
        self.dearness * self.cost.of(image, self.rate(from, to)).get()
    }

    /// Seconds that it takes to get from the present placement to `places`, as [`Burden`] says.
    #[must_use]
    pub fn cost(&self, places: &[usize]) -> Seconds {
        let mut bill = Bill::new(self);
        for (process, host) in places.iter().enumerate() {
            bill.moves(process, self.places[process], *host);
        }
        seconds(bill.total())
    }

    /// What moves that are made together take.
    #[must_use]
    pub fn burden(&self) -> Burden {
        self.burden
    }

    /// Seconds that the supersteps of the horizon and the moves to `mapping` take together, equation
    /// `OBJECTIVE` of `docs/model.md`.
    #[must_use]
    pub fn objective(&self, mapping: &Mapping<'_>) -> f64 {
        self.horizon * mapping.longest() + self.cost(mapping.places()).get()
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

    /// Seconds that `load` needs in `set` to receive what it receives in a superstep, from where `seat` says that
    /// each Set's processes are.
    pub(crate) fn reception(&self, load: &Load, set: SetId, seat: impl Fn(SetId) -> SetId) -> f64 {
        let (mut time, mut latency) = (0.0, 0.0);
        for received in &load.received {
            let sender = seat(received.set);
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

fn rate_of(rates: &[Vec<f64>], from: SetId, to: SetId) -> f64 {
    let rate = rates
        .get(from.index())
        .and_then(|rates| rates.get(to.index()));
    non_negative(rate.copied().unwrap_or_default())
}

/// Counts those that compute nothing yet, or for once, as the mean of the others, since they may compute as much
/// soon, and had better not all be on one host when they do; and those of them that have computed as others do, and
/// seem to have finished, as nothing.
fn even_out(processes: &mut [Load]) {
    let most = processes
        .iter()
        .map(|load| load.instructions)
        .fold(0.0, f64::max);
    // Who only ever prepared itself has not begun.
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

/// Who computes less than this part of what the busiest does computes nothing.
const IDLE_OF_BUSIEST: f64 = 0.01;

#[cfg(test)]
impl Scene {
    /// Prices moves anew.
    pub(crate) fn make_cost(&mut self, cost: MigrationCost) {
        self.cost = cost;
    }
}

#[cfg(test)]
mod tests {
    use bsp::{HostId, Image};

    use super::*;

    /// By what it will execute, and by the most that it did if it seems to have finished.
    fn evened_out(loads: &[(f64, Option<f64>)]) -> Vec<f64> {
        let load = |&(instructions, finished): &(f64, Option<f64>)| Load {
            rank: Rank(0),
            host: HostId(0),
            instructions,
            finished,
            image: Image::default(),
            received: Vec::new(),
        };
        let mut loads: Vec<Load> = loads.iter().map(load).collect();
        even_out(&mut loads);
        loads.iter().map(|load| load.instructions).collect()
    }

    #[test]
    fn who_has_not_begun_counts_and_who_has_finished_does_not() {
        let loads = [
            (4e9, None),
            (2e9, None),
            (0.0, None),
            (1e6, None),
            (0.0, Some(3e9)),
            (1e-60, Some(3e9)),
            // It did much more once, and goes on as others do.
            (3e9, Some(900e9)),
            // It has only prepared itself.
            (0.0, Some(1e6)),
        ];
        let expected = [4e9, 2e9, 3e9, 3e9, 0.0, 0.0, 3e9, 3e9];
        assert_eq!(evened_out(&loads), expected);
    }
}
