//! What it costs to get from the present placement to another.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use bsp::units::Seconds;
use bsp::{HostId, SetId};

use crate::bounded::count;
use crate::{MigrationTime, Snapshot};

/// The moves from the present placement to another, and how long they take together; kept up to date while the
/// other placement changes.
///
/// Equation `BURDEN` of `docs/model.md`.
#[derive(Clone, Debug)]
pub struct MigrationSchedule<'a> {
    snapshot: &'a Snapshot,
    /// Seconds that each host spends sending and receiving process images, then the same for what each Set exchanges
    /// with others, and at last for what moves within each Set.
    busy: Maximum,
    /// Seconds that each process takes to move.
    processes: Maximum,
}

impl<'a> MigrationSchedule<'a> {
    /// The moves to `places`, by process; a number of a host.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let mut schedule = Self {
            snapshot,
            busy: Maximum::zeros(2 * snapshot.hosts().len() + 3 * snapshot.sets()),
            processes: Maximum::zeros(snapshot.processes().len()),
        };
        for (process, (from, to)) in snapshot.places().iter().zip(places).enumerate() {
            if from != to {
                schedule.redirect(process, *from, *to);
            }
        }
        schedule
    }

    /// Sends `process` to the host `after` instead of `before`; to the host that it runs on if it stays.
    pub fn redirect(&mut self, process: usize, before: usize, after: usize) {
        self.add(process, before, -1.0);
        self.add(process, after, 1.0);
        let time = self.snapshot.migration(process, after);
        self.processes.set(process, time);
    }

    /// How long all moves take together.
    #[must_use]
    pub fn cost(&self) -> Seconds {
        Seconds::bounded(self.total())
    }

    /// The same as a bare number of seconds.
    pub(crate) fn total(&self) -> f64 {
        match self.snapshot.migration_time() {
            MigrationTime::SharedLinks => self.busy.greatest(),
            MigrationTime::PerProcess => self.processes.greatest(),
        }
    }

    fn add(&mut self, process: usize, to: usize, sign: f64) {
        let time = sign * self.snapshot.migration(process, to);
        let shared = sign * self.snapshot.shared_migration(process, to);
        let from = self.snapshot.places()[process];
        let mut add = |number: usize, time: f64| {
            if time != 0.0 {
                self.busy.set(number, self.busy.get(number) + time);
            }
        };
        add(2 * from, time);
        add(2 * to + 1, time);
        let hosts = self.snapshot.hosts();
        let [source, target] = [from, to].map(|host| hosts[host].set);
        if source == target {
            add(
                2 * (hosts.len() + self.snapshot.sets()) + source.index(),
                shared,
            );
        } else {
            add(2 * (hosts.len() + source.index()), shared);
            add(2 * (hosts.len() + target.index()) + 1, shared);
        }
    }
}

/// How long each of the moves from the present placement to `places` takes beside the others.
///
/// Equation `BESIDE` of `docs/model.md`. If each process pays for its own move alone, that is what it takes alone.
pub(crate) fn move_times(snapshot: &Snapshot, places: &[usize]) -> BTreeMap<usize, f64> {
    let both = snapshot.places().iter().zip(places).enumerate();
    let moves = both.filter(|(_, (from, to))| from != to);
    let moves: Vec<(usize, Transfer)> = moves
        .map(|(process, (from, to))| {
            let ends =
                [*from, *to].map(|host| (snapshot.hosts()[host].id, snapshot.hosts()[host].set));
            let alone = snapshot.migration(process, *to);
            let shared = snapshot.shared_migration(process, *to);
            (process, Transfer::new(ends, alone, shared))
        })
        .collect();
    let times = match snapshot.migration_time() {
        MigrationTime::SharedLinks => together(moves.iter().map(|(_, transfer)| transfer)),
        MigrationTime::PerProcess => moves.iter().map(|(_, transfer)| transfer.alone).collect(),
    };
    let processes = moves.into_iter().map(|(process, _)| process);
    processes.zip(times).collect()
}

/// A move, and the seconds for which it occupies each of the links that it shares with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    alone: f64,
    links: [Option<(Link, f64)>; 4],
}

/// What moves share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    FromHost(HostId),
    ToHost(HostId),
    FromSet(SetId),
    ToSet(SetId),
    Within(SetId),
}

impl Transfer {
    /// From one host to another, each with its Set, in `alone` seconds, of which everything between these Sets shares `shared`.
    pub(super) fn new([from, to]: [(HostId, SetId); 2], alone: f64, shared: f64) -> Self {
        let sets = if from.1 == to.1 {
            [Some((Link::Within(from.1), shared)), None]
        } else {
            [Link::FromSet(from.1), Link::ToSet(to.1)].map(|link| Some((link, shared)))
        };
        let hosts = [Link::FromHost(from.0), Link::ToHost(to.0)].map(|link| Some((link, alone)));
        Self {
            alone,
            links: [hosts[0], hosts[1], sets[0], sets[1]],
        }
    }

    fn links(&self) -> impl Iterator<Item = (Link, f64)> {
        self.links.into_iter().flatten()
    }
}

/// Seconds that each of the transfers takes if those that share a link start together and have equal parts of it: one that
/// occupies a link for `s` seconds takes the sum of `min(s, t)` over all transfers there, of `t` seconds, on the link where
/// that is longest.
pub(super) fn together<'a>(transfers: impl Iterator<Item = &'a Transfer> + Clone) -> Vec<f64> {
    let mut links: BTreeMap<Link, Vec<f64>> = BTreeMap::new();
    for (link, seconds) in transfers.clone().flat_map(Transfer::links) {
        links.entry(link).or_default().push(seconds);
    }
    // In each link: the transfers from the shortest on, each with the sum of those up to it.
    let sums = links.into_iter().map(|(link, mut times)| {
        times.sort_by(f64::total_cmp);
        let sums = times.iter().scan(0.0, |sum, time| {
            *sum += time;
            Some(*sum)
        });
        let sums: Vec<f64> = sums.collect();
        (link, (times, sums))
    });
    let sums: BTreeMap<Link, (Vec<f64>, Vec<f64>)> = sums.collect();
    let on_link = |(link, seconds): (Link, f64)| {
        let (times, sums) = &sums[&link];
        let shorter = times.partition_point(|time| time.total_cmp(&seconds).is_le());
        let before = sums.get(shorter.wrapping_sub(1)).copied();
        before.unwrap_or_default() + count(times.len() - shorter) * seconds
    };
    let longest =
        |transfer: &Transfer| transfer.links().map(on_link).fold(transfer.alone, f64::max);
    transfers.map(longest).collect()
}

/// Numbers, and which of them is the greatest: a tournament, in which a change costs the logarithm of their number.
#[derive(Clone, Debug)]
pub(super) struct Maximum {
    /// The numbers are the second half; before them, number `i` is the greater one of numbers `2 i` and `2 i + 1`.
    nodes: Vec<f64>,
}

impl Maximum {
    /// As many zeros.
    pub(super) fn zeros(size: usize) -> Self {
        Self::of(std::iter::repeat_n(0.0, size))
    }

    /// These numbers.
    pub(super) fn of(numbers: impl ExactSizeIterator<Item = f64>) -> Self {
        let leaves = numbers.len().next_power_of_two();
        let mut nodes = vec![f64::NEG_INFINITY; 2 * leaves];
        for (node, number) in nodes[leaves..].iter_mut().zip(numbers) {
            *node = number;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Self { nodes }
    }

    /// One of the numbers.
    pub(super) fn get(&self, index: usize) -> f64 {
        self.nodes[self.nodes.len() / 2 + index]
    }

    /// Replaces a number.
    pub(super) fn set(&mut self, index: usize, number: f64) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = number;
        while 1 < node {
            node /= 2;
            let greater = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if greater.to_bits() == self.nodes[node].to_bits() {
                break;
            }
            self.nodes[node] = greater;
        }
    }

    /// The greatest number; zero if there is none.
    pub(super) fn greatest(&self) -> f64 {
        self.nodes[1].max(0.0)
    }

    /// The index of the greatest number, the lowest among equals.
    pub(super) fn index_of_greatest(&self) -> usize {
        let leaves = self.nodes.len() / 2;
        let mut node = 1;
        while node < leaves {
            node *= 2;
            if self.nodes[node] < self.nodes[node + 1] {
                node += 1;
            }
        }
        node - leaves
    }

    /// The greatest of the numbers with these indices; negative infinity if there is none.
    pub(super) fn greatest_of(&self, indices: Range<usize>) -> f64 {
        let leaves = self.nodes.len() / 2;
        let (mut begin, mut end) = (leaves + indices.start, leaves + indices.end);
        let mut greatest = f64::NEG_INFINITY;
        while begin < end {
            if begin % 2 == 1 {
                greatest = greatest.max(self.nodes[begin]);
                begin += 1;
            }
            if end % 2 == 1 {
                end -= 1;
                greatest = greatest.max(self.nodes[end]);
            }
            (begin, end) = (begin / 2, end / 2);
        }
        greatest
    }

    /// The indices of the greatest numbers, at most `number`, the greatest first; of equal ones the lowest first.
    pub(super) fn first(&self, number: usize) -> impl Iterator<Item = usize> {
        let leaves = self.nodes.len() / 2;
        let candidate = move |node: usize| {
            let leftmost = node << (leaves.ilog2() - node.ilog2());
            Candidate {
                greatest: self.nodes[node],
                leftmost,
                node,
            }
        };
        let mut candidates = BinaryHeap::from([candidate(1)]);
        let next = move || {
            loop {
                let Candidate { node, greatest, .. } = candidates.pop()?;
                if leaves <= node {
                    return (f64::NEG_INFINITY < greatest).then_some(node - leaves);
                }
                candidates.extend([candidate(2 * node), candidate(2 * node + 1)]);
            }
        };
        std::iter::from_fn(next).take(number)
    }
}

/// A part of a tournament in which the next number may be.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    greatest: f64,
    /// The first number of the part.
    leftmost: usize,
    node: usize,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_number = self.greatest.total_cmp(&other.greatest);
        by_number.then(other.leftmost.cmp(&self.leftmost))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_greatest_is_the_one_that_a_scan_finds() {
        proptest!(|(size in 1..20_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), 0.0..4.0), 0..40))| {
            let mut maximum = Maximum::zeros(size);
            let mut numbers = vec![0.0_f64; size];
            for (index, number) in changes {
                // Whole numbers: some are equal.
                let (index, number) = (index.index(size), f64::floor(number));
                maximum.set(index, number);
                numbers[index] = number;
                let greatest = numbers.iter().copied().fold(0.0, f64::max);
                prop_assert!((maximum.greatest() - greatest).abs() < 1e-12);
                let first = numbers.iter().position(|number| *number >= greatest);
                prop_assert_eq!(Some(maximum.index_of_greatest()), first);
            }
            for (index, number) in numbers.iter().enumerate() {
                prop_assert!((maximum.get(index) - number).abs() < 1e-12);
            }
            let mut order: Vec<usize> = (0..size).collect();
            order.sort_by(|one, other| numbers[*other].total_cmp(&numbers[*one]));
            for number in 0..=size + 1 {
                let first = &order[..number.min(size)];
                prop_assert_eq!(maximum.first(number).collect::<Vec<_>>(), first);
            }
            for (begin, end) in (0..=size).flat_map(|begin| (begin..=size).map(move |end| (begin, end))) {
                let greatest = numbers[begin..end].iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let found = maximum.greatest_of(begin..end);
                prop_assert_eq!(found.to_bits(), greatest.to_bits());
            }
        });
    }
}
