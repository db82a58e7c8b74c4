//! The observations that a call was decided from.

use std::collections::{BTreeMap, BTreeSet};

use bsp::{HostId, Rank, SetId};
use migbsp::{Inventory, Load, Measurements, Processor};
use record::{Evaluated, Evaluation, Hosts, Observed};

use super::comparison::Names;

/// The observations of a call, while they are read.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) observed: BTreeMap<Rank, Observed>,
    pub(super) evaluated: BTreeMap<SetId, Evaluated>,
}

/// The observations of a call.
///
/// Invariant: every Set is there and has its hosts, every host is in one Set, and every process that took part is
/// listed in the Set where it lives, with potentials for every Set.
#[derive(Debug)]
pub(super) struct Observations {
    /// By Set.
    evaluated: Vec<Evaluated>,
    observed: BTreeMap<Rank, Observed>,
    /// The Set of each host.
    sets: Vec<SetId>,
    /// Where each process is found: Set, and position in it.
    positions: BTreeMap<Rank, (usize, usize)>,
}

/// What is missing or contradictory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gap {
    /// There are no observations.
    #[error("it does not say what was observed; the record was made by an earlier version")]
    Version,
    /// The observations of a Set are missing or incomplete.
    #[error("not all Sets say what they have, and how far it is to the others")]
    Set,
    /// A host is in no Set, or in several.
    #[error("not every host is in one Set")]
    Host,
    /// A process takes part twice, on another host than its own, or without all potentials.
    #[error("{0} is not found once, in the Set where it lives, with a potential for every Set")]
    Process(Rank),
    /// The duration of the call is negative.
    #[error("it took less than no time")]
    Cost,
}

impl Gathered {
    /// The observations of `processes` processes, if they are complete; the hosts in `absent` have not joined.
    pub(super) fn complete(
        self,
        names: &Names,
        processes: usize,
        absent: &BTreeSet<HostId>,
    ) -> Result<Observations, Gap> {
        let Self {
            observed,
            evaluated,
        } = self;
        let evaluated: Vec<Evaluated> = evaluated.into_values().collect();
        if evaluated.iter().all(|set| set.hosts.is_empty()) {
            return Err(Gap::Version);
        }
        let number = names.sets.len();
        let is_complete = |(index, set): (usize, &Evaluated)| {
            set.set == SetId::from_index(index) && set.transfer_rates.len() == number
        };
        if evaluated.len() != number || !evaluated.iter().enumerate().all(is_complete) {
            return Err(Gap::Set);
        }
        let sets = sets_of_hosts(&evaluated, names.hosts.len(), absent).ok_or(Gap::Host)?;
        let mut positions = BTreeMap::new();
        for (set, found) in evaluated.iter().enumerate() {
            for (position, process) in found.processes.iter().enumerate() {
                let rank = process.rank;
                let own = sets.get(process.host.index());
                let mut potentials = process.potentials.iter().enumerate();
                let is_sound = own == Some(&found.set)
                    && rank.index() < processes
                    && observed.contains_key(&rank)
                    && process.potentials.len() == number
                    && potentials.all(|(set, of)| of.set == SetId::from_index(set));
                if !is_sound || positions.insert(rank, (set, position)).is_some() {
                    return Err(Gap::Process(rank));
                }
            }
        }
        Ok(Observations {
            evaluated,
            observed,
            sets,
            positions,
        })
    }
}

impl Observations {
    /// All Sets, in order.
    pub(super) fn sets(&self) -> impl Iterator<Item = (SetId, &Evaluated)> {
        self.evaluated
            .iter()
            .map(|evaluated| (evaluated.set, evaluated))
    }

    /// All processes that took part, by Set and rank.
    pub(super) fn processes(&self) -> impl Iterator<Item = &Evaluation> {
        self.evaluated.iter().flat_map(|found| &found.processes)
    }

    /// Corrects the hosts of processes, by rank, from the observations.
    pub(super) fn locate(&self, lives: &mut [HostId]) {
        for process in self.processes() {
            lives[process.rank.index()] = process.host;
        }
    }

    /// The observations of a Set.
    pub(super) fn set_of(&self, set: SetId) -> &Evaluated {
        &self.evaluated[set.index()]
    }

    /// The Set of a host.
    pub(super) fn set(&self, host: HostId) -> SetId {
        self.sets[host.index()]
    }

    /// A process's observations of itself, if it took part.
    pub(super) fn of(&self, rank: Rank) -> &Observed {
        &self.observed[&rank]
    }

    /// The most supersteps that each process that took part executes from now on.
    pub(super) fn remaining(&self) -> impl Iterator<Item = Option<u64>> {
        let processes = self.processes();
        processes.map(|process| self.of(process.rank).remaining)
    }

    /// The evaluation of a process, if it took part.
    pub(super) fn evaluation(&self, rank: Rank) -> &Evaluation {
        let (set, position) = self.positions[&rank];
        &self.evaluated[set].processes[position]
    }

    /// The processors of a Set, without residents, under the load that `load` reads.
    pub(super) fn processors(&self, set: SetId, load: impl Fn(&Hosts) -> f64) -> Vec<Processor> {
        let hosts = self.set_of(set).hosts.iter();
        hosts
            .flat_map(|hosts| hosts.processors(load(hosts)))
            .collect()
    }

    /// The inventory of every Set, for a plan.
    pub(super) fn inventories(&self) -> Vec<Inventory> {
        let inventory = |(set, evaluated): (SetId, &Evaluated)| Inventory {
            processors: self.processors(set, |hosts| hosts.load_recent),
            loads: evaluated
                .processes
                .iter()
                .filter_map(|process| self.load(process))
                .collect(),
            rates: evaluated.transfer_rates.clone(),
            paths: evaluated.paths.clone(),
            barrier: evaluated.barrier.unwrap_or_default(),
            measured: Measurements {
                links: evaluated.links.clone(),
                external: evaluated.external.clone(),
            },
        };
        self.sets().map(inventory).collect()
    }

    /// The data that another Manager needs to place a process.
    fn load(&self, process: &Evaluation) -> Option<Load> {
        let observed = self.of(process.rank);
        Some(Load {
            rank: process.rank,
            host: process.host,
            instructions: observed.forecast?,
            finished: observed.finished,
            image: observed.image,
            received: observed.received.clone(),
            edges: observed.edges.clone(),
            noise: observed.noise,
        })
    }
}

/// The Set of each host, if each is in one.
fn sets_of_hosts(
    evaluated: &[Evaluated],
    number: usize,
    absent: &BTreeSet<HostId>,
) -> Option<Vec<SetId>> {
    let mut sets = vec![None; number];
    for found in evaluated {
        for host in found.hosts.iter().flat_map(Hosts::ids) {
            let before = sets.get_mut(host.index())?.replace(found.set);
            if before.is_some() {
                return None;
            }
        }
    }
    for host in absent {
        let set = sets.get_mut(host.index())?;
        // No process runs there, so its Set does not matter.
        if set.replace(SetId(0)).is_some() {
            return None;
        }
    }
    sets.into_iter().collect()
}
