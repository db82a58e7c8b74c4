//! A call when imbalance has grown enough since the last one to pay for another.

use crate::rule::Rule;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, When};

/// Calls when `i · u_i − Σ_{j ≤ i} u_j ≥ C`, `i` supersteps after the last call: had imbalance always been
/// what it is now, it would have cost a call more than it did.
///
/// The criterion of local degradation of Boulmier, Abdennadher and Chopard (2022), equation `BOULMIER` of
/// `docs/model.md`. An imbalance that does not change counts for nothing, whatever it costs: the first call
/// of a run is left to another rule. As long as nothing is known of costs, the first imbalance that grows calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Boulmier {
    /// `i`.
    supersteps: f64,
    /// `u_i`, in seconds.
    imbalance: f64,
    /// `Σ u_j`, in seconds.
    sum: f64,
    /// `C`, in seconds.
    cost: f64,
}

impl Boulmier {
    fn degradation(&self) -> f64 {
        self.supersteps * self.imbalance - self.sum
    }
}

impl When for Boulmier {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.supersteps += 1.0;
        self.imbalance = elapsed.imbalance();
        self.sum += self.imbalance;
    }

    fn is_due(&self, _completed: u64) -> bool {
        let degradation = self.degradation();
        // A steady imbalance leaves nothing but rounding.
        let counts = ROUNDING * self.sum < degradation;
        counts && self.cost <= degradation
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        *self = Self {
            cost: call.spacing.cost.get(),
            ..Self::default()
        };
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

const ROUNDING: f64 = 1e-9;

/// `boulmier`.
pub(super) const RULE: Rule<dyn When> = Rule::new(
    "boulmier",
    "calls when imbalance has grown by what a call costs (Boulmier et al., 2022)",
    |_| Box::new(Boulmier::default()),
);

#[cfg(test)]
mod tests {
    use crate::when::tests::{call_outcome, called_at};

    use super::*;

    #[test]
    fn a_steady_imbalance_never_calls() {
        assert_eq!(called_at(&mut Boulmier::default(), [0.1; 500]), None);
    }

    #[test]
    fn a_growing_imbalance_calls_when_its_growth_has_cost_a_call() {
        let mut boulmier = Boulmier::default();
        boulmier.conclude(&call_outcome(0, 6.0, 0));
        // u = t − 1: i (i − 1) − i (i − 1) / 2 is 6 when i is 4.
        let growing = (0..10).map(f64::from);
        assert_eq!(called_at(&mut boulmier, growing), Some(4));
    }

    #[test]
    fn a_jump_calls_at_once_if_calls_are_cheap() {
        let mut boulmier = Boulmier::default();
        boulmier.conclude(&call_outcome(0, 1.0, 0));
        // After three supersteps, 4 · 0.5 − 0.5 is 1.5.
        assert_eq!(called_at(&mut boulmier, [0.0, 0.0, 0.0, 0.5]), Some(4));
    }
}
