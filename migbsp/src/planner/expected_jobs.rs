//! What is expected of owners' jobs, beyond the loads of processors.

use std::collections::{BTreeMap, BTreeSet};

use bsp::HostId;
use bsp::units::Seconds;

use crate::bounded::seconds;
use crate::completion::{OwnerJobs, expected_latest};
use crate::{Assignment, Snapshot};

/// What is expected of the jobs of owners, beyond the loads of processors.
#[derive(Debug)]
pub(super) struct ExpectedJobs {
    /// Seconds for which jobs that have not arrived yet are expected to interrupt each second of computation.
    pub(super) interruptions: BTreeMap<HostId, f64>,
    /// The jobs of each host whose owner runs any, as in the past.
    pub(super) owners: BTreeMap<HostId, OwnerJobs>,
    /// The part of the time since the last call in which no job interrupted a process.
    pub(super) left: f64,
}

impl ExpectedJobs {
    /// Whether no owner runs jobs.
    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// The hosts of `snapshot` whose owners use more than `idle_below` of them.
    pub(super) fn busy_hosts(&self, snapshot: &Snapshot, idle_below: f64) -> BTreeSet<usize> {
        let hosts = self.owners.keys().filter_map(|id| snapshot.host(*id));
        let is_busy = |host: &usize| idle_below < snapshot.hosts()[*host].utilisation;
        hosts.filter(is_busy).collect()
    }

    /// How long a superstep of `assignment`, a placement in `snapshot`, takes until the last host is ready; without
    /// owners' jobs, [`Assignment::superstep`].
    ///
    /// Equation `LATEST` of `docs/model.md`.
    pub(super) fn superstep(&self, snapshot: &Snapshot, assignment: &Assignment<'_>) -> Seconds {
        let tasks = self.owners.iter().filter_map(|(id, jobs)| {
            let time = assignment.time(snapshot.host(*id)?);
            (0.0 < time).then(|| (seconds(time), *jobs))
        });
        let tasks: Vec<_> = tasks.collect();
        let uninterrupted = seconds(assignment.time(assignment.slowest()));
        let late = expected_latest(uninterrupted, &tasks) - uninterrupted;
        seconds(assignment.longest() - assignment.interrupted()) + late
    }
}

impl Default for ExpectedJobs {
    fn default() -> Self {
        Self {
            interruptions: BTreeMap::new(),
            owners: BTreeMap::new(),
            left: 1.0,
        }
    }
}
