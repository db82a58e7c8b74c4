//! What tests of several rules share.

use bsp::units::Seconds;

use super::*;

/// A call after `completed` supersteps, without moves.
pub(crate) fn call_outcome(completed: u64, cost: f64, pause: u64) -> CallOutcome<'static> {
    CallOutcome {
        completed,
        supersteps: &[],
        barrier_busy: &[],
        migrations: 0,
        spacing: Spacing {
            cost: Seconds::new(cost).unwrap(),
            pause,
            ..Spacing::default()
        },
    }
}

/// After how many supersteps with these imbalances `when` first calls.
pub(crate) fn called_at(
    when: &mut impl When,
    imbalances: impl IntoIterator<Item = f64>,
) -> Option<u64> {
    for (completed, imbalance) in (1..).zip(imbalances) {
        when.observe(&Elapsed {
            completed,
            slowest: Seconds::new(1.0 + imbalance).unwrap(),
            mean: Seconds::new(1.0).unwrap(),
            took: Seconds::ZERO,
        });
        if when.is_due(completed) {
            return Some(completed);
        }
    }
    None
}
