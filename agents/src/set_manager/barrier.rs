//! Arrivals at the barrier.

use std::collections::BTreeMap;
use std::iter;

use bsp::{HostId, Rank, SetId};
use protocol::{Address, Arrived};

use crate::check::check;
use crate::setup::{Rules, Shape};

/// The agents that a Manager waits for at the barrier, and that it releases afterwards.
#[derive(Debug)]
pub(super) enum Barrier {
    /// The first Manager waits for every process itself.
    Processes {
        /// By rank.
        processes: Vec<Participation>,
        /// The number of processes that have not halted.
        living: u32,
        arrived: Option<Arrived>,
    },
    /// A Manager waits for the nodes of its Set, then for the other Managers.
    Sets {
        /// The processes on the hosts of the own Set; hosts without processes are omitted.
        hosts: BTreeMap<HostId, Residents>,
        /// The number of processes that have not halted in each Set, by Set.
        sets: Vec<u32>,
        /// Reports of the own Set's nodes so far.
        own: Option<Arrived>,
        /// Reports of whole Sets so far.
        all: Option<Arrived>,
        /// The Sets that have arrived, with the number of their processes that halted in this superstep.
        leaving: Vec<(SetId, u32)>,
    },
}

/// The processes on one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Residents {
    /// The number of processes that have not halted.
    living: u32,
    /// The number of processes that halted in the superstep that is ending.
    leaving: u32,
    /// Whether they have arrived at the end of this superstep.
    have_arrived: bool,
}

/// Whether a process takes part in the next superstep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Participation {
    Living,
    /// It has arrived at the end of this superstep.
    Arrived,
    /// It halted in the superstep that is ending.
    Leaving,
    Gone,
}

impl Barrier {
    /// The barrier of the Manager of `set` at the start.
    pub(super) fn new(rules: &Rules, set: SetId) -> Self {
        if rules.barrier.shape == Shape::Hierarchical {
            let mut hosts: BTreeMap<HostId, Residents> = BTreeMap::new();
            for (_, host) in rules.running() {
                if rules.sets[host.index()] == set {
                    hosts.entry(host).or_default().living += 1;
                }
            }
            return Self::Sets {
                hosts,
                sets: rules.in_set.clone(),
                own: None,
                all: None,
                leaving: Vec::new(),
            };
        }
        let mut processes = Vec::new();
        let mut living = 0;
        if set == rules.first {
            processes = vec![Participation::Gone; rules.placement.len()];
            for (rank, _) in rules.running() {
                processes[rank.index()] = Participation::Living;
                living += 1;
            }
        }
        Self::Processes {
            processes,
            living,
            arrived: None,
        }
    }

    /// Moves a process that has not halted.
    pub(super) fn moved(&mut self, rules: &Rules, own_set: SetId, (from, to): (HostId, HostId)) {
        let Self::Sets { hosts, sets, .. } = self else {
            return;
        };
        let (from_set, to_set) = (rules.sets[from.index()], rules.sets[to.index()]);
        sets[from_set.index()] -= 1;
        sets[to_set.index()] += 1;
        if from_set == own_set {
            let here = hosts.get_mut(&from).expect("a process lived there");
            here.living -= 1;
            if here.living == 0 && here.leaving == 0 {
                // No process arrived there, so none waits for the next superstep.
                hosts.remove(&from);
            }
        }
        if to_set == own_set {
            hosts.entry(to).or_default().living += 1;
        }
    }

    /// Whether a process that has not halted can move from a host and a Set.
    pub(super) fn can_move(&self, rules: &Rules, own_set: SetId, from: HostId) -> bool {
        let Self::Sets { hosts, sets, .. } = self else {
            return true;
        };
        let set = rules.sets[from.index()];
        let is_there = |here: &Residents| 0 < here.living;
        0 < sets[set.index()] && (set != own_set || hosts.get(&from).is_some_and(is_there))
    }

    /// The Set whose Manager tells the others with its arrival whether a checkpoint is due: the `first`, or if it has no
    /// processes any more the lowest that has.
    pub(super) fn deciding(&self, first: SetId) -> SetId {
        let Self::Sets { sets, .. } = self else {
            return first;
        };
        let has_processes = |set: &SetId| 0 < sets[set.index()];
        let mut all = iter::once(first).chain((0..sets.len()).map(SetId::from_index));
        all.find(has_processes).unwrap_or(first)
    }

    /// Checks that `report` is what `from` may report now. It names processes that exist.
    pub(super) fn check(
        &self,
        rules: &Rules,
        own_set: SetId,
        from: Address,
        report: &Arrived,
    ) -> Result<(), String> {
        let expected = match (self, from) {
            (Self::Processes { processes, .. }, Address::Process(rank)) => {
                let participation = processes.get(rank.index());
                let is_living = participation == Some(&Participation::Living);
                u32::from(is_living && report.slowest.1 == rank)
            }
            (Self::Sets { hosts, .. }, Address::Node(host))
                if rules.sets[host.index()] == own_set =>
            {
                let here = hosts.get(&host).filter(|here| !here.have_arrived);
                here.map_or(0, |here| here.living)
            }
            (Self::Sets { sets, leaving, .. }, Address::SetManager(set))
                if leaving.iter().all(|(arrived, _)| *arrived != set) =>
            {
                sets[set.index()]
            }
            _ => 0,
        };
        let decides = from == Address::SetManager(self.deciding(rules.first));
        check(!report.checkpoint || decides, || {
            format!("{from:?} does not decide about checkpoints")
        })?;
        let Arrived {
            superstep,
            processes,
            halted,
            ..
        } = *report;
        let is_expected = 0 < expected && processes == expected && halted <= processes;
        check(is_expected, || {
            format!("{processes} processes arrived in superstep {superstep}, expected {expected}")
        })
    }

    /// Adds a report that [`Self::check`] accepts. When it completes the own Set, returns the report to the other
    /// Managers.
    pub(super) fn arrive(
        &mut self,
        rules: &Rules,
        own_set: SetId,
        from: Address,
        report: Arrived,
    ) -> Option<Arrived> {
        match self {
            Self::Processes {
                processes, arrived, ..
            } => {
                processes[report.slowest.1.index()] = if report.halted == 1 {
                    Participation::Leaving
                } else {
                    Participation::Arrived
                };
                *arrived = Some(arrived.map_or(report, |others| others.and(report)));
                None
            }
            Self::Sets {
                hosts,
                sets,
                own,
                all,
                leaving,
            } => match from {
                Address::Node(host) => {
                    assert_eq!(rules.sets[host.index()], own_set, "a node of another Set");
                    let here = hosts.get_mut(&host).expect("a process lives there");
                    here.living -= report.halted;
                    here.leaving += report.halted;
                    here.have_arrived = true;
                    let together = own.map_or(report, |others| others.and(report));
                    *own = Some(together);
                    if together.processes < sets[own_set.index()] {
                        return None;
                    }
                    leaving.push((own_set, together.halted));
                    *all = Some(all.map_or(together, |others| others.and(together)));
                    Some(together)
                }
                Address::SetManager(set) => {
                    leaving.push((set, report.halted));
                    *all = Some(all.map_or(report, |others| others.and(report)));
                    None
                }
                Address::Process(_) | Address::Client => {
                    unreachable!("{from:?} does not report here")
                }
            },
        }
    }

    /// The sum of all arrivals, once all processes have arrived.
    pub(super) fn complete(&mut self) -> Option<Arrived> {
        match self {
            Self::Processes {
                living, arrived, ..
            } => {
                let together = arrived.filter(|together| together.processes == *living)?;
                *living -= together.halted;
                *arrived = None;
                Some(together)
            }
            Self::Sets {
                sets,
                own,
                all,
                leaving,
                ..
            } => {
                let expected: u32 = sets.iter().sum();
                let together = all.filter(|together| together.processes == expected)?;
                for (set, halted) in leaving.drain(..) {
                    sets[set.index()] -= halted;
                }
                *own = None;
                *all = None;
                Some(together)
            }
        }
    }

    /// Calls `send` for each agent that arrived or has moved here since, in order, with whether it has halted.
    pub(super) fn release(&mut self, mut send: impl FnMut(Address, bool)) {
        match self {
            Self::Processes { processes, .. } => {
                for (index, presence) in processes.iter_mut().enumerate() {
                    let to = Address::Process(Rank::from_index(index));
                    match presence {
                        Participation::Living | Participation::Arrived => {
                            *presence = Participation::Living;
                            send(to, false);
                        }
                        Participation::Leaving => {
                            *presence = Participation::Gone;
                            send(to, true);
                        }
                        Participation::Gone => {}
                    }
                }
            }
            Self::Sets { hosts, .. } => {
                hosts.retain(|host, here| {
                    send(Address::Node(*host), here.living == 0);
                    here.leaving = 0;
                    here.have_arrived = false;
                    0 < here.living
                });
            }
        }
    }

    /// The lowest rank after `last` that has not halted.
    pub(super) fn next_living(&self, last: Option<Rank>) -> Option<Rank> {
        let Self::Processes { processes, .. } = self else {
            return None;
        };
        let first = last.map_or(0, |rank| rank.index() + 1);
        let later = processes.iter().enumerate().skip(first);
        later
            .filter(|(_, presence)| {
                matches!(presence, Participation::Living | Participation::Arrived)
            })
            .map(|(index, _)| Rank::from_index(index))
            .next()
    }

    /// Whether all processes have halted.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Processes { living, .. } => *living == 0,
            Self::Sets { sets, .. } => sets.iter().all(|living| *living == 0),
        }
    }
}

#[cfg(test)]
mod tests;
