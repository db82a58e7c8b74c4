//! What it costs to get from the present placement to another.

use bsp::units::Seconds;

use crate::{MigrationTime, Snapshot};

/// The moves from the present placement to another, and how long they take together; kept up to date while the
/// other placement changes.
///
/// Equation `BURDEN` of `docs/model.md`.
#[derive(Clone, Debug)]
pub struct MigrationSchedule<'a> {
    snapshot: &'a Snapshot,
    /// Seconds that each host spends sending and receiving process images, and then the same for what each Set exchanges
    /// with others.
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
            busy: Maximum::zeros(2 * (snapshot.hosts().len() + snapshot.sets())),
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
        let from = self.snapshot.places()[process];
        let mut add = |number: usize| self.busy.set(number, self.busy.get(number) + time);
        add(2 * from);
        add(2 * to + 1);
        let hosts = self.snapshot.hosts();
        let sets = [from, to].map(|host| hosts[host].set);
        if sets[0] != sets[1] {
            add(2 * (hosts.len() + sets[0].index()));
            add(2 * (hosts.len() + sets[1].index()) + 1);
        }
    }
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
        let leaves = size.next_power_of_two();
        let mut nodes = vec![f64::NEG_INFINITY; 2 * leaves];
        nodes[leaves..leaves + size].fill(0.0);
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
        });
    }
}
