//! Gates: whether a plan is worth what it costs.

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::rule::Rule;

/// The shipped gates.
pub(crate) const GATES: &[Rule<dyn Gate>] = &[OPEN, AMORTISED];

/// Accepts or refuses plans.
///
/// # Laws
///
/// A plan without a gain is never accepted. [`Gate::admit`] accepts the plans that [`Gate::admits`] does; the pause
/// after a refusal depends on the plans seen before.
pub trait Gate: fmt::Debug + Send {
    /// Whether a plan would be accepted.
    fn admits(&self, balance: &CostBenefit) -> bool;

    /// Decides whether a plan is carried out.
    fn admit(&mut self, balance: &CostBenefit) -> Verdict;
}

/// The gain of a plan and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CostBenefit {
    /// How long a superstep takes in the present placement.
    pub present: Seconds,
    /// How long it would take in the planned one.
    pub planned: Seconds,
    /// How long the moves would take.
    pub cost: Seconds,
    /// Supersteps for which the plan is expected to stay good, `H`.
    pub horizon: f64,
}

/// The decision of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The plan is carried out.
    Admitted,
    /// The plan moves no process, or supersteps would hardly be shorter.
    Unchanged,
    /// The moves would cost more than they gain.
    NotAmortised {
        /// Supersteps without another call.
        pause: u64,
    },
}

impl CostBenefit {
    /// The gain in all supersteps of the horizon, in seconds, before the cost.
    #[must_use]
    pub fn gain(&self) -> f64 {
        (self.present - self.planned).get() * self.horizon
    }
}

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
pub(crate) const OPEN: Rule<dyn Gate> = Rule::new(
    "open",
    "accepts every plan that shortens supersteps",
    |_| Box::new(Open),
);

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
pub(crate) const AMORTISED: Rule<dyn Gate> = Rule::new(
    "amortised",
    "accepts a plan whose gain over the horizon exceeds its cost",
    |settings| Box::new(Amortised::new(settings.planning.pause_max)),
);

/// Supersteps without a call after the first refusal.
const PAUSE_MIN: u64 = 2;

#[cfg(test)]
mod tests;
