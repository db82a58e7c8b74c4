//! Gates, and what they judge a plan by.

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// Accepts or refuses plans.
///
/// # Laws
///
/// A plan without a gain is never accepted. [`Gate::admit`] accepts the plans that [`Gate::admits`] does; the pause
/// after a refusal depends on the plans judged before.
pub trait Gate: fmt::Debug + Send {
    /// Whether a plan would be accepted.
    fn admits(&self, balance: &CostBenefit) -> bool;

    /// Decides whether a plan is carried out.
    fn admit(&mut self, balance: &CostBenefit) -> Verdict;
}

/// The gain of a plan and its cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
