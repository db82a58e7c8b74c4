//! Accepts every improvement.

use crate::acceptance::gate::{CostBenefit, Gate, Verdict};
use crate::rule::Rule;

/// Accepts every plan that shortens supersteps, whatever it costs.
#[derive(Clone, Copy, Debug, Default)]
struct Open;

impl Gate for Open {
    fn admits(&self, balance: &CostBenefit) -> bool {
        balance.planned < balance.present
    }

    fn admit(&mut self, balance: &CostBenefit) -> Verdict {
        if self.admits(balance) {
            Verdict::Admitted
        } else {
            Verdict::Unchanged
        }
    }
}

/// `open`.
pub(crate) const RULE: Rule<dyn Gate> = Rule::new(
    "open",
    "accepts every plan that shortens supersteps",
    |_| Box::new(Open),
);
