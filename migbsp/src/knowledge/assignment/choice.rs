//! The host that suits a process best.

use std::borrow::Cow;

use bsp::SetId;

use super::hosts_by_work::HostsByWork;
use crate::Assignment;

impl Assignment<'_> {
    /// Seconds that `host` would take for a superstep if `process` were on it, too.
    #[must_use]
    pub fn time_with(&self, process: usize, host: usize) -> f64 {
        if self.flows.is_some() {
            return self
                .host_after((host, None, Some(process)), &[(process, host)])
                .time;
        }
        let machine = &self.snapshot.hosts()[host];
        let barrier = self.snapshot.barrier(machine.set);
        let loads = self.snapshot.processes();
        let computing = self
            .computing
            .host_end_with(loads, (host, machine), process);
        barrier.release() + computing + barrier.arrival()
    }

    /// The host that [would take least](Assignment::time_with) with `process`, of nearly equal ones the first one.
    ///
    /// In a partial assignment this looks at one or a few hosts of each group of equal ones, in a complete one at all.
    #[must_use]
    pub fn fastest_host(&self, process: usize) -> usize {
        self.fastest_of(process, |_| true)
    }

    /// The same among the hosts of a Set.
    #[must_use]
    pub fn fastest_host_in(&self, set: SetId, process: usize) -> usize {
        self.fastest_of(process, |other| other == set)
    }

    fn fastest_of(&self, process: usize, is_allowed: impl Fn(SetId) -> bool) -> usize {
        let work = self.snapshot.processes()[process].instructions;
        let mut best = (0, f64::INFINITY);
        let sorted = || Cow::Owned(HostsByWork::new(self.snapshot, &self.computing));
        let by_work = self.by_work.as_ref().map_or_else(sorted, Cow::Borrowed);
        let groups = by_work.groups().iter();
        for group in groups.filter(|group| is_allowed(group.set)) {
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
