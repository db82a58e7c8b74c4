//! MigBSP's interval between calls, which follows the balance.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use super::{CallOutcome, CallSchedule, Elapsed, When};
use crate::rule::{Need, Rule};
use crate::{Config, Digest};

/// The interval between calls and the tolerance that steers it, as one Set Manager holds them.
///
/// Implements equations `INTERVAL` and `TOLERANCE` of `docs/model.md`. All Managers take in the same
/// times in the same order and so hold the same values, which they can compare.
///
/// Invariant: no interval is below the initial one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    initial: Initial,
    /// α.
    interval: u32,
    /// α'.
    interval_next: u32,
    /// Supersteps after which the next call comes, counted from the beginning of the run.
    call_next: u64,
    /// D.
    tolerance: f64,
    /// γ.
    calls_idle: u32,
    /// How many supersteps of the last interval were balanced.
    balanced: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Initial {
    interval: u32,
    tolerance: f64,
    omega: u32,
}

impl Interval {
    /// As a run begins.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let parameters = config.parameters();
        Self {
            initial: Initial {
                interval: parameters.interval,
                tolerance: parameters.tolerance,
                omega: parameters.omega,
            },
            interval: parameters.interval,
            interval_next: parameters.interval,
            call_next: u64::from(parameters.interval),
            tolerance: parameters.tolerance,
            calls_idle: 0,
            balanced: None,
        }
    }

    /// Checks the supersteps since the last call and moves the next interval by one for each; returns
    /// how many were balanced.
    fn balance(&mut self, supersteps: &[Digest], barrier_busy: &[Seconds]) -> u32 {
        let mut wait = Seconds::ZERO;
        let mut balanced = 0;
        for (index, digest) in supersteps.iter().enumerate() {
            wait = digest.wait.unwrap_or(wait);
            let busy = barrier_busy.get(index).copied().unwrap_or_default();
            if is_balanced(digest, wait.max(busy), self.tolerance) {
                self.interval_next = self.interval_next.saturating_add(1);
                balanced += 1;
            } else if self.initial.interval < self.interval_next {
                self.interval_next -= 1;
            }
        }
        balanced
    }

    /// Widens or narrows the tolerance after a call with or without migrations.
    fn tolerate(&mut self, migrated: bool) {
        self.calls_idle = if migrated {
            0
        } else {
            self.calls_idle.saturating_add(1)
        };
        let Initial {
            tolerance: initial,
            omega,
            ..
        } = self.initial;
        let half = self.tolerance / 2.0;
        if omega <= self.calls_idle {
            if self.tolerance + half < 1.0 {
                self.tolerance += half;
            }
        } else if initial < self.tolerance && self.calls_idle == 0 {
            self.tolerance = (self.tolerance - half).max(initial);
        }
    }
}

impl When for Interval {
    fn observe(&mut self, _elapsed: &Elapsed) {}

    fn is_due(&self, completed: u64) -> bool {
        self.call_next <= completed
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        self.balanced = Some(self.balance(call.supersteps, call.barrier_busy));
        self.tolerate(0 < call.migrations);
        self.interval = self.interval_next;
        self.call_next = call.completed.saturating_add(self.interval.into());
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule {
            interval: Some(self.interval),
            tolerance: Some(self.tolerance),
            balanced: self.balanced,
        }
    }
}

/// Whether one superstep was balanced, given a digest of its times and what its barrier cost.
///
/// Implements inequalities `BALANCE` of `docs/model.md`: the slowest process takes less than the mean
/// times `1 + tolerance`, the fastest more than the mean times `1 − tolerance`. The time of a process is its computation,
/// the mean reception and the barrier: the last two are common to all processes, so that they soften what differences of
/// computation weigh. A superstep in which no process computed is not balanced.
fn is_balanced(times: &Digest, barrier: Seconds, tolerance: f64) -> bool {
    if times.computed == 0 {
        return false;
    }
    let number = f64::from(times.counted);
    // What every process has in common.
    let common = times.reception.get() / number + barrier.get();
    let mean = times.computation.get() / number + common;
    let (slowest, fastest) = (times.slowest.get() + common, times.fastest.get() + common);
    slowest < mean * (1.0 + tolerance) && mean * (1.0 - tolerance) < fastest
}

/// `migbsp-interval`.
pub(crate) const MIGBSP_INTERVAL: Rule<dyn When> = Rule::<dyn When>::new(
    "migbsp-interval",
    "MigBSP's interval, which grows while supersteps are balanced",
    |settings| Box::new(Interval::new(settings.config)),
)
.with_need(Need::ProcessTimes);

#[cfg(test)]
mod tests;
