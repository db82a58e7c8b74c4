//! Distances between calls: the overhead budget, lifetimes of plans, and plans that are left undone.

use bsp::units::{Instant, Seconds};

use crate::bounded::{count, supersteps};

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

/// Spaces calls so that those without moves take no more than a part of the run.
///
/// The gain of a call's moves pays for the call, as far as it goes.
#[derive(Clone, Debug, Default)]
struct OverheadBudget {
    /// Supersteps that were over at the last call.
    completed: u64,
    /// Seconds of the run so far, calls not counted.
    elapsed: f64,
    /// Seconds of calls that no gain has paid for.
    spent: f64,
    /// Seconds of a superstep.
    superstep: f64,
}

impl OverheadBudget {
    /// Observes that `completed` supersteps are over, and that each of the last ones took `superstep` seconds.
    pub(super) fn elapse(&mut self, completed: u64, superstep: f64) {
        let number = count(completed - self.completed);
        self.completed = completed;
        self.elapsed += number * superstep;
        self.superstep = superstep;
    }

    /// Charges `seconds` of a call.
    pub(super) fn spend(&mut self, seconds: f64) {
        self.spent += seconds;
    }

    /// Supersteps until the charges are no more than `share` of the run.
    pub(super) fn pause(&self, share: f64) -> u64 {
        let wanted = self.spent / share - self.elapsed;
        supersteps(wanted / self.superstep.max(f64::MIN_POSITIVE))
    }
}

/// How long plans have stayed good, in supersteps.
#[derive(Debug)]
pub(super) struct Lifetime {
    /// Supersteps that were over when a plan was last carried out.
    admitted: u64,
    /// The mean over plans.
    mean: f64,
    /// No plan is expected to stay good for longer.
    max: f64,
}

impl Lifetime {
    /// Plans are expected to stay good for `max` supersteps until one has been replaced.
    pub(super) const fn new(max: f64) -> Self {
        Self {
            admitted: 0,
            mean: max,
            max,
        }
    }

    /// Supersteps for which a plan is expected to stay good, `H`, after `completed` of the run.
    pub(super) fn horizon(&self, completed: u64) -> f64 {
        let age = count(completed - self.admitted);
        age.max(self.mean).clamp(1.0, self.max)
    }

    /// Learns that another plan was carried out after `completed` supersteps.
    pub(super) fn replace(&mut self, completed: u64) {
        let lived = count(completed - self.admitted).min(self.max);
        self.mean += WEIGHT * (lived - self.mean);
        self.admitted = completed;
    }
}

/// Weight of the newest plan.
const WEIGHT: f64 = 0.5;

/// Since when a plan is left undone because of its cost or of noise.
///
/// Equation `DEFERRED` of `docs/model.md`. What a plan costs and what a call takes may have been overestimated, and neither
/// is measured again without a plan. Once the plan has missed what it is thought to cost, it is worth a call.
#[derive(Debug, Default)]
pub(super) struct Deferral {
    /// Supersteps that were over when it began; `None`: no plan is left undone.
    since: Option<u64>,
}

/// A plan that is left undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undone {
    /// Seconds by which supersteps would be shorter; above zero.
    pub(super) gain: f64,
    /// Seconds that its moves are predicted to take.
    pub(super) cost: f64,
    /// Seconds that would be noticed beside the noise of so many supersteps, [`Undone::supersteps`].
    pub(super) noise: f64,
    /// How many supersteps processes have been where they are.
    pub(super) supersteps: f64,
}

impl Deferral {
    /// How many of `completed` supersteps a plan has been left undone, and would have been good for.
    pub(super) fn age(&self, completed: u64) -> f64 {
        self.since.map_or(0.0, |since| count(completed - since))
    }

    /// Learns whether a plan is left undone after `completed` supersteps. Returns after how many more it is worth a call
    /// that takes `overhead` seconds; `None`: there is none.
    pub(super) fn observe(
        &mut self,
        completed: u64,
        undone: Option<Undone>,
        overhead: f64,
    ) -> Option<u64> {
        self.since = undone.map(|_| self.since.unwrap_or(completed));
        let undone = undone?;
        let (age, worth) = (self.age(completed), (undone.cost + overhead) / undone.gain);
        // A plan that is still left undone when it has missed its cost may be so for other reasons.
        let paid = if age < worth { worth - age } else { age };
        // The errors of means are inversely proportional to the square root of their number.
        let clear = undone.supersteps * ((undone.noise / undone.gain).powi(2) - 1.0);
        Some(supersteps(paid.max(clear).max(overhead / undone.gain)))
    }
}

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

    #[test]
    fn calls_take_no_more_than_their_share() {
        let mut budget = OverheadBudget::default();
        let (mut completed, mut calls) = (0, 0);
        while completed < 10_000 {
            completed += 1 + budget.pause(0.01);
            budget.elapse(completed, 1.0);
            budget.spend(0.5);
            calls += 1;
        }
        // A hundred seconds in ten thousand, and one call in advance.
        assert!((195..=201).contains(&calls), "{calls}");
    }

    #[test]
    fn without_charges_there_is_no_pause() {
        let mut budget = OverheadBudget::default();
        budget.elapse(4, 1.0);
        assert_eq!(budget.pause(0.01), 0);
        budget.spend(100.0);
        assert_eq!(budget.pause(0.01), 9_996);
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}");
    }

    #[test]
    fn the_horizon_is_the_age_of_the_plan_or_the_mean_lifetime() {
        let mut lifetime = Lifetime::new(50.0);
        close(lifetime.horizon(4), 50.0);
        lifetime.replace(10);
        close(lifetime.horizon(12), 30.0);
        lifetime.replace(20);
        close(lifetime.horizon(22), 20.0);
        close(lifetime.horizon(45), 25.0);
        close(lifetime.horizon(500), 50.0);
    }

    const UNDONE: Undone = Undone {
        gain: 0.5,
        cost: 20.0,
        noise: 0.0,
        supersteps: 10.0,
    };

    #[test]
    fn a_plan_is_worth_a_call_when_it_has_missed_what_it_costs() {
        let mut deferral = Deferral::default();
        assert_eq!(deferral.observe(10, None, 5.0), None);
        // 25 seconds, a half in each superstep.
        assert_eq!(deferral.observe(20, Some(UNDONE), 5.0), Some(50));
        assert_eq!(deferral.observe(50, Some(UNDONE), 5.0), Some(20));
        assert!((deferral.age(70) - 50.0).abs() < 1e-12);
        assert_eq!(deferral.observe(60, Some(UNDONE), 5.0), Some(10));
        // It was not carried out then, and has to wait for as long again; a call is worth itself at least.
        assert_eq!(deferral.observe(70, Some(UNDONE), 5.0), Some(50));
        assert_eq!(deferral.observe(75, Some(UNDONE), 30.0), Some(60));
        assert_eq!(deferral.observe(95, None, 5.0), None);
        assert!(deferral.age(99) < 1e-12);
        assert_eq!(deferral.observe(99, Some(UNDONE), 5.0), Some(50));
    }

    #[test]
    fn a_plan_that_noise_hides_is_worth_a_call_when_it_shows() {
        let hidden = Undone {
            cost: 0.0,
            noise: 1.0,
            ..UNDONE
        };
        // Four times as many supersteps halve the noise.
        let mut deferral = Deferral::default();
        assert_eq!(deferral.observe(10, Some(hidden), 5.0), Some(30));
    }
}
