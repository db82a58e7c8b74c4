//! A plan has to win more than it costs while it is good.

use crate::acceptance::{CostBenefit, Gate, Verdict};

/// Lets a plan through if its gain over the horizon exceeds its cost; after each refusal it waits twice
/// as long before another call.
#[derive(Clone, Debug)]
pub struct Amortised {
    pause: u64,
    pause_max: u64,
}

impl Amortised {
    /// Never waits for more than `pause_max` supersteps.
    #[must_use]
    pub const fn new(pause_max: u64) -> Self {
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
        Verdict::TooDear { pause }
    }
}

/// Supersteps to wait after the first refusal.
const PAUSE_MIN: u64 = 2;
