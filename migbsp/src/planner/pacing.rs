//! Distances between calls.

use bsp::units::{Instant, Seconds};

use crate::bounded::count;
use crate::planner::budget::OverheadBudget;

/// When the last call was held, and when the overhead budget allows another.
#[derive(Debug)]
pub(super) struct CallPacing {
    /// Supersteps that were over at the last call, and when it began.
    called: (u64, Instant),
    /// When the last call was over.
    resumed: Instant,
    /// Supersteps that were over when a process last moved.
    placed: u64,
    /// Calls since then.
    fruitless: u32,
    budget: OverheadBudget,
    /// Seconds of a superstep, the mean over calls.
    pace: Option<f64>,
    /// The part of the run that calls without moves may take.
    share: f64,
}

impl CallPacing {
    pub(super) fn new(share: f64) -> Self {
        Self {
            called: (0, Instant::START),
            resumed: Instant::START,
            placed: 0,
            fruitless: 0,
            budget: OverheadBudget::default(),
            pace: None,
            share,
        }
    }

    /// Mean seconds of a superstep since the last call, without `deferred` seconds that migrated processes spent in
    /// the first of them.
    pub(super) fn superstep(&self, completed: u64, now: Instant, deferred: f64) -> f64 {
        let number = count(completed - self.called.0).max(1.0);
        ((now - self.resumed).get() - deferred).max(0.0) / number
    }

    /// Seconds of a superstep, the mean over the last calls with this one, before which supersteps took `superstep` seconds.
    pub(super) fn pace(&mut self, superstep: f64) -> f64 {
        let pace = self.pace.get_or_insert(superstep);
        *pace += PACE_WEIGHT * (superstep - *pace);
        *pace
    }

    /// Begins a call at `now`, after `completed` supersteps of `superstep` seconds.
    pub(super) fn begin_call(&mut self, completed: u64, now: Instant, superstep: f64) {
        self.called = (completed, now);
        self.budget.elapse(completed, superstep);
    }

    /// Ends the call, which took `took`; `moved` says whether a process moved.
    pub(super) fn end_call(&mut self, took: Seconds, moved: bool) {
        self.resumed = self.called.1 + took;
        if moved {
            (self.placed, self.fruitless) = (self.called.0, 0);
        } else {
            self.fruitless = self.fruitless.saturating_add(1);
        }
    }

    /// How many of `completed` supersteps processes have been where they are.
    pub(super) fn placed(&self, completed: u64) -> f64 {
        count(completed - self.placed)
    }

    /// Supersteps without a call after one that finds nothing to improve: `pause`, and twice as many after each such call
    /// since a process last moved.
    pub(super) fn pause_idle(&self, pause: u64) -> u64 {
        pause.saturating_mul(1 << self.fruitless.min(DOUBLED_MAX))
    }

    /// Charges `seconds` to the overhead budget.
    pub(super) fn spend(&mut self, seconds: f64) {
        self.budget.spend(seconds);
    }

    /// Supersteps that were over at the last call.
    pub(super) const fn completed(&self) -> u64 {
        self.called.0
    }

    /// Supersteps in which the budget allows no other call, and after which it allows one in any case, if a call
    /// without moves takes `overhead` seconds.
    pub(super) fn pauses(&self, overhead: Option<f64>) -> (u64, u64) {
        let Some(overhead) = overhead else {
            return (PAUSE_FIRST, PAUSE_FIRST);
        };
        // The next call has to fit in, too.
        let mut budget = self.budget.clone();
        budget.spend(overhead);
        (budget.pause(self.share), budget.pause(self.share / 2.0))
    }
}

/// Weight of the newest call.
const PACE_WEIGHT: f64 = 0.25;

/// The pause after calls that find nothing to improve is doubled as many times.
const DOUBLED_MAX: u32 = 4;

/// Supersteps without a call after the first one, when its cost is not known yet.
const PAUSE_FIRST: u64 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::START + Seconds::new(seconds).unwrap()
    }

    #[test]
    fn a_superstep_is_a_mean_without_the_call_and_without_deferred_costs() {
        let mut pacing = CallPacing::new(0.01);
        pacing.begin_call(4, at(10.0), 2.5);
        pacing.end_call(Seconds::new(2.0).unwrap(), false);
        let superstep = pacing.superstep(9, at(23.0), 1.0);
        assert!((superstep - 2.0).abs() < 1e-9, "{superstep}");
    }

    #[test]
    fn pauses_follow_from_the_budget_once_the_overhead_is_known() {
        let mut pacing = CallPacing::new(0.01);
        pacing.begin_call(10, at(10.0), 1.0);
        assert_eq!(pacing.pauses(None), (6, 6));
        assert_eq!(pacing.pauses(Some(0.1)), (0, 10));
        pacing.spend(0.1);
        assert_eq!(pacing.pauses(Some(0.1)), (10, 30));
    }
}
