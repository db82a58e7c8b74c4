//! Heaviest process first; only processes above the limit move.

use super::{Draft, Plan};
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

    /// The planned host of each process, with the `greedy` assignment.
    pub(super) fn refine(&self, greedy: &Assignment<'_>, snapshot: &Snapshot) -> Vec<usize> {
        // Owners interrupt all hosts together, not the slowest one.
        let mut limit = self.tolerance * (greedy.longest() - greedy.interrupted());
        let mut refined = Assignment::empty(snapshot);
        for process in heaviest_first(snapshot) {
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
        let places = self.refine(&greedy(snapshot), snapshot);
        Draft::only("greedy-refine", snapshot, places)
    }
}

/// Heaviest process first, each to the host that ends first with it; a partial assignment, without messages.
pub(super) fn greedy(snapshot: &Snapshot) -> Assignment<'_> {
    let mut greedy = Assignment::empty(snapshot);
    for process in heaviest_first(snapshot) {
        greedy.add(process, greedy.fastest_host(process));
    }
    greedy
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
pub(super) const GREEDY_REFINE: Rule<dyn Plan> = Rule::new(
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
        let places = GreedyRefine::new(1.03).draft(&snapshot).places;
        assert_eq!(places.iter().filter(|host| **host == 0).count(), 2);
        assert_eq!(places[0], 0);
        assert_eq!(places[3], 1);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(GreedyRefine::new(1.03)));
    }
}
