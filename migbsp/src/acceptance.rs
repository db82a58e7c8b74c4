//! Whether a plan is worth what it costs.
//!
//! A gate is one file here, with its row in [`GATES`].

mod amortised;
mod gate;
mod open;

use crate::rule::Rule;

pub(crate) use amortised::RULE as AMORTISED;
pub use gate::{CostBenefit, Gate, Verdict};
pub(crate) use open::RULE as OPEN;

/// The shipped gates.
pub(crate) const GATES: &[Rule<dyn Gate>] = &[open::RULE, amortised::RULE];

#[cfg(test)]
mod tests;
