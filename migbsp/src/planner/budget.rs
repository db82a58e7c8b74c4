//! How much time calls without moves may take.

use crate::bounded::{count, supersteps};

/// Spaces calls so that those without moves take no more than a part of the run.
///
/// The gain of a call's moves pays for the call, as far as it goes.
#[derive(Clone, Debug, Default)]
pub(super) struct OverheadBudget {
    /// Supersteps that were over at the last call.
    completed: u64,
    /// Seconds of the run so far, calls not counted.
    elapsed: f64,
    /// Seconds of calls that no gain has paid for.
    spent: f64,
    /// Seconds of a superstep.
    superstep: f64,
}

impl OverheadBudget {
    /// Observes that `completed` supersteps are over, and that each of the last ones took `superstep` seconds.
    pub(super) fn elapse(&mut self, completed: u64, superstep: f64) {
        let number = count(completed - self.completed);
        self.completed = completed;
        self.elapsed += number * superstep;
        self.superstep = superstep;
    }

    /// Charges `seconds` of a call.
    pub(super) fn spend(&mut self, seconds: f64) {
        self.spent += seconds;
    }

    /// Supersteps until the charges are no more than `share` of the run.
    pub(super) fn pause(&self, share: f64) -> u64 {
        let wanted = self.spent / share - self.elapsed;
        supersteps(wanted / self.superstep.max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_take_no_more_than_their_share() {
        let mut budget = OverheadBudget::default();
        let (mut completed, mut calls) = (0, 0);
        while completed < 10_000 {
            completed += 1 + budget.pause(0.01);
            budget.elapse(completed, 1.0);
            budget.spend(0.5);
            calls += 1;
        }
        // A hundred seconds in ten thousand, and one call in advance.
        assert!((195..=201).contains(&calls), "{calls}");
    }

    #[test]
    fn without_charges_there_is_no_pause() {
        let mut budget = OverheadBudget::default();
        budget.elapse(4, 1.0);
        assert_eq!(budget.pause(0.01), 0);
        budget.spend(100.0);
        assert_eq!(budget.pause(0.01), 9_996);
    }
}
