//! Plans that divide the communication graph among Sets.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bsp::SetId;

use super::bound::{ROUNDING, least_superstep, shortest_limit};
use super::portfolio::EQUAL;
use crate::Snapshot;
use crate::bounded::count;
use crate::knowledge::PartialAssignment;

/// How much work each Set takes, and until when each host computes.
struct Quotas {
    /// The Sets that are used.
    sets: Vec<SetId>,
    /// By Set, in instructions; zero for Sets that are not used.
    work: Vec<f64>,
    /// By Set: seconds that its hosts may compute.
    limits: Vec<f64>,
}

/// Placements that use some of the Sets, each of them as much as its hosts, its distance from the barrier's master and
/// its messages to other Sets allow, and that cut few messages.
///
/// For every choice of Sets and two estimates of what messages between them take, the graph is divided in two ways:
/// grown from one process after the other, and refined from the present placement by moving the processes whose move
/// cuts least (Fiduccia and Mattheyses, 1982). Within a Set a process stays on its host if that is not overloaded.
/// Some placements may be equal. Sets on which no placement would be better than the present one, with supersteps of
/// `present` seconds, are left out.
pub(super) fn partitions(snapshot: &Snapshot, present: f64) -> Vec<(&'static str, Vec<usize>)> {
    let mut all = Vec::new();
    let mut traversals: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for sets in choices(snapshot) {
        let least = least_superstep(snapshot, |set| sets.contains(&set));
        if present * (1.0 - EQUAL) <= least {
            continue;
        }
        let is_single = sets.len() == 1;
        for crosses in [true, false] {
            if is_single && crosses {
                continue;
            }
            let quotas = Quotas::new(snapshot, &sets, crosses);
            if !is_single {
                for start in starts(snapshot, &sets) {
                    let order = traversals.entry(start);
                    let order = order.or_insert_with(|| traversal(snapshot, start));
                    let parts = grown(snapshot, &quotas, order);
                    all.push(("grown", placed(snapshot, &quotas, &parts)));
                }
            }
            let parts = refined(snapshot, &quotas);
            all.push(("refined", placed(snapshot, &quotas, &parts)));
        }
    }
    all
}

/// The Sets that are tried together: all combinations of a few, else the fastest ones, all, and the one nearest to the
/// barrier's master.
fn choices(snapshot: &Snapshot) -> Vec<Vec<SetId>> {
    let speed = |set: SetId| -> f64 {
        let hosts = snapshot.members(set).iter();
        let hosts = hosts.map(|host| &snapshot.hosts()[*host]);
        hosts.map(|host| host.rate * host.cores).sum()
    };
    let mut sets: Vec<SetId> = (0..snapshot.sets()).map(SetId::from_index).collect();
    sets.retain(|set| !snapshot.members(*set).is_empty());
    sets.sort_by(|one, other| speed(*other).total_cmp(&speed(*one)).then(one.cmp(other)));
    if sets.len() <= COMBINED_MAX {
        let all = 1..1_usize << sets.len();
        let chosen = |mask: usize| {
            let sets = sets.iter().enumerate();
            let chosen = sets.filter(move |(bit, _)| mask >> bit & 1 == 1);
            chosen.map(|(_, set)| *set).collect()
        };
        return all.map(chosen).collect();
    }
    let distance = |set: SetId| {
        let barrier = snapshot.barrier(set);
        barrier.process() + barrier.release() + barrier.arrival()
    };
    // The fastest among equals.
    let nearest = sets.iter().copied();
    let nearest = nearest.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
    let fastest = (1..=COMBINED_MAX).chain([sets.len()]);
    let mut choices: Vec<Vec<SetId>> = fastest.map(|number| sets[..number].to_vec()).collect();
    choices.extend(nearest.filter(|set| *set != sets[0]).map(|set| vec![set]));
    choices
}

impl Quotas {
    /// Of `sets`; `crosses` says whether every process is taken to wait for a message from another Set.
    fn new(snapshot: &Snapshot, sets: &[SetId], crosses: bool) -> Self {
        let loads = snapshot.processes();
        let total: f64 = loads.iter().map(|load| load.instructions).sum();
        let mean = (total / count(loads.len()).max(1.0)).max(f64::MIN_POSITIVE);
        let offsets: Vec<f64> = sets
            .iter()
            .map(|set| offset(snapshot, sets, *set, crosses))
            .collect();
        // Whole processes of mean work.
        let room = |limit: f64, index: usize| -> f64 {
            let hosts = snapshot.members(sets[index]).iter();
            let hosts = hosts.map(|host| &snapshot.hosts()[*host]);
            let seconds = (limit - offsets[index]).max(0.0);
            let whole = |capacity: f64| (capacity / mean * (1.0 + ROUNDING)).floor() * mean;
            hosts
                .map(|host| whole(seconds * host.rate * host.cores))
                .sum()
        };
        let all = |limit: f64| (0..sets.len()).map(|index| room(limit, index)).sum::<f64>();
        let (_, high) = shortest_limit(|limit| total <= all(limit));
        let mut quotas = Self {
            sets: sets.to_vec(),
            work: vec![0.0; snapshot.sets()],
            limits: vec![0.0; snapshot.sets()],
        };
        let scale = (total / all(high).max(f64::MIN_POSITIVE)).min(1.0);
        for (index, set) in sets.iter().enumerate() {
            quotas.work[set.index()] = room(high, index) * scale;
            quotas.limits[set.index()] = (high - offsets[index]).max(0.0);
        }
        quotas
    }
}

/// Seconds of a superstep in which the hosts of `set` cannot compute.
fn offset(snapshot: &Snapshot, sets: &[SetId], set: SetId, crosses: bool) -> f64 {
    let barrier = snapshot.barrier(set);
    let others = sets.iter().filter(|other| **other != set);
    let latency = |other: &SetId| {
        let network = snapshot.network();
        network
            .latency(set, *other)
            .max(network.latency(*other, set))
    };
    let crossing = if crosses {
        others.map(latency).fold(0.0, f64::max)
    } else {
        0.0
    };
    barrier.release() + barrier.arrival() + crossing
}

/// The processes to grow from: the first and the middle one of the first Set, and one at the end of the graph.
fn starts(snapshot: &Snapshot, sets: &[SetId]) -> Vec<usize> {
    let set = |host: usize| snapshot.hosts()[host].set;
    let places = snapshot.places().iter().enumerate();
    let here: Vec<usize> = places
        .filter(|(_, host)| set(**host) == sets[0])
        .map(|(process, _)| process)
        .collect();
    let last = traversal(snapshot, 0).last().copied().unwrap_or_default();
    let mut starts = vec![last];
    starts.extend(here.first());
    starts.extend(here.get(here.len() / 2));
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// All processes, breadth first along the graph from `start`.
fn traversal(snapshot: &Snapshot, start: usize) -> Vec<usize> {
    let size = snapshot.processes().len();
    let mut is_met = vec![false; size];
    let mut order = Vec::with_capacity(size);
    let mut queue = VecDeque::new();
    for first in std::iter::once(start).chain(0..size) {
        if std::mem::replace(&mut is_met[first], true) {
            continue;
        }
        queue.push_back(first);
        while let Some(process) = queue.pop_front() {
            order.push(process);
            for message in snapshot.graph().neighbours(process) {
                if !std::mem::replace(&mut is_met[message.other], true) {
                    queue.push_back(message.other);
                }
            }
        }
    }
    order
}

/// The Set of each process: one Set after the other takes processes in the `order` of a traversal of the graph.
fn grown(snapshot: &Snapshot, quotas: &Quotas, order: &[usize]) -> Vec<SetId> {
    let mut parts = vec![quotas.sets[0]; snapshot.processes().len()];
    let mut sets = quotas.sets.iter().copied().peekable();
    let mut used = 0.0;
    for process in order.iter().copied() {
        let work = snapshot.processes()[process].instructions;
        while let Some(set) = sets.peek().copied() {
            let is_last = *quotas.sets.last().expect("a Set is used") == set;
            if is_last || used + work / 2.0 <= quotas.work[set.index()] {
                parts[process] = set;
                used += work;
                break;
            }
            sets.next();
            used = 0.0;
        }
    }
    parts
}

/// The Set of each process: those of Sets that have too much work go to Sets that have too little, first those whose
/// move cuts fewest bytes; a process also moves if that cuts less.
fn refined(snapshot: &Snapshot, quotas: &Quotas) -> Vec<SetId> {
    let set = |host: &usize| snapshot.hosts()[*host].set;
    let mut parts: Vec<SetId> = snapshot.places().iter().map(set).collect();
    let mut used = vec![0.0; snapshot.sets()];
    for (process, part) in parts.iter().enumerate() {
        used[part.index()] += snapshot.processes()[process].instructions;
    }
    let size = parts.len();
    let mut queue = MoveQueue::new(size);
    for process in 0..size {
        queue.set(process, best_move(snapshot, quotas, &parts, process));
    }
    let mut moves = 0;
    while let Some((cut, process, to)) = queue.pop() {
        let from = parts[process];
        let work = snapshot.processes()[process].instructions;
        let over = used[from.index()] - work / 2.0 - quotas.work[from.index()];
        let room = quotas.work[to.index()] * (1.0 + ROUNDING) - used[to.index()];
        let helps = 0.0 < over || cut.0 < 0.0;
        if room < work / 2.0 || !helps || MOVES_PER_PROCESS * size < moves {
            continue;
        }
        moves += 1;
        parts[process] = to;
        used[from.index()] -= work;
        used[to.index()] += work;
        for message in snapshot.graph().neighbours(process) {
            let other = message.other;
            if queue.contains(other) {
                queue.set(other, best_move(snapshot, quotas, &parts, other));
            }
        }
    }
    parts
}

/// The move of `process` to another Set of the quotas that cuts least.
fn best_move(
    snapshot: &Snapshot,
    quotas: &Quotas,
    parts: &[SetId],
    process: usize,
) -> Option<(Cut, SetId)> {
    let own = parts[process];
    let mut bytes = vec![0.0; snapshot.sets()];
    for message in snapshot.graph().neighbours(process) {
        bytes[parts[message.other].index()] += message.bytes;
    }
    let others = quotas.sets.iter().filter(|set| **set != own);
    let cut = others.map(|set| (Cut(bytes[own.index()] - bytes[set.index()]), *set));
    cut.min()
}

/// Hosts for processes whose Sets are `parts`: a process stays on its host if that keeps to the limit, the heaviest
/// first; the others go to the host of their Set that ends first.
fn placed(snapshot: &Snapshot, quotas: &Quotas, parts: &[SetId]) -> Vec<usize> {
    let mut assignment = PartialAssignment::empty(snapshot);
    let mut unplaced = Vec::new();
    for process in snapshot.heaviest_first().iter().copied() {
        let host = snapshot.places()[process];
        let set = snapshot.hosts()[host].set;
        let limit = quotas.limits[set.index()] * (1.0 + ROUNDING);
        let end = || assignment.computation_with(process, host);
        if parts[process] == set && end() <= limit {
            assignment.add(process, host);
        } else {
            unplaced.push(process);
        }
    }
    for process in unplaced {
        let host = assignment.fastest_host_in(parts[process], process);
        assignment.add(process, host);
    }
    assignment.into_places()
}

/// Bounds the moves of a refinement.
const MOVES_PER_PROCESS: usize = 4;

/// The most Sets that are tried in all combinations.
const COMBINED_MAX: usize = 4;

/// At most one move of each process, ordered by the bytes that it cuts.
#[derive(Debug)]
struct MoveQueue {
    moves: BTreeSet<(Cut, usize, SetId)>,
    /// By process.
    queued: Vec<Option<(Cut, SetId)>>,
}

/// Bytes between Sets that a move adds; below zero, it saves them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut(f64);

impl Eq for Cut {}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl MoveQueue {
    /// No moves of `size` processes.
    fn new(size: usize) -> Self {
        Self {
            moves: BTreeSet::new(),
            queued: vec![None; size],
        }
    }

    /// Replaces the move of `process`; `None`: it has none.
    fn set(&mut self, process: usize, best: Option<(Cut, SetId)>) {
        if let Some((cut, to)) = self.queued[process].take() {
            self.moves.remove(&(cut, process, to));
        }
        if let Some((cut, to)) = best {
            self.moves.insert((cut, process, to));
        }
        self.queued[process] = best;
    }

    /// Removes the move that cuts least.
    fn pop(&mut self) -> Option<(Cut, usize, SetId)> {
        let first = self.moves.pop_first()?;
        self.queued[first.1] = None;
        Some(first)
    }

    /// Whether a move of `process` is in the queue.
    fn contains(&self, process: usize) -> bool {
        self.queued[process].is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::ring;

    #[test]
    fn a_ring_is_cut_twice() {
        // Eight processes alternate between two equal Sets.
        let snapshot = ring(8, |rank| rank % 2 * 4 + rank / 2);
        let crossings = |places: &[usize]| {
            let set = |process: usize| places[process % 8] / 4;
            (0..8)
                .filter(|process| set(*process) != set(*process + 1))
                .count()
        };
        assert_eq!(crossings(snapshot.places()), 8);
        let plans = partitions(&snapshot, f64::INFINITY);
        let both = plans.iter().filter(|(name, places)| {
            let first = places.iter().filter(|host| **host < 4).count();
            *name == "grown" && first == 4
        });
        assert!(both.clone().count() > 0, "{plans:?}");
        for (_, places) in both {
            assert_eq!(crossings(places), 2, "{places:?}");
        }
    }

    #[test]
    fn every_process_has_a_host_of_the_sets_that_are_used() {
        let snapshot = ring(12, |rank| rank % 8);
        for (name, places) in partitions(&snapshot, f64::INFINITY) {
            assert_eq!(places.len(), 12, "{name}");
            assert!(places.iter().all(|host| *host < 8), "{name}");
        }
    }
}
