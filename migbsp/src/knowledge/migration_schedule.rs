//! What it costs to get from the present placement to another.

use bsp::units::Seconds;

use crate::knowledge::maximum::Maximum;
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
