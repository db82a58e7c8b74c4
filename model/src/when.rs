//! When to hold a rescheduling call.
//!
//! A rule is a type here, with its row in [`WHENS`].

mod cooldown;
mod interval;
mod metalb;
mod rules;

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::rule::Rule;

pub(crate) use cooldown::{Cooldown, TRIAL};
pub use interval::Interval;
pub(crate) use interval::MIGBSP_INTERVAL;
pub(crate) use rules::MENON_BOULMIER_BUDGETED;

/// The shipped rules.
pub(crate) const WHENS: &[Rule<dyn When>] = &[
    MIGBSP_INTERVAL,
    rules::FIXED,
    rules::MENON,
    rules::BOULMIER,
    rules::MENON_BOULMIER,
    metalb::METALB,
    rules::BUDGETED,
    MENON_BOULMIER_BUDGETED,
    rules::ONCE,
];

/// Decides after which supersteps a rescheduling call is held.
///
/// Every Set Manager holds one. All of them observe every call, and so have the same schedule. Only the Managers that
/// decide observe supersteps: the first one, and with a hierarchical barrier the others, too.
///
/// Rules only say when a call pays; [`Policy::when`](crate::Policy::when) enforces the pause after a call.
///
/// # Laws
///
/// Answers depend on nothing but what was observed, in its order.
pub trait When: fmt::Debug {
    /// Handles the end of a superstep.
    fn observe(&mut self, elapsed: &Elapsed);

    /// Whether a call follows the superstep last observed, now that `completed` of the run are over.
    fn is_due(&self, completed: u64) -> bool;

    /// Handles the end of a call.
    fn conclude(&mut self, call: &CallOutcome<'_>);

    /// The schedule of calls until the next one; depends on past calls alone, not on the supersteps since. A rule that
    /// calls when it pays has none.
    fn schedule(&self) -> CallSchedule {
        CallSchedule::default()
    }
}

/// What one superstep took, as measured by the barrier that ended it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// Supersteps of the run that are over, this one included.
    pub completed: u64,
    /// The longest computation of a process, `m`.
    pub slowest: Seconds,
    /// The mean computation, over all processes, `a`.
    pub mean: Seconds,
    /// How long the superstep took, or with a hierarchical barrier the one before.
    pub took: Seconds,
}

/// What a call observed and did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallOutcome<'a> {
    /// Supersteps of the run that are over.
    pub completed: u64,
    /// Over all processes, for each superstep since the last call.
    pub supersteps: &'a [Digest],
    /// How long the barrier's master was busy in each of them.
    pub barrier_busy: &'a [Seconds],
    /// How many processes moved.
    pub migrations: usize,
    /// The distance to the next call that the planner asks for.
    pub spacing: Spacing,
}

/// How far apart calls may be, as a planner sees it; all zero without a planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spacing {
    /// The cost of a call, `C`, as far as it is known.
    pub cost: Seconds,
    /// Supersteps in which another call does not pay; fewer if they compute longer than those before.
    pub pause: u64,
    /// Supersteps after which another call costs little, whatever they are like; fewer if they compute longer.
    pub again: u64,
    /// The mean length of a superstep since the call before.
    pub took: Seconds,
    /// Supersteps after the moves of this call must not take longer, or another call follows; `None`: any length.
    pub limit: Option<Seconds>,
}

/// The schedule of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallSchedule {
    /// Supersteps until the next call; `None`: whenever it pays.
    pub interval: Option<u32>,
    /// The tolerance that supersteps are checked with, if the rule has one.
    pub tolerance: Option<f64>,
    /// How many supersteps were balanced in the interval that ended with the last call.
    pub balanced: Option<u32>,
}

impl Elapsed {
    /// The excess of the slowest process over the mean, `u = m − a`, in seconds.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        (self.slowest - self.mean).get().max(0.0)
    }
}

#[cfg(test)]
pub(crate) mod tests;
