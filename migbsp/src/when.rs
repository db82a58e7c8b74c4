//! When to hold a rescheduling call.
//!
//! A rule is one file here, with its row in [`WHENS`].

mod boulmier;
mod budgeted;
mod change;
mod cooldown;
mod either;
mod fixed;
mod interval;
mod menon;
mod metalb;
mod once;
mod pause;
mod timing;
mod trial;

use crate::rule::Rule;

pub(crate) use cooldown::Cooldown;
pub(crate) use either::MENON_BOULMIER_BUDGETED;
pub use interval::Interval;
pub(crate) use interval::RULE as MIGBSP_INTERVAL;
pub use timing::{CallOutcome, CallSchedule, Elapsed, Spacing, When};
pub(crate) use trial::TRIAL;

/// The shipped rules.
pub(crate) const WHENS: &[Rule<dyn When>] = &[
    interval::RULE,
    fixed::RULE,
    menon::RULE,
    boulmier::RULE,
    either::MENON_BOULMIER,
    metalb::RULE,
    budgeted::RULE,
    MENON_BOULMIER_BUDGETED,
    once::RULE,
];

#[cfg(test)]
pub(crate) mod tests;
