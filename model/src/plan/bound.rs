//! How short no placement makes supersteps.

use std::collections::BTreeMap;

use bsp::SetId;

use crate::Snapshot;
use crate::bounded::count;

/// Seconds that a superstep takes at least, wherever processes are placed on the hosts of the Sets that `is_allowed`.
///
/// Equation `BOUND` of `docs/model.md`. Messages and owners count for nothing, but what the barrier adds does.
pub(super) fn least_superstep(snapshot: &Snapshot, is_allowed: impl Fn(SetId) -> bool) -> f64 {
    let sets = (0..snapshot.sets()).map(SetId::from_index);
    let sets = sets.filter(|set| is_allowed(*set) && !snapshot.members(*set).is_empty());
    let barrier = sets.map(|set| snapshot.barrier(set).process());
    let barrier = barrier.fold(f64::INFINITY, f64::min);
    let number = snapshot.processes().len();
    if number == 0 || barrier.is_infinite() {
        return 0.0;
    }
    let (hosts, crowd) = (Hosts::new(snapshot, is_allowed), Crowd::new(snapshot));
    let (low, _) = shortest_limit(|limit| hosts.may_compute(&crowd, limit));
    (count(number) * barrier + low) * (1.0 - ROUNDING)
}

/// The shortest limit in seconds that `is_enough`, as any longer one is: the longest that is found not to be, and the shortest
/// that is found to be.
pub(super) fn shortest_limit(is_enough: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (0.0, 1e-9);
    while !is_enough(high) && high < LIMIT_MAX {
        high *= 2.0;
    }
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if is_enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, high)
}

/// The hosts that processes may be placed on, equal ones once.
struct Hosts(Vec<Equal>);

/// Hosts that are equally fast and equally far from the barrier.
struct Equal {
    /// How many hosts.
    number: f64,
    /// Instructions per second of one core, and of all.
    rate: f64,
    capacity: f64,
    /// Seconds of a superstep in which processes cannot compute.
    offset: f64,
}

/// Processes, as far as it matters how many of them a host has room for.
struct Crowd {
    /// Instructions of all together, and of the heaviest.
    work: f64,
    heaviest: f64,
    /// Instructions, and how many processes execute as many or more.
    levels: Vec<(f64, f64)>,
}

impl Hosts {
    fn new(snapshot: &Snapshot, is_allowed: impl Fn(SetId) -> bool) -> Self {
        let mut equal: BTreeMap<(SetId, u64, u64), Equal> = BTreeMap::new();
        let hosts = snapshot.hosts().iter();
        for host in hosts.filter(|host| is_allowed(host.set)) {
            let key = (host.set, host.rate.to_bits(), host.cores.to_bits());
            let barrier = snapshot.barrier(host.set);
            let group = equal.entry(key).or_insert_with(|| Equal {
                number: 0.0,
                rate: host.rate,
                capacity: host.rate * host.cores,
                offset: barrier.release() + barrier.arrival(),
            });
            group.number += 1.0;
        }
        Self(equal.into_values().collect())
    }

    /// Whether nothing that is looked at here keeps the processes from computing in `limit` seconds.
    fn may_compute(&self, crowd: &Crowd, limit: f64) -> bool {
        let room = |hosts: &Equal| (limit - hosts.offset).max(0.0);
        let longest = self.0.iter().map(|hosts| room(hosts) * hosts.rate);
        if longest.fold(0.0, f64::max) < crowd.heaviest {
            return false;
        }
        let all = self.0.iter();
        let all = all.map(|hosts| hosts.number * (room(hosts) * hosts.capacity));
        if all.sum::<f64>() < crowd.work {
            return false;
        }
        crowd.levels.iter().all(|(work, number)| {
            let whole = |hosts: &Equal| {
                let room = room(hosts) * hosts.capacity / work;
                hosts.number * (room * (1.0 + ROUNDING)).floor()
            };
            *number <= self.0.iter().map(whole).sum::<f64>()
        })
    }
}

impl Crowd {
    fn new(snapshot: &Snapshot) -> Self {
        let loads = snapshot.processes();
        let sorted = snapshot.lightest_first();
        let work = |at: usize| loads[sorted[at]].instructions;
        let number = sorted.len();
        let level = |part: usize| {
            let least = work(part * (number - 1) / LEVELS);
            let first = sorted.partition_point(|process| loads[*process].instructions < least);
            (least, count(number - first))
        };
        let mut levels: Vec<(f64, f64)> = (0..=LEVELS).map(level).collect();
        levels.dedup();
        levels.retain(|(work, _)| 0.0 < *work);
        Self {
            work: loads.iter().map(|load| load.instructions).sum(),
            heaviest: work(number - 1),
            levels,
        }
    }
}

/// How many parts processes are divided into by their work.
const LEVELS: usize = 8;

/// Longer than any superstep, in seconds.
const LIMIT_MAX: f64 = 1e15;

/// Halvings of the interval in which the limit is searched.
const BISECTIONS: u32 = 60;

/// Relative rounding of sums.
pub(super) const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Assignment;
    use crate::plan::tests::{any_snapshot, crowded_snapshot, snapshot};

    fn least(snapshot: &Snapshot) -> f64 {
        least_superstep(snapshot, |_| true)
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
    }

    #[test]
    fn work_is_divided_by_the_speed_of_all_hosts() {
        let snapshot = snapshot(&[1.0, 3.0], &[(0, 1.0), (0, 3.0)]);
        close(least(&snapshot), 1.0);
    }

    #[test]
    fn the_longest_process_takes_what_it_takes_on_the_fastest_host() {
        let snapshot = snapshot(&[1.0, 2.0], &[(0, 0.1), (0, 6.0)]);
        close(least(&snapshot), 3.0);
    }

    #[test]
    fn a_process_is_on_one_host() {
        // Three equal ones on two equal hosts.
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0), (1, 1.0)]);
        close(least(&snapshot), 2.0);
    }

    /// No assignment with the processes on these hosts is shorter than the bound.
    fn check(snapshot: &Snapshot, hosts: &[prop::sample::Index]) -> Result<(), TestCaseError> {
        let number = snapshot.hosts().len();
        let place = |process: usize| hosts[process % hosts.len()].index(number);
        let places: Vec<usize> = (0..snapshot.processes().len()).map(place).collect();
        let superstep = Assignment::new(snapshot, &places).longest();
        let bound = least(snapshot);
        prop_assert!(bound <= superstep, "{bound} against {superstep}");
        let used = |set: SetId| places.iter().any(|host| snapshot.hosts()[*host].set == set);
        let bound = least_superstep(snapshot, used);
        prop_assert!(bound <= superstep, "{bound} against {superstep}");
        Ok(())
    }

    #[test]
    fn no_placement_is_shorter() {
        let hosts = || prop::collection::vec(any::<prop::sample::Index>(), 1..20);
        proptest!(|(snapshot in any_snapshot(), hosts in hosts())| check(&snapshot, &hosts)?);
        proptest!(|(snapshot in crowded_snapshot(), hosts in hosts())| check(&snapshot, &hosts)?);
    }
}
