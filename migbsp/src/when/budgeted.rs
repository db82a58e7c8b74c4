//! A call as soon as the overhead budget allows one.

use crate::rule::{Need, Rule};
use crate::when::pause::Pause;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, Spacing, When};

/// Calls when so much of the run has gone by that another call is a small part of it, whatever the imbalance.
///
/// The planner computes how long that is ([`Spacing::again`]). Such calls find what no imbalance shows: a
/// host that has become idle, or a plan that was made from too little data.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgeted {
    pause: Pause,
}

impl When for Budgeted {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.pause.observe(elapsed);
    }

    fn is_due(&self, _completed: u64) -> bool {
        self.pause.is_over()
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        let Spacing { again, took, .. } = call.spacing;
        self.pause.begin(again.max(1), took);
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

/// `budgeted`.
pub(super) const RULE: Rule<dyn When> = Rule::<dyn When>::new(
    "budgeted",
    "calls as soon as calls without moves stay within the overhead budget",
    |_| Box::new(Budgeted::default()),
)
.with_need(Need::CallCosts);

#[cfg(test)]
mod tests {
    use crate::when::tests::{call_outcome, called_at};

    use super::*;

    #[test]
    fn a_call_follows_when_the_budget_allows_one() {
        let mut budgeted = Budgeted::default();
        assert_eq!(called_at(&mut budgeted, [0.0; 9]), Some(1));
        for (again, next) in [(9, 9), (0, 1)] {
            let spacing = Spacing {
                again,
                ..Spacing::default()
            };
            budgeted.conclude(&CallOutcome {
                spacing,
                ..call_outcome(0, 1.0, 0)
            });
            assert_eq!(called_at(&mut budgeted, [0.0; 20]), Some(next));
        }
    }
}
