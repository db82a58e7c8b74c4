//! What it costs to get from the present placement to another.

use bsp::units::Seconds;

use crate::bounded::seconds;
use crate::{MigrationTime, Snapshot};

/// The moves from the present placement to another, and how long they take together; kept up to date while the
/// other placement changes.
///
/// Equation `BURDEN` of `docs/model.md`.
#[derive(Clone, Debug)]
pub struct MigrationSchedule<'a> {
    snapshot: &'a Snapshot,
    /// Seconds that each host spends sending and receiving process images.
    hosts: Vec<[f64; 2]>,
    /// The same for what each Set exchanges with others.
    sets: Vec<[f64; 2]>,
    /// Seconds that each process takes to move.
    processes: Vec<f64>,
}

impl<'a> MigrationSchedule<'a> {
    /// The moves to `places`, by process; a number of a host.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let mut schedule = Self {
            snapshot,
            hosts: vec![[0.0; 2]; snapshot.hosts().len()],
            sets: vec![[0.0; 2]; snapshot.sets()],
            processes: vec![0.0; snapshot.processes().len()],
        };
        for (process, host) in places.iter().enumerate() {
            schedule.redirect(process, snapshot.places()[process], *host);
        }
        schedule
    }

    /// Sends `process` to the host `after` instead of `before`; to the host that it runs on if it stays.
    pub fn redirect(&mut self, process: usize, before: usize, after: usize) {
        self.add(process, before, -1.0);
        self.add(process, after, 1.0);
        self.processes[process] = self.snapshot.migration(process, after);
    }

    /// How long all moves take together.
    #[must_use]
    pub fn cost(&self) -> Seconds {
        seconds(self.total())
    }

    /// The same as a bare number of seconds.
    pub(crate) fn total(&self) -> f64 {
        match self.snapshot.migration_time() {
            MigrationTime::SharedLinks => {
                let busy = self.hosts.iter().chain(&self.sets);
                busy.flatten().copied().fold(0.0, f64::max)
            }
            MigrationTime::PerProcess => self.processes.iter().copied().fold(0.0, f64::max),
        }
    }

    fn add(&mut self, process: usize, to: usize, sign: f64) {
        let time = sign * self.snapshot.migration(process, to);
        let from = self.snapshot.places()[process];
        self.hosts[from][0] += time;
        self.hosts[to][1] += time;
        let set = |host: usize| self.snapshot.hosts()[host].set;
        if set(from) != set(to) {
            self.sets[set(from).index()][0] += time;
            self.sets[set(to).index()][1] += time;
        }
    }
}
