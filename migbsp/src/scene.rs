//! What there is to plan with: hosts, processes, and what it costs to move them.

use bsp::units::Seconds;
use bsp::{HostId, Image, Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::{non_negative, seconds};
use crate::{MigrationCost, Processor};

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
    cost: MigrationCost,
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
    /// Its memory image.
    pub image: Image,
    /// Bytes that it will receive in a superstep, by the sender's Set.
    pub received: Vec<(SetId, f64)>,
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
}

impl Load {
    /// What can be computed with: numbers that mean something.
    fn sound(mut self) -> Self {
        self.instructions = non_negative(self.instructions);
        for (_, bytes) in &mut self.received {
            *bytes = non_negative(*bytes);
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
        let (places, processes) = loads
            .into_iter()
            .filter_map(|load| Some((place(load.host)?, load.sound())))
            .unzip();
        Self {
            hosts,
            processes,
            places,
            rates,
            cost,
            dearness: non_negative(outlook.dearness),
            horizon: non_negative(outlook.horizon),
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
        self.rates.len()
    }

    /// Seconds that one byte takes from Set to Set.
    #[must_use]
    pub fn rate(&self, from: SetId, to: SetId) -> f64 {
        let rate = self
            .rates
            .get(from.index())
            .and_then(|rates| rates.get(to.index()));
        non_negative(rate.copied().unwrap_or_default())
    }

    /// Seconds that `process` needs on `host` to compute a superstep alone.
    #[must_use]
    pub fn computation(&self, process: usize, host: usize) -> f64 {
        self.processes[process].instructions / self.hosts[host].rate
    }

    /// Seconds that `process` needs in `set` to receive what it receives in a superstep.
    #[must_use]
    pub fn communication(&self, process: usize, set: SetId) -> f64 {
        let received = &self.processes[process].received;
        received
            .iter()
            .map(|(from, bytes)| bytes * self.rate(*from, set))
            .sum()
    }

    /// Seconds that `process` takes to move from where it runs to `host`; nothing if it runs there.
    #[must_use]
    pub fn migration(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        if from == host {
            return 0.0;
        }
        let rate = self.rate(self.hosts[from].set, self.hosts[host].set);
        let image = self.processes[process].image;
        self.dearness * self.cost.of(image, rate).get()
    }

    /// Seconds that it takes to get from the present placement to `places`, all moves together: what the
    /// busiest host sends or receives.
    #[must_use]
    pub fn cost(&self, places: &[usize]) -> Seconds {
        let mut busy = vec![[0.0; 2]; self.hosts.len()];
        for (process, (from, to)) in self.places.iter().zip(places).enumerate() {
            let time = self.migration(process, *to);
            busy[*from][0] += time;
            busy[*to][1] += time;
        }
        seconds(busy.into_iter().flatten().fold(0.0, f64::max))
    }

    /// The moves from the present placement to `places`, in rank order.
    #[must_use]
    pub fn moves(&self, places: &[usize]) -> Vec<Move> {
        let both = self.places.iter().zip(places);
        let moving = self.processes.iter().zip(both);
        moving
            .filter(|(_, (from, to))| from != to)
            .map(|(load, (from, to))| Move {
                rank: load.rank,
                from: self.hosts[*from].id,
                to: self.hosts[*to].id,
            })
            .collect()
    }
}
