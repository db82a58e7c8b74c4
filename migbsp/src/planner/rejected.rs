//! Plans that have failed, and are not carried out again.

use bsp::{HostId, Rank};

use crate::Snapshot;

/// A plan that made supersteps longer, and what it was made from.
#[derive(Clone, Debug)]
pub(super) struct RejectedPlan {
    /// The processes that it moved, each with its host in the plan and its predicted instructions.
    moved: Vec<(Rank, HostId, f64)>,
    /// The hosts that they went to, with what other programs left of a core.
    rates: Vec<(HostId, f64)>,
    /// Seconds by which supersteps became longer than predicted.
    error: f64,
}

impl RejectedPlan {
    /// The plan that moved `moved` to where they are in `snapshot`, and made supersteps longer than predicted by `error`
    /// seconds.
    pub(super) fn new(snapshot: &Snapshot, moved: impl Iterator<Item = Rank>, error: f64) -> Self {
        let found = moved.filter_map(|rank| {
            let process = snapshot.process(rank)?;
            let host = &snapshot.hosts()[snapshot.places()[process]];
            let instructions = snapshot.processes()[process].instructions;
            Some((rank, host, instructions))
        });
        let found: Vec<_> = found.collect();
        Self {
            moved: found
                .iter()
                .map(|(rank, host, work)| (*rank, host.id, *work))
                .collect(),
            rates: found
                .iter()
                .map(|(_, host, _)| (host.id, host.rate))
                .collect(),
            error,
        }
    }

    /// Seconds by which supersteps became longer than predicted.
    pub(super) const fn error(&self) -> f64 {
        self.error
    }

    /// Whether what the plan was made from holds: its hosts are there, and processes and hosts have changed little.
    pub(super) fn holds(&self, snapshot: &Snapshot) -> bool {
        let hosts = self.rates.iter().all(|(id, rate)| {
            let host = snapshot.host(*id);
            host.is_some_and(|host| is_similar(snapshot.hosts()[host].rate, *rate))
        });
        hosts
            && self.moved.iter().all(|(rank, _, work)| {
                let process = snapshot.process(*rank);
                process.is_some_and(|process| {
                    is_similar(snapshot.processes()[process].instructions, *work)
                })
            })
    }

    /// Whether `places` are like the plan: most of the processes that it moved are where it moved them, or in the Set
    /// where it did.
    pub(super) fn is_like(&self, snapshot: &Snapshot, places: &[usize]) -> bool {
        let hosts = snapshot.hosts();
        let same = self.moved.iter().filter(|(rank, host, _)| {
            let process = snapshot.process(*rank);
            let place = process.map(|process| (process, places[process]));
            let set = |id: HostId| snapshot.host(id).map(|host| hosts[host].set);
            place.is_some_and(|(process, place)| {
                let is_away = place != snapshot.places()[process];
                is_away && set(*host) == Some(hosts[place].set)
            })
        });
        self.moved.len() < 2 * same.count()
    }
}

/// Whether two quantities differ by no more than a fifth.
fn is_similar(one: f64, other: f64) -> bool {
    (one - other).abs() <= SIMILAR * one.max(other)
}

/// Part by which similar quantities may differ.
const SIMILAR: f64 = 0.2;

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

    #[test]
    fn a_plan_is_like_one_that_moves_most_of_the_same_processes() {
        let failed = snapshot(&[1.0, 1.0], &[(1, 1.0), (1, 1.0), (0, 1.0)]);
        let rejected = RejectedPlan::new(&failed, [Rank(0), Rank(1)].into_iter(), 1.0);
        let undone = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0), (0, 1.0)]);
        assert!(rejected.is_like(&undone, &[1, 1, 0]));
        assert!(!rejected.is_like(&undone, &[1, 0, 0]));
        assert!(!rejected.is_like(&undone, &[0, 0, 1]));
    }

    #[test]
    fn a_rejection_holds_while_loads_and_hosts_change_little() {
        let loads = |first: f64| [(1, first), (1, 1.0)];
        let failed = snapshot(&[1.0, 1.0], &loads(1.0));
        let rejected = RejectedPlan::new(&failed, [Rank(0)].into_iter(), 1.0);
        assert!(rejected.holds(&snapshot(&[1.0, 1.0], &loads(1.1))));
        assert!(!rejected.holds(&snapshot(&[1.0, 1.0], &loads(1.5))));
        assert!(!rejected.holds(&snapshot(&[1.0, 0.5], &loads(1.0))));
        assert!(!rejected.holds(&snapshot(&[1.0], &[(0, 1.0), (0, 1.0)])));
    }
}
