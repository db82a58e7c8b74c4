//! Local search: repeatedly take the move that most relieves the slowest host.

use crate::{Assignment, MigrationSchedule, Snapshot};

/// Moves and swaps processes of the slowest host as long as a step makes it faster without making
/// another as slow, and returns to the best assignment met by the snapshot's objective.
///
/// Of all such moves the one is made whose slower host and migration take least over the horizon; two processes are
/// swapped only if there is no such move.
pub(super) fn search(snapshot: &Snapshot, assignment: &mut Assignment<'_>) {
    let mut schedule = MigrationSchedule::new(snapshot, assignment.places());
    let objective = |assignment: &Assignment<'_>, schedule: &MigrationSchedule<'_>| {
        snapshot.horizon() * assignment.longest() + schedule.total()
    };
    let mut best = objective(assignment, &schedule);
    let mut since_best = Vec::new();
    for _ in 0..STEPS_PER_HOST * snapshot.hosts().len() {
        let slowest = assignment.slowest();
        let before = assignment.longest();
        let Some(step) =
            best_move(snapshot, assignment, slowest).or_else(|| best_swap(assignment, slowest))
        else {
            break;
        };
        for (process, host) in step.into_iter().flatten() {
            let from = assignment.places()[process];
            since_best.push((process, from));
            schedule.redirect(process, from, host);
            assignment.put(process, host);
        }
        let now = objective(assignment, &schedule);
        if now < best {
            best = now;
            since_best.clear();
        } else if before < assignment.longest() {
            // The effect of a move on third Sets is not predicted; here it made supersteps longer.
            break;
        }
    }
    for (process, host) in since_best.into_iter().rev() {
        assignment.put(process, host);
    }
}

/// One or two processes, each with its new host.
type Step = [Option<(usize, usize)>; 2];

/// The best move off `slowest`; `None`: none makes it faster.
fn best_move(snapshot: &Snapshot, assignment: &Assignment<'_>, slowest: usize) -> Option<Step> {
    let limit = assignment.time(slowest) * NOTICEABLE;
    let mut best = (f64::INFINITY, None);
    for process in assignment.residents(slowest) {
        for host in (0..snapshot.hosts().len()).filter(|host| *host != slowest) {
            let after = assignment.after_move(*process, host);
            if limit <= after {
                continue;
            }
            let score = snapshot.horizon() * after + snapshot.migration(*process, host);
            if score < best.0 {
                best = (score, Some([Some((*process, host)), None]));
            }
        }
    }
    best.1
}

/// The best exchange of a process of `slowest` for a lighter one; `None`: none makes it faster.
fn best_swap(assignment: &Assignment<'_>, slowest: usize) -> Option<Step> {
    let mut best = (assignment.time(slowest) * NOTICEABLE, None);
    for process in assignment.residents(slowest) {
        for (other, host) in assignment.places().iter().enumerate() {
            if *host == slowest || !assignment.is_lighter(other, *process) {
                continue;
            }
            let after = assignment.after_swap(*process, other);
            if after < best.0 {
                best = (
                    after,
                    Some([Some((*process, *host)), Some((other, slowest))]),
                );
            }
        }
    }
    best.1
}

/// A step has to bring the slowest host below this part of its time.
const NOTICEABLE: f64 = 1.0 - 1e-6;

/// Bounds the search; a host seldom takes part in more steps.
const STEPS_PER_HOST: usize = 8;

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

    fn places(snapshot: &Snapshot) -> Vec<usize> {
        let mut assignment = Assignment::present(snapshot);
        search(snapshot, &mut assignment);
        assignment.places().to_vec()
    }

    #[test]
    fn the_slowest_host_gives_to_the_one_that_ends_first() {
        let snapshot = snapshot(&[1.0, 1.0, 2.0], &[(0, 2.0), (0, 2.0), (1, 1.0)]);
        assert_eq!(places(&snapshot), [2, 0, 1]);
    }

    #[test]
    fn processes_are_swapped_if_no_move_helps() {
        // 5 + 4 against 2 + 3: moving the 4 makes it 5 against 9; the 4 for the 2 makes it 7 against 7.
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 5.0), (0, 4.0), (1, 2.0), (1, 3.0)]);
        let after = places(&snapshot);
        let superstep = Assignment::new(&snapshot, &after).superstep();
        assert!((superstep.get() - 7.0).abs() < 1e-9, "{superstep:?}");
    }

    #[test]
    fn steps_that_do_not_pay_are_undone() {
        let mut expensive = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        expensive.make_moves_cost(1e6);
        assert_eq!(places(&expensive), [0, 0]);
    }
}
