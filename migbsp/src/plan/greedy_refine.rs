//! Heaviest process first; only processes above the limit move.

use crate::plan::draft::{Draft, Plan};
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

/// Charm++'s strategy of that name: the superstep of a greedy assignment, widened by a tolerance, is the
/// limit; in the order of decreasing load, a process stays if its host keeps to the limit with it, and
/// else goes to the host that ends first with it.
///
/// The limit is that of a [partial assignment](Assignment::empty): messages between Sets count for the process that
/// receives them, but do not share links.
#[derive(Clone, Debug)]
pub struct GreedyRefine {
    tolerance: f64,
}

impl GreedyRefine {
    /// A superstep may take `tolerance` times as long as under a greedy assignment; at least 1.
    #[must_use]
    pub const fn new(tolerance: f64) -> Self {
        Self { tolerance }
    }

    /// The planned host of each process.
    #[must_use]
    pub fn places(&self, snapshot: &Snapshot) -> Vec<usize> {
        let order = heaviest_first(snapshot);
        let mut greedy = Assignment::empty(snapshot);
        for process in &order {
            greedy.add(*process, greedy.fastest_host(*process));
        }
        let mut limit = self.tolerance * greedy.longest();
        let mut refined = Assignment::empty(snapshot);
        for process in order {
            let mut host = refined.places()[process];
            if limit < refined.time_with(process, host) {
                host = refined.fastest_host(process);
            }
            refined.add(process, host);
            limit = limit.max(refined.time(host));
        }
        refined.places().to_vec()
    }
}

impl Plan for GreedyRefine {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        Draft::only("greedy-refine", snapshot, self.places(snapshot))
    }
}

/// Heaviest process first, each to the host of its own Set that ends first with it.
pub(super) fn within_sets(snapshot: &Snapshot) -> Vec<usize> {
    greedy_among(snapshot, |process| {
        let host = snapshot.places()[process];
        snapshot.members(snapshot.hosts()[host].set)
    })
}

/// Heaviest process first, each to the one of its `hosts` that ends first with it.
pub(super) fn greedy_among<'a>(
    snapshot: &Snapshot,
    hosts: impl Fn(usize) -> &'a [usize],
) -> Vec<usize> {
    let mut greedy = Assignment::empty(snapshot);
    for process in heaviest_first(snapshot) {
        greedy.add(process, greedy.fastest_host_among(process, hosts(process)));
    }
    greedy.places().to_vec()
}

/// Processes by decreasing load, ties by rank.
pub(super) fn heaviest_first(snapshot: &Snapshot) -> Vec<usize> {
    let loads = snapshot.processes();
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by(|a, b| {
        let heavier = loads[*b].instructions.total_cmp(&loads[*a].instructions);
        heavier.then(a.cmp(b))
    });
    order
}

/// `greedy-refine`.
pub(super) const RULE: Rule<dyn Plan> = Rule::new(
    "greedy-refine",
    "Charm++'s GreedyRefine: processes above a limit move, the heaviest first",
    |settings| Box::new(GreedyRefine::new(settings.planning.refinement)),
);

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, snapshot};

    use super::*;

    #[test]
    fn only_processes_above_the_limit_move() {
        // The limit is 1.03 · 4: of the first host's, the two lightest have to go.
        let snapshot = snapshot(
            &[1.0, 1.0],
            &[(0, 3.0), (0, 1.0), (0, 1.0), (1, 2.0), (1, 1.0)],
        );
        let places = GreedyRefine::new(1.03).places(&snapshot);
        assert_eq!(places.iter().filter(|host| **host == 0).count(), 2);
        assert_eq!(places[0], 0);
        assert_eq!(places[3], 1);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(GreedyRefine::new(1.03)));
    }
}
