//! Heaviest process first; only processes above the limit move.

use super::{Draft, Plan};
use crate::Snapshot;
use crate::knowledge::PartialAssignment;
use crate::rule::Rule;

/// Charm++'s strategy of that name: the superstep of a greedy assignment, widened by a tolerance, is the
/// limit; in the order of decreasing load, a process stays if its host keeps to the limit with it, and
/// else goes to the host that ends first with it.
///
/// Messages do not count: the limit is that of an assignment without them.
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
    pub(super) fn refine(&self, greedy: &PartialAssignment<'_>, snapshot: &Snapshot) -> Vec<usize> {
        let mut limit = self.tolerance * greedy.uninterrupted();
        let mut refined = PartialAssignment::empty(snapshot);
        for process in snapshot.heaviest_first().iter().copied() {
            let mut host = refined.places()[process];
            if limit < refined.time_with(process, host) {
                host = refined.fastest_host(process);
            }
            refined.add(process, host);
            limit = limit.max(refined.time(host));
        }
        refined.into_places()
    }
}

impl Plan for GreedyRefine {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let places = self.refine(&greedy(snapshot), snapshot);
        Draft::only("greedy-refine", snapshot, places)
    }
}

/// Heaviest process first, each to the host that ends first with it; a partial assignment, without messages.
pub(super) fn greedy(snapshot: &Snapshot) -> PartialAssignment<'_> {
    let mut greedy = PartialAssignment::empty(snapshot);
    for process in snapshot.heaviest_first().iter().copied() {
        let host = greedy.fastest_host(process);
        greedy.add(process, host);
    }
    greedy
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
