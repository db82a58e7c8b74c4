//! Whether a plan is worth what it costs.

mod amortised;

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

pub use amortised::Amortised;

/// Lets plans through, or not.
///
/// # Laws
///
/// A plan that wins nothing is never let through. [`Gate::admit`] lets through what [`Gate::admits`] says it would, and how
/// long it wants to rest otherwise depends on what it was asked before.
pub trait Gate: fmt::Debug + Send {
    /// Whether a plan would be let through.
    fn admits(&self, balance: &CostBenefit) -> bool;

    /// Whether a plan is carried out.
    fn admit(&mut self, balance: &CostBenefit) -> Verdict;
}

/// What a plan would win and cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostBenefit {
    /// How long a superstep takes as processes are placed.
    pub present: Seconds,
    /// How long it would take as planned.
    pub planned: Seconds,
    /// What the moves would cost.
    pub cost: Seconds,
    /// Supersteps for which the plan is expected to stay good, `H`.
    pub horizon: f64,
}

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Do it.
    Admitted,
    /// Nobody would move, or supersteps would hardly be shorter.
    Unchanged,
    /// The moves would cost more than they win.
    TooDear {
        /// Supersteps for which not to try again.
        pause: u64,
    },
}

impl CostBenefit {
    /// What the plan wins in all supersteps of the horizon, its cost not counted.
    #[must_use]
    pub fn gain(&self) -> f64 {
        (self.present - self.planned).get() * self.horizon
    }
}

/// Lets every plan through that shortens supersteps, whatever it costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

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
