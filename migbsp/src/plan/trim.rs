//! Drops the moves of a plan that do not pay.

use crate::{Assignment, MigrationSchedule, Snapshot};

/// Drops the moves to `assignment` that do not pay, the most expensive first.
///
/// A move is dropped if supersteps and moves take no longer over the horizon without it. Supersteps that are longer than
/// the shortest ones so far by less than their noise count as no longer.
pub(super) fn trim(snapshot: &Snapshot, assignment: &mut Assignment<'_>) {
    let mut schedule = MigrationSchedule::new(snapshot, assignment.places());
    let moved = assignment.moved();
    let mut moved: Vec<(f64, usize)> = moved
        .map(|process| {
            let to = assignment.places()[process];
            (snapshot.migration(process, to), process)
        })
        .collect();
    moved.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let supersteps = |longest: f64, shortest: f64| {
        snapshot.horizon() * longest.max(shortest.min(longest) + snapshot.noise())
    };
    let mut shortest = assignment.longest();
    let mut objective = supersteps(shortest, shortest) + schedule.total();
    for (_, process) in moved {
        let (from, to) = (snapshot.places()[process], assignment.places()[process]);
        // The hosts and links concerned alone would take longer.
        if objective < supersteps(assignment.after_move(process, from), shortest) {
            continue;
        }
        assignment.put(process, from);
        schedule.redirect(process, to, from);
        let longest = assignment.longest();
        let without = supersteps(longest, shortest) + schedule.total();
        if without <= objective {
            shortest = shortest.min(longest);
            objective = without;
        } else {
            assignment.put(process, to);
            schedule.redirect(process, from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

    #[test]
    fn a_move_without_gain_is_dropped() {
        // The third host decides; that the first two changed places wins nothing.
        let snapshot = snapshot(&[1.0, 1.0, 1.0], &[(0, 1.0), (1, 1.0), (2, 5.0)]);
        let mut assignment = Assignment::new(&snapshot, &[1, 0, 2]);
        trim(&snapshot, &mut assignment);
        assert_eq!(assignment.places(), [0, 1, 2]);
    }

    #[test]
    fn a_move_that_pays_is_kept() {
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        let mut assignment = Assignment::new(&snapshot, &[1, 0]);
        trim(&snapshot, &mut assignment);
        assert_eq!(assignment.places(), [1, 0]);
    }
}
