//! One process from a loaded host to another.

use crate::Assignment;

/// Moves the process from `most` to `least` after which the slower of the two computes least, the lowest rank among
/// equals; none if that is no improvement.
pub(super) fn relieve(assignment: &mut Assignment<'_>, most: usize, least: usize) {
    let mut best = (assignment.computation_with(most, None, None), None);
    for process in assignment.residents(most) {
        let left = assignment.computation_with(most, Some(*process), None);
        let taken = assignment.computation_with(least, None, Some(*process));
        if left.max(taken) < best.0 {
            best = (left.max(taken), Some(*process));
        }
    }
    if let Some(process) = best.1 {
        assignment.put(process, least);
    }
}
