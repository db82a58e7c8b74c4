//! Accepts a plan that gains more than it costs.

use crate::acceptance::gate::{CostBenefit, Gate, Verdict};
use crate::rule::Rule;

/// Accepts a plan if its gain over the horizon exceeds its cost; after each refusal the pause before the next call is
/// twice as long.
#[derive(Clone, Debug)]
struct Amortised {
    pause: u64,
    pause_max: u64,
}

impl Amortised {
    /// No pause is longer than `pause_max` supersteps.
    const fn new(pause_max: u64) -> Self {
        Self {
            pause: PAUSE_MIN,
            pause_max,
        }
    }
}

impl Gate for Amortised {
    fn admits(&self, balance: &CostBenefit) -> bool {
        balance.cost.get() < balance.gain()
    }

    fn admit(&mut self, balance: &CostBenefit) -> Verdict {
        if self.admits(balance) {
            self.pause = PAUSE_MIN;
            return Verdict::Admitted;
        }
        let pause = self.pause.min(self.pause_max);
        self.pause = self.pause.saturating_mul(2);
        Verdict::NotAmortised { pause }
    }
}

/// `amortised`.
pub(crate) const RULE: Rule<dyn Gate> = Rule::new(
    "amortised",
    "accepts a plan whose gain over the horizon exceeds its cost",
    |settings| Box::new(Amortised::new(settings.planning.pause_max)),
);

/// Supersteps without a call after the first refusal.
const PAUSE_MIN: u64 = 2;
