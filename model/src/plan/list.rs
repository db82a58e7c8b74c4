//! Processes by what they would gain, and the prefix of that list that is best.

use super::{Alternative, Draft, Plan};
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

/// Moves a prefix of a list of processes by decreasing potential; its length is chosen by prediction.
///
/// After `AutoMig` and `MigPF`, the successors of MigBSP: imbalance is that of processors and not
/// of processes; several plans are compared, each one move longer than the one before; and the one is
/// chosen whose supersteps and moves are predicted to take least over the horizon. A process's potential is
/// the time of its host, less the time of the host that would end first with it, less its migration over the
/// horizon. A reading of what is published about them, equation `LIST` of `docs/model.md`.
#[derive(Clone, Copy, Debug, Default)]
struct List;

impl Plan for List {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut assignment = Assignment::present(snapshot);
        let mut best = (assignment.objective(), assignment.places().to_vec());
        let mut alternatives = Vec::new();
        for process in by_potential(snapshot, &assignment) {
            let present = assignment.places()[process];
            let host = ends_first(snapshot, &assignment, process);
            if host == present {
                continue;
            }
            assignment.put(process, host);
            let objective = assignment.objective();
            if objective < best.0 {
                best = (objective, assignment.places().to_vec());
                alternatives.push(Alternative::new("list", &assignment));
            }
        }
        let first = alternatives.len().saturating_sub(SHOWN);
        Draft {
            places: best.1,
            alternatives: alternatives.split_off(first),
            choice: None,
            shortest: None,
        }
    }
}

/// Processes with a positive potential, the highest first, then the heaviest.
fn by_potential(snapshot: &Snapshot, assignment: &Assignment<'_>) -> Vec<usize> {
    let potential = |process: usize| {
        let present = assignment.places()[process];
        let host = ends_first(snapshot, assignment, process);
        let gain = assignment.time(present) - assignment.after_move(process, host);
        gain - snapshot.migration(process, host) / snapshot.horizon().max(1.0)
    };
    let heaviest = snapshot.heaviest_first().iter().copied();
    let mut list: Vec<(f64, usize)> = heaviest
        .map(|process| (potential(process), process))
        .filter(|(potential, _)| 0.0 < *potential)
        .collect();
    // A stable sort: the heaviest first among equals.
    list.sort_by(|one, other| other.0.total_cmp(&one.0));
    list.into_iter().map(|(_, process)| process).collect()
}

/// The host that would end first with `process`; the present one among equals.
fn ends_first(snapshot: &Snapshot, assignment: &Assignment<'_>, process: usize) -> usize {
    let present = assignment.places()[process];
    let mut best = (assignment.time(present), present);
    for host in (0..snapshot.hosts().len()).filter(|host| *host != present) {
        let time = assignment.after_move(process, host);
        if time < best.0 {
            best = (time, host);
        }
    }
    best.1
}

/// `list`.
pub(super) const LIST: Rule<dyn Plan> = Rule::new(
    "list",
    "moves the best prefix of a list of potentials, after AutoMig and MigPF",
    |_| Box::new(List),
);

/// How many of the plans that were each better than those before are shown.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, snapshot};

    use super::*;

    #[test]
    fn processes_move_as_long_as_moves_pay() {
        // Four of one second each on the first of two hosts: two go, the third would only change sides.
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 1.0); 4]);
        let draft = List.draft(&snapshot);
        assert_eq!(draft.places.iter().filter(|host| **host == 1).count(), 2);
    }

    #[test]
    fn the_list_has_the_processes_whose_move_pays_by_what_it_gains() {
        // In seconds: 4 on the first host, 3, 1 and 1 on the second, 2.9 and 0.1 on the third, none on the fourth.
        let loads = [(0, 4.0), (1, 3.0), (1, 1.0), (1, 1.0), (2, 2.9), (2, 0.1)];
        let snapshot = snapshot(&[1.0; 4], &loads);
        // To the empty host: the first process gains nothing and would have to move; the others gain
        // 5 - 3, 5 - 4, 5 - 4, 3 - 2.9 and 3 - 2.9 seconds.
        let present = Assignment::present(&snapshot);
        assert_eq!(by_potential(&snapshot, &present), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_move_that_costs_more_than_it_gains_is_not_in_the_list() {
        let listed = |seconds: f64| {
            let mut snapshot = snapshot(&[1.0; 2], &[(0, 2.0), (0, 1.0)]);
            snapshot.make_moves_cost(seconds);
            assert!((snapshot.horizon() - 20.0).abs() < 1e-12);
            let present = Assignment::present(&snapshot);
            by_potential(&snapshot, &present)
        };
        // Either move gains a second in each of the twenty supersteps of the horizon.
        assert_eq!(listed(19.9), [0, 1]);
        assert_eq!(listed(20.1), [0; 0]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(List));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(List));
    }
}
