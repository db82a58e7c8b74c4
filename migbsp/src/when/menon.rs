//! A call when what imbalance has cost since the last one exceeds what a call costs.

use crate::rule::Rule;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, When};

/// Calls when `Σ max(0, u_j − u_1) ≥ C`: the imbalance that has come up since the first superstep after
/// the last call has cost as much as a call.
///
/// The criterion of Menon, Jain, Zheng and Kalé (2012) with a baseline, equation `MENON` of
/// `docs/model.md`: what imbalance a call could not
/// remove, another one is not expected to remove either.
#[derive(Clone, Debug)]
pub(super) struct Menon {
    /// `u_1`, in seconds.
    baseline: Option<f64>,
    /// The sum, in seconds.
    lost: f64,
    /// `C`, in seconds.
    cost: f64,
}

impl Menon {
    /// Nothing is known of costs: the first imbalance calls.
    pub(super) fn at_start() -> Self {
        Self {
            // No call has balanced the run yet: all of its imbalance counts.
            baseline: Some(0.0),
            lost: 0.0,
            cost: 0.0,
        }
    }
}

impl When for Menon {
    fn observe(&mut self, elapsed: &Elapsed) {
        let imbalance = elapsed.imbalance();
        let baseline = *self.baseline.get_or_insert(imbalance);
        self.lost += (imbalance - baseline).max(0.0);
    }

    fn is_due(&self, _completed: u64) -> bool {
        0.0 < self.lost && self.cost <= self.lost
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        *self = Self {
            baseline: None,
            lost: 0.0,
            cost: call.spacing.cost.get(),
        };
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

/// `menon`.
pub(super) const RULE: Rule<dyn When> = Rule::new(
    "menon",
    "calls when new imbalance has cost as much as a call (Menon et al., 2012)",
    |_| Box::new(Menon::at_start()),
);

#[cfg(test)]
mod tests {
    use crate::when::tests::{call_outcome, called_at};

    use super::*;

    #[test]
    fn the_first_imbalance_of_a_run_calls() {
        assert_eq!(called_at(&mut Menon::at_start(), [0.0, 0.0, 0.25]), Some(3));
    }

    #[test]
    fn what_a_call_could_not_remove_counts_no_more() {
        let mut menon = Menon::at_start();
        menon.conclude(&call_outcome(0, 1.0, 0));
        assert_eq!(called_at(&mut menon, [0.25; 500]), None);
    }

    #[test]
    fn what_has_come_up_since_calls_when_it_has_cost_a_call() {
        let mut menon = Menon::at_start();
        menon.conclude(&call_outcome(0, 1.0, 0));
        // 0.25 beyond the first one: four of them; what is below it does not count against them.
        let imbalances = [0.5, 0.75, 0.25, 0.75, 0.75, 0.75];
        assert_eq!(called_at(&mut menon, imbalances), Some(6));
    }
}
