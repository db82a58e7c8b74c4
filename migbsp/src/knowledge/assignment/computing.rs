//! When the processes of each host have computed.

use crate::knowledge::load::lighter_first;
use crate::{Host, Load, Snapshot};

/// The processes of each host, and when each has computed: its cores share the work equally among the processes that
/// still compute, and a process uses one core at most.
///
/// Equation `COMPUTING` of `docs/model.md`.
#[derive(Clone, Debug)]
pub(super) struct Computing {
    /// By host: its processes, the lightest first.
    residents: Vec<Vec<usize>>,
    /// By process: seconds from the start of the superstep.
    ends: Vec<f64>,
    /// By host: what its processes execute together.
    work: Vec<f64>,
}

impl Computing {
    /// No process is on a host yet.
    pub(super) fn empty(hosts: usize, processes: usize) -> Self {
        Self {
            residents: vec![Vec::new(); hosts],
            ends: vec![0.0; processes],
            work: vec![0.0; hosts],
        }
    }

    /// All processes of the snapshot on the hosts `places`, by process.
    pub(super) fn new(snapshot: &Snapshot, places: &[usize]) -> Self {
        let (loads, hosts) = (snapshot.processes(), snapshot.hosts());
        let mut computing = Self::empty(hosts.len(), loads.len());
        for process in snapshot.lightest_first() {
            let host = places[*process];
            computing.residents[host].push(*process);
            computing.work[host] += loads[*process].instructions;
        }
        for (host, machine) in hosts.iter().enumerate() {
            computing.update(loads, machine, host);
        }
        computing
    }

    /// The processes of a host, the lightest first.
    pub(super) fn residents(&self, host: usize) -> &[usize] {
        &self.residents[host]
    }

    /// When a process has computed.
    pub(super) fn end(&self, process: usize) -> f64 {
        self.ends[process]
    }

    /// When all processes of a host have computed.
    pub(super) fn host_end(&self, host: usize) -> f64 {
        let last = self.residents[host].last();
        last.map_or(0.0, |process| self.ends[*process])
    }

    /// Adds `process` to `host`.
    pub(super) fn insert(&mut self, loads: &[Load], machine: &Host, host: usize, process: usize) {
        let residents = &mut self.residents[host];
        let at = residents.partition_point(|other| lighter_first(loads, *other, process).is_lt());
        residents.insert(at, process);
        self.work[host] += loads[process].instructions;
        self.update(loads, machine, host);
    }

    /// Removes `process` from `host`.
    pub(super) fn remove(&mut self, loads: &[Load], machine: &Host, host: usize, process: usize) {
        let residents = &mut self.residents[host];
        residents.retain(|resident| *resident != process);
        // Summed anew, without the rounding of what has come and gone.
        let work = residents.iter().map(|one| loads[*one].instructions);
        self.work[host] = work.fold(0.0, |sum, one| sum + one);
        self.update(loads, machine, host);
    }

    /// The instructions of all processes of a host, not below zero.
    pub(super) fn work(&self, host: usize) -> f64 {
        self.work[host]
    }

    /// When all processes of a host would have computed with `coming`, too.
    pub(super) fn host_end_with(
        &self,
        loads: &[Load],
        (host, machine): (usize, &Host),
        coming: usize,
    ) -> f64 {
        if machine.cores <= 1.0 {
            // The only core computes all the time, in whatever order.
            return (self.work[host] + loads[coming].instructions) / machine.rate;
        }
        let mut last = 0.0;
        let set_last = |_, end| last = end;
        self.with(loads, (host, machine), (None, Some(coming)), set_last);
        last
    }

    fn update(&mut self, loads: &[Load], machine: &Host, host: usize) {
        let ends = &mut self.ends;
        let residents = self.residents[host].iter().copied();
        sharing(loads, machine, residents, |process, end| {
            ends[process] = end;
        });
    }

    /// Calls `each` with every process that `host` would have without `leaving` and with `coming`, and when it would
    /// have computed.
    pub(super) fn with(
        &self,
        loads: &[Load],
        (host, machine): (usize, &Host),
        (leaving, coming): (Option<usize>, Option<usize>),
        each: impl FnMut(usize, f64),
    ) {
        let staying = self.residents[host].iter().copied();
        let staying = staying.filter(move |resident| Some(*resident) != leaving);
        let Some(coming) = coming else {
            return sharing(loads, machine, staying, each);
        };
        let is_before = move |other: &usize| lighter_first(loads, *other, coming).is_lt();
        let lighter = staying.clone().take_while(is_before);
        let heavier = staying.skip_while(is_before);
        sharing(loads, machine, lighter.chain([coming]).chain(heavier), each);
    }
}

/// Calls `each` with every process of `residents`, the lightest first, and when it has computed on `machine`.
fn sharing(
    loads: &[Load],
    machine: &Host,
    residents: impl Iterator<Item = usize> + Clone,
    mut each: impl FnMut(usize, f64),
) {
    let mut computing = residents.clone().fold(0.0, |number, _| number + 1.0);
    let (mut now, mut done) = (0.0, 0.0);
    for process in residents {
        let work = loads[process].instructions;
        now += (work - done) * (computing / machine.cores).max(1.0) / machine.rate;
        done = work;
        computing -= 1.0;
        each(process, now);
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

    #[test]
    fn processes_share_a_core_until_the_lightest_has_computed() {
        // 1, 2 and 4 seconds of work: 3 · 1, then 2 · 1 more, then 2 more.
        let snapshot = snapshot(&[1.0], &[(0, 2.0), (0, 4.0), (0, 1.0)]);
        let mut computing = Computing::empty(1, 3);
        for process in 0..3 {
            computing.insert(snapshot.processes(), &snapshot.hosts()[0], 0, process);
        }
        let ends = [0, 1, 2].map(|process| computing.end(process));
        for (end, expected) in ends.iter().zip([5.0, 7.0, 3.0]) {
            assert!((end - expected).abs() < 1e-9, "{ends:?}");
        }
        assert!((computing.host_end(0) - 7.0).abs() < 1e-9);
        let two_cores = Host {
            cores: 2.0,
            ..snapshot.hosts()[0]
        };
        let mut met = Vec::new();
        let loads = snapshot.processes();
        computing.with(loads, (0, &two_cores), (None, None), |_, end| met.push(end));
        // 1.5, then each has a core to itself.
        for (end, expected) in met.iter().zip([1.5, 2.5, 4.5]) {
            assert!((end - expected).abs() < 1e-9, "{met:?}");
        }
    }

    #[test]
    fn what_is_predicted_for_a_change_is_what_it_brings() {
        let snapshot = snapshot(&[1.0, 2.0], &[(0, 2.0), (0, 4.0), (1, 3.0)]);
        let (loads, hosts) = (snapshot.processes(), snapshot.hosts());
        let mut computing = Computing::empty(2, 3);
        for (process, host) in [(0, 0), (1, 0), (2, 1)] {
            computing.insert(loads, &hosts[host], host, process);
        }
        let mut predicted = Vec::new();
        let each = |process, end| predicted.push((process, end));
        computing.with(loads, (0, &hosts[0]), (Some(1), Some(2)), each);
        computing.remove(loads, &hosts[0], 0, 1);
        computing.insert(loads, &hosts[0], 0, 2);
        let after: Vec<_> = computing
            .residents(0)
            .iter()
            .map(|one| (*one, computing.end(*one)))
            .collect();
        assert_eq!(predicted, after);
    }
}
