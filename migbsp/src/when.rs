//! When to call for rescheduling.

mod boulmier;
mod budgeted;
mod cooldown;
mod either;
mod fixed;
mod interval;
mod menon;
mod metalb;

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::Digest;

pub use boulmier::Boulmier;
pub use budgeted::Thrifty;
pub use cooldown::Rested;
pub use either::Either;
pub use fixed::Fixed;
pub use interval::{Interval, is_balanced};
pub use menon::Menon;
pub use metalb::MetaLb;

/// Decides after which supersteps a rescheduling call is held.
///
/// Every Set Manager holds one. All of them are told of calls that are over, and so have the same pace; of supersteps,
/// only those are told who have to decide: the first Manager, and with a hierarchical barrier the others, too.
///
/// Rules judge; that nobody calls while there is a pause is for [`Rested`] to see to.
///
/// # Laws
///
/// What it answers depends on nothing but what it was told, in the order it was told it.
pub trait When: fmt::Debug {
    /// A superstep is over.
    fn observe(&mut self, elapsed: &Elapsed);

    /// Whether a call follows the superstep last observed, now that `completed` of the run are over.
    fn is_due(&self, completed: u64) -> bool;

    /// A call is over.
    fn conclude(&mut self, call: &Concluded<'_>);

    /// How calls are paced until the next one: as the calls that are over say, whatever supersteps were like since.
    fn pace(&self) -> Pace;
}

/// What one superstep took, as the barrier that ended it told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elapsed {
    /// Supersteps of the run that are over, this one included.
    pub completed: u64,
    /// The longest computation of a process, `m`.
    pub slowest: Seconds,
    /// The mean computation, over all processes, `a`.
    pub mean: Seconds,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concluded<'a> {
    /// Supersteps of the run that are over.
    pub completed: u64,
    /// Over all processes, for each superstep since the last call.
    pub supersteps: &'a [Digest],
    /// How long the barrier's master was busy in each of them.
    pub barrier_busy: &'a [Seconds],
    /// How many processes moved.
    pub migrations: usize,
    /// When the next one may be, where somebody plans.
    pub spacing: Spacing,
}

/// How far apart calls may be, as a planner sees it; all zero where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spacing {
    /// What a call takes, `C`, as far as is known.
    pub cost: Seconds,
    /// Supersteps for which it is not worth while to call again; fewer, if they compute longer ([`Rested`]).
    pub pause: u64,
    /// Supersteps after which another call does no harm, whatever comes; likewise.
    pub again: u64,
    /// What a superstep has taken since the call before.
    pub took: Seconds,
}

/// How calls are paced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Supersteps until the next call; `None`: whenever it is worth it.
    pub interval: Option<u32>,
    /// The tolerance that supersteps are judged with, where there is one.
    pub tolerance: Option<f64>,
    /// How many supersteps were balanced in the interval that ended with the last call.
    pub balanced: Option<u32>,
}

impl Elapsed {
    /// What the slowest process takes beyond the mean, `u = m − a`.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        (self.slowest - self.mean).get().max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call after `completed` supersteps, without moves.
    pub(super) fn concluded(completed: u64, cost: f64, pause: u64) -> Concluded<'static> {
        Concluded {
            completed,
            supersteps: &[],
            barrier_busy: &[],
            migrations: 0,
            spacing: Spacing {
                cost: Seconds::new(cost).unwrap(),
                pause,
                ..Spacing::default()
            },
        }
    }

    /// After how many supersteps with these imbalances `when` first calls.
    pub(super) fn called_at(
        when: &mut impl When,
        imbalances: impl IntoIterator<Item = f64>,
    ) -> Option<u64> {
        for (completed, imbalance) in (1..).zip(imbalances) {
            when.observe(&Elapsed {
                completed,
                slowest: Seconds::new(1.0 + imbalance).unwrap(),
                mean: Seconds::new(1.0).unwrap(),
            });
            if when.is_due(completed) {
                return Some(completed);
            }
        }
        None
    }
}
