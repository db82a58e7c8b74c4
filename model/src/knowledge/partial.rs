//! A placement that is made process by process, without messages.

use std::collections::{BTreeMap, BTreeSet};

use bsp::SetId;

use crate::{Host, Snapshot};

/// An assignment to which list schedulers add one process after the other. It leaves messages out, because not all
/// receivers are placed; else a superstep takes what it takes in an [`Assignment`](crate::Assignment).
///
/// Adding a process costs the logarithm of the number of hosts, however many processes a host has.
#[derive(Clone, Debug)]
pub(crate) struct PartialAssignment<'a> {
    snapshot: &'a Snapshot,
    /// The host of each process; of one that is not placed yet, the present one.
    places: Vec<usize>,
    /// By host.
    piles: Vec<Pile>,
    /// By host: seconds until its last process is known to have arrived at the barrier.
    times: Vec<f64>,
    /// `None` before a host is looked for.
    by_work: Option<HostsByWork>,
    /// Whether each Set has a process.
    is_in_use: Vec<bool>,
    /// What all processes add to a superstep, in seconds.
    barrier: f64,
    /// Seconds for which owners' jobs are expected to interrupt a superstep, on all hosts together.
    interrupted: f64,
    /// The same by host.
    interruptions: Vec<f64>,
}

impl<'a> PartialAssignment<'a> {
    /// No process is on a host yet; [`places`](Self::places) says where each one runs at present.
    pub(crate) fn empty(snapshot: &'a Snapshot) -> Self {
        let hosts = snapshot.hosts().len();
        Self {
            snapshot,
            places: snapshot.places().to_vec(),
            piles: vec![Pile::default(); hosts],
            times: vec![0.0; hosts],
            by_work: None,
            is_in_use: vec![false; snapshot.sets()],
            barrier: 0.0,
            interrupted: 0.0,
            interruptions: vec![0.0; hosts],
        }
    }

    /// Places `process`, which was not placed yet, on `host`.
    pub(crate) fn add(&mut self, process: usize, host: usize) {
        self.snapshot.count_candidate();
        self.places[process] = host;
        let machine = &self.snapshot.hosts()[host];
        let pile = &mut self.piles[host];
        let before = pile.work;
        pile.add(self.snapshot.processes()[process].instructions, machine);
        let (after, end) = (pile.work, pile.end(machine));
        if let Some(hosts) = &mut self.by_work {
            hosts.update(host, before, after);
        }
        let barrier = self.snapshot.barrier(machine.set);
        self.is_in_use[machine.set.index()] = true;
        self.barrier += barrier.process();
        self.times[host] = barrier.release() + (end + barrier.arrival());
        if 0.0 < machine.interruption {
            let interruption = machine.interruption * end;
            self.interrupted += interruption - self.interruptions[host];
            self.interruptions[host] = interruption;
        }
    }

    /// The host of each process, by process; of one that is not placed yet, the present one.
    pub(crate) fn places(&self) -> &[usize] {
        &self.places
    }

    /// The same, without the rest.
    pub(crate) fn into_places(self) -> Vec<usize> {
        self.places
    }

    /// Seconds from the release of a superstep until the last process of a host has arrived at the barrier; zero for an
    /// empty host.
    pub(crate) fn time(&self, host: usize) -> f64 {
        self.times[host]
    }

    /// Seconds that `host` would take for a superstep if `process` were on it, too.
    pub(crate) fn time_with(&self, process: usize, host: usize) -> f64 {
        self.snapshot.count_candidate();
        let barrier = self.snapshot.barrier(self.snapshot.hosts()[host].set);
        let computing = self.computation_with(process, host);
        barrier.release() + (computing + barrier.arrival())
    }

    /// Seconds that `host` would compute in a superstep if `process` were on it, too.
    pub(crate) fn computation_with(&self, process: usize, host: usize) -> f64 {
        let work = self.snapshot.processes()[process].instructions;
        self.piles[host].end_with(work, &self.snapshot.hosts()[host])
    }

    /// How long a superstep takes, in seconds, without what owners' jobs are expected to interrupt it for: they interrupt
    /// all hosts together, not the slowest one.
    pub(crate) fn uninterrupted(&self) -> f64 {
        let exchange = self
            .snapshot
            .barrier_exchange(|set| self.is_in_use[set.index()]);
        let slowest = self.times.iter().copied().fold(0.0, f64::max);
        let longest = self.barrier + exchange + self.interrupted + slowest;
        longest - self.interrupted
    }

    /// The host that [would take least](Self::time_with) with `process`, of nearly equal ones the first one. This looks at
    /// one or a few hosts of each group of equal ones.
    pub(crate) fn fastest_host(&mut self, process: usize) -> usize {
        self.fastest_of(process, None)
    }

    /// The same among the hosts of a Set.
    pub(crate) fn fastest_host_in(&mut self, set: SetId, process: usize) -> usize {
        self.fastest_of(process, Some(set))
    }

    fn fastest_of(&mut self, process: usize, set: Option<SetId>) -> usize {
        if self.by_work.is_none() {
            self.by_work = Some(HostsByWork::new(self.snapshot, &self.piles));
        }
        let by_work = self.by_work.as_ref().expect("it has just been made");
        let work = self.snapshot.processes()[process].instructions;
        let mut best = (0, f64::INFINITY);
        for group in by_work.groups(set) {
            for (host, least) in group.least_times(work) {
                let is_better = |time: f64| {
                    let limit = if host < best.0 {
                        best.1 * (1.0 + ROUNDING)
                    } else {
                        best.1 * (1.0 - ROUNDING)
                    };
                    time < limit
                };
                // The hosts after it have no less to execute.
                if !is_better(least) {
                    break;
                }
                let time = self.time_with(process, host);
                if is_better(time) {
                    best = (host, time);
                }
            }
        }
        best.0
    }
}

/// A smaller part of a time is rounding.
const ROUNDING: f64 = 1e-9;

/// The work of the processes of a host, in instructions, as far as it says when all have computed.
///
/// While as many processes compute as there are cores or more, all cores are busy; then the heaviest process alone
/// decides. So the last one ends after what the others than the heaviest (as many as cores) execute on all cores, and then
/// all that the heaviest one executes. Equation `COMPUTING` of `docs/model.md`.
#[derive(Clone, Debug, Default)]
struct Pile {
    /// The sum.
    work: f64,
    /// The heaviest ones, as many as there are cores, the lightest of them first; empty with one core, whose work is all
    /// that counts.
    heaviest: Vec<f64>,
    /// The sum of the others.
    rest: f64,
}

impl Pile {
    fn add(&mut self, work: f64, machine: &Host) {
        self.work += work;
        if machine.cores <= 1.0 {
            return;
        }
        let at = self.heaviest.partition_point(|other| *other <= work);
        self.heaviest.insert(at, work);
        if machine.cores < crate::bounded::count(self.heaviest.len()) {
            self.rest += self.heaviest.remove(0);
        }
    }

    /// When all processes have computed.
    fn end(&self, machine: &Host) -> f64 {
        if machine.cores <= 1.0 {
            return self.work / machine.rate;
        }
        let heaviest = self.heaviest.last().copied().unwrap_or_default();
        self.rest / machine.cores / machine.rate + heaviest / machine.rate
    }

    /// The same with a process that executes `work`, too.
    fn end_with(&self, work: f64, machine: &Host) -> f64 {
        if machine.cores <= 1.0 {
            return (self.work + work) / machine.rate;
        }
        let is_full = machine.cores <= crate::bounded::count(self.heaviest.len());
        let lightest = self.heaviest.first().copied().unwrap_or_default();
        let others = if is_full { work.min(lightest) } else { 0.0 };
        let heaviest = self.heaviest.last().copied().unwrap_or_default().max(work);
        (self.rest + others) / machine.cores / machine.rate + heaviest / machine.rate
    }
}

/// The hosts of an assignment, in groups of equal ones, each with the host first that has least to execute.
#[derive(Clone, Debug)]
struct HostsByWork {
    groups: Vec<Group>,
    /// By host: its group.
    group: Vec<usize>,
    /// By Set: its groups.
    of_set: Vec<Vec<usize>>,
}

/// Hosts of one Set that are equally fast.
#[derive(Clone, Debug)]
struct Group {
    /// Instructions per second of all cores of one host.
    capacity: f64,
    /// Seconds of a superstep in which its processes cannot compute.
    offset: f64,
    /// The bits of the instructions, which order as these do, and the host.
    hosts: BTreeSet<(u64, usize)>,
    /// The first of these.
    idlest: (u64, usize),
}

impl HostsByWork {
    fn new(snapshot: &Snapshot, piles: &[Pile]) -> Self {
        let mut equal: BTreeMap<(SetId, u64, u64), usize> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut members: Vec<Vec<(u64, usize)>> = Vec::new();
        let mut of_set = vec![Vec::new(); snapshot.sets()];
        let hosts = snapshot.hosts().iter().zip(piles).enumerate();
        let group = hosts.map(|(number, (host, pile))| {
            let key = (host.set, host.rate.to_bits(), host.cores.to_bits());
            let index = *equal.entry(key).or_insert(groups.len());
            if index == groups.len() {
                let barrier = snapshot.barrier(host.set);
                groups.push(Group {
                    capacity: host.cores * host.rate,
                    offset: barrier.release() + barrier.arrival(),
                    hosts: BTreeSet::new(),
                    idlest: (pile.work.to_bits(), number),
                });
                members.push(Vec::new());
                of_set[host.set.index()].push(index);
            }
            members[index].push((pile.work.to_bits(), number));
            index
        });
        let group = group.collect();
        for (group, members) in groups.iter_mut().zip(members) {
            group.hosts = BTreeSet::from_iter(members);
            group.find_idlest();
        }
        Self {
            groups,
            group,
            of_set,
        }
    }

    /// The groups of a Set; `None`: of all.
    fn groups(&self, set: Option<SetId>) -> impl Iterator<Item = &Group> {
        let of_set = set.map(|set| &self.of_set[set.index()]);
        let number = of_set.map_or(self.groups.len(), Vec::len);
        (0..number).map(move |index| &self.groups[of_set.map_or(index, |groups| groups[index])])
    }

    /// The processes of `host` execute `after` instructions instead of `before`.
    fn update(&mut self, host: usize, before: f64, after: f64) {
        let group = &mut self.groups[self.group[host]];
        group.hosts.remove(&(before.to_bits(), host));
        group.hosts.insert((after.to_bits(), host));
        group.find_idlest();
    }
}

impl Group {
    fn find_idlest(&mut self) {
        self.idlest = *self.hosts.first().expect("a group has a host");
    }

    /// The hosts, those first that have least to execute, each with the seconds that a superstep takes at least with
    /// `work` more instructions: those in which all cores are busy.
    fn least_times(&self, work: f64) -> impl Iterator<Item = (usize, f64)> {
        // Most callers look no further than at the first.
        let others = || self.hosts.iter().skip(1).copied();
        let hosts = std::iter::once(self.idlest).chain(std::iter::once_with(others).flatten());
        hosts.map(move |(bits, host)| {
            let work = f64::from_bits(bits) + work;
            (host, self.offset + work / self.capacity)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Assignment;
    use crate::plan::tests::{any_snapshot, crowded_snapshot};

    /// Adds every process on its present host, the heaviest first, and looks at the times of hosts.
    fn check(snapshot: &Snapshot) -> Result<(), TestCaseError> {
        // A complete assignment knows messages: only what hosts compute is compared.
        let complete = Assignment::present(snapshot);
        let mut partial = PartialAssignment::empty(snapshot);
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * (1.0 + other);
        for process in snapshot.heaviest_first().iter().copied() {
            let host = snapshot.places()[process];
            let expected = partial.time_with(process, host);
            let fastest = partial.fastest_host(process);
            let least = partial.time_with(process, fastest);
            for other in 0..snapshot.hosts().len() {
                prop_assert!(least <= partial.time_with(process, other) * (1.0 + 1e-6));
            }
            partial.add(process, host);
            prop_assert!(close(partial.time(host), expected));
        }
        for host in 0..snapshot.hosts().len() {
            let barrier = snapshot.barrier(snapshot.hosts()[host].set);
            let computing = complete.computation_with(host, None, None);
            let expected = barrier.release() + computing + barrier.arrival();
            let is_empty = complete.residents(host).is_empty();
            prop_assert!(is_empty || close(partial.time(host), expected));
        }
        Ok(())
    }

    #[test]
    fn hosts_take_as_long_as_in_a_complete_assignment_without_messages() {
        proptest!(|(snapshot in any_snapshot())| check(&snapshot)?);
        proptest!(|(snapshot in crowded_snapshot())| check(&snapshot)?);
    }
}
