//! Pauses after calls, and what ends them.

use bsp::units::Seconds;

use super::{CallOutcome, CallSchedule, Elapsed, Spacing, When};
use crate::bounded::count;

/// Calls when a rule does, but not in the first supersteps of a run, and not during the pause after a call; and when a
/// plan has made supersteps longer, or a change pays for a call.
#[derive(Debug)]
pub(crate) struct Cooldown {
    rule: Box<dyn When>,
    pause: Pause,
    trial: Trial,
    /// What ends a pause that a budget asks for; `None`: the rule has no budget.
    change: Option<Change>,
}

impl Cooldown {
    /// No call before `first` supersteps are over.
    pub(crate) fn new(rule: Box<dyn When>, first: u64) -> Self {
        Self {
            rule,
            pause: Pause::new(first),
            trial: Trial::default(),
            change: None,
        }
    }

    /// The same for a rule with a budget, whose pauses a change ends.
    pub(crate) fn with_budget(self) -> Self {
        Self {
            change: Some(Change::default()),
            ..self
        }
    }
}

impl When for Cooldown {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.pause.observe(elapsed);
        self.trial.observe(elapsed);
        if let Some(change) = &mut self.change {
            change.observe(elapsed);
        }
        self.rule.observe(elapsed);
    }

    fn is_due(&self, completed: u64) -> bool {
        self.trial.has_failed()
            || self.change.as_ref().is_some_and(Change::pays)
            || self.pause.is_over() && self.rule.is_due(completed)
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        let Spacing {
            cost,
            pause,
            took,
            limit,
            ..
        } = call.spacing;
        self.pause.begin(pause, took);
        self.trial.begin(limit.filter(|_| 0 < call.migrations));
        if let Some(change) = &mut self.change {
            change.begin(0 < call.migrations, cost);
        }
        self.rule.conclude(call);
    }

    fn schedule(&self) -> CallSchedule {
        self.rule.schedule()
    }
}

/// A number of supersteps, cut short if they compute longer than those before.
///
/// The number follows from how long supersteps took before the pause. Once [`SEEN_MIN`] of them have been seen, the
/// pause also ends when as much time has gone by as that many would have taken before: what each computes beyond
/// the former mean counts as that much more time.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    /// Supersteps since the last call, and the sum of their longest computations, in seconds.
    number: f64,
    computation: f64,
    /// The number of supersteps.
    number_max: f64,
    /// Before the last call: the length of a superstep, and the mean of its longest computation, in seconds.
    superstep: f64,
    computation_mean: f64,
}

impl Pause {
    /// A pause of `supersteps` at the start of a run.
    pub(super) fn new(supersteps: u64) -> Self {
        Self {
            number_max: count(supersteps),
            ..Self::default()
        }
    }

    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        self.number += 1.0;
        self.computation += elapsed.took.get();
    }

    pub(super) fn is_over(&self) -> bool {
        let left = (self.number_max - self.number) * self.superstep;
        let beyond = self.computation - self.number * self.computation_mean;
        let is_late = 0.0 < self.superstep && left <= beyond;
        self.number_max <= self.number || SEEN_MIN <= self.number && is_late
    }

    /// Begins a pause of `supersteps` after a call; the supersteps before it took `took` each.
    pub(super) fn begin(&mut self, supersteps: u64, took: Seconds) {
        *self = Self {
            superstep: took.get(),
            computation_mean: self.computation / self.number.max(1.0),
            ..Self::new(supersteps)
        };
    }
}

/// Fewer supersteps may be one phase of a cycle, and say little about the next ones.
const SEEN_MIN: f64 = 8.0;

/// Imbalance that has come up since the last call, and was not there in the first supersteps after it.
///
/// Equation `CHANGE` of `docs/model.md`. A budget of calls says nothing of what supersteps lose without one. A change that
/// has cost as much as a call pays for one, twice as much after one that moved nothing, and so on.
#[derive(Debug, Default)]
struct Change {
    /// Supersteps since the last call.
    number: u32,
    /// The mean imbalance of the first ones, in seconds.
    former: f64,
    /// The sum of what later ones exceed it by.
    excess: f64,
    /// The imbalance of the last one, and the sum of the squares of differences between neighbours.
    last: f64,
    squares: f64,
    /// What a call takes; zero: that is not known.
    cost: f64,
    /// Calls since a process moved.
    fruitless: i32,
}

impl Change {
    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        let imbalance = elapsed.imbalance();
        if 0 < self.number {
            self.squares += (imbalance - self.last).powi(2);
        }
        self.last = imbalance;
        self.number = self.number.saturating_add(1);
        if self.number <= FORMER {
            self.former += (imbalance - self.former) / f64::from(self.number);
        } else {
            self.excess += imbalance - self.former;
        }
    }

    /// Whether the change pays for a call, and is more than noise.
    pub(super) fn pays(&self) -> bool {
        if self.number < 2 * FORMER || self.cost <= 0.0 {
            return false;
        }
        let later = f64::from(self.number - FORMER);
        let deviation = (self.squares / f64::from(2 * (self.number - 1))).sqrt();
        deviation * later < self.excess && self.cost * 2_f64.powi(self.fruitless) <= self.excess
    }

    /// A call is over in which processes `moved` or not; one without moves takes `cost`.
    pub(super) fn begin(&mut self, moved: bool, cost: Seconds) {
        let fruitless = if moved {
            0
        } else {
            self.fruitless.saturating_add(1)
        };
        *self = Self {
            cost: cost.get(),
            fruitless,
            ..Self::default()
        };
    }
}

/// Supersteps after a call that show what it has left.
const FORMER: u32 = 4;

/// Whether a plan has made supersteps longer, from the first supersteps after it.
///
/// The first superstep is left out: processes that have just moved may spend the time of their migration in it. If each of
/// the next three takes longer than the limit, the plan has failed, and a call follows whatever the pause is.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    /// A superstep that takes longer than this many seconds speaks against the plan; `None`: there is no trial.
    limit: Option<f64>,
    /// Supersteps since the plan.
    observed: u32,
}

impl Trial {
    /// Begins with a plan after which no superstep must take longer than `limit`; `None`: there is no plan to try.
    pub(super) fn begin(&mut self, limit: Option<Seconds>) {
        *self = Self {
            limit: limit.map(Seconds::get),
            observed: 0,
        };
    }

    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        let Some(limit) = self.limit else {
            return;
        };
        self.observed = self.observed.saturating_add(1);
        let is_tried = SKIPPED < self.observed && self.observed <= SKIPPED + TRIED;
        if is_tried && elapsed.took.get() <= limit {
            self.limit = None;
        }
    }

    /// Whether the plan has failed.
    fn has_failed(&self) -> bool {
        self.limit.is_some() && SKIPPED + TRIED <= self.observed
    }
}

/// Supersteps after which a plan has been tried.
pub(crate) const TRIAL: u64 = 4;

/// Supersteps after a plan that say nothing.
const SKIPPED: u32 = 1;

/// Supersteps after them that all have to take longer.
const TRIED: u32 = 3;

const _: () = assert!(SKIPPED + TRIED == 4, "together a trial");

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;

    use super::*;
    use crate::bounded::count;
    use crate::when::rules::Budgeted;
    use crate::when::tests::call_outcome;
    use crate::{Parameters, Planning, Policies, Policy};

    const SUPERSTEP: f64 = 2.0;

    /// After how many supersteps a rule that would always call does, if supersteps take `before` and `after` seconds, and
    /// the call takes those before it for two seconds each.
    fn over_after(before: &[f64], pause: u64, after: &[f64]) -> Option<usize> {
        let mut when = Cooldown::new(Box::new(Budgeted::default()), 0);
        let elapsed = |took: &f64| Elapsed {
            completed: 0,
            slowest: Seconds::ZERO,
            mean: Seconds::ZERO,
            took: Seconds::new(*took).unwrap(),
        };
        for took in before {
            when.observe(&elapsed(took));
        }
        let spacing = Spacing {
            pause,
            took: Seconds::new(SUPERSTEP).unwrap(),
            ..Spacing::default()
        };
        when.conclude(&CallOutcome {
            spacing,
            ..call_outcome(0, 1.0, pause)
        });
        let due = after.iter().position(|took| {
            when.observe(&elapsed(took));
            when.is_due(100)
        });
        due.map(|supersteps| supersteps + 1)
    }

    #[test]
    fn a_pause_lasts_for_its_supersteps() {
        assert_eq!(over_after(&[1.0; 4], 0, &[1.0; 9]), Some(1));
        assert_eq!(over_after(&[1.0; 4], 7, &[1.0; 9]), Some(7));
        assert_eq!(over_after(&[1.0; 4], 10, &[1.0; 9]), None);
        assert_eq!(over_after(&[2.0; 4], 3, &[1.0; 9]), Some(3));
        assert_eq!(over_after(&[], 3, &[0.0; 9]), Some(3));
    }

    #[test]
    fn a_pause_is_shorter_if_supersteps_take_longer() {
        // Of 50 that take two seconds, ten are over when they have taken 80 seconds longer.
        assert_eq!(over_after(&[0.5, 1.5], 50, &[9.0; 60]), Some(10));
        assert_eq!(over_after(&[0.5, 1.5], 50, &[1e3; 60]), Some(8));
        assert_eq!(over_after(&[0.5, 1.5], 7, &[1e3; 60]), Some(7));
        // A tenth of a second is little beside the two.
        assert_eq!(over_after(&[0.1; 4], 42, &[0.2; 60]), Some(40));
    }

    #[test]
    fn no_rule_calls_in_the_first_supersteps_or_during_a_pause() {
        const FIRST: u32 = 4;
        const PAUSE: u64 = 7;
        let config = crate::Config::new(Parameters {
            interval: FIRST,
            ..Parameters::default()
        })
        .unwrap();
        let policies = Policies::shipped();
        for name in policies.whens().iter().map(|rule| rule.name()) {
            let policy: Policy = format!("{name}+portfolio").parse().unwrap();
            let mut when = policy.when(&config, &Planning::default());
            let elapse = |when: &mut Box<dyn When>, completed: u64| {
                when.observe(&Elapsed {
                    completed,
                    slowest: Seconds::new(count(completed)).unwrap(),
                    mean: Seconds::ZERO,
                    took: Seconds::ZERO,
                });
                when.is_due(completed)
            };
            for completed in 1..u64::from(FIRST) {
                assert!(!elapse(&mut when, completed), "{name}, {completed}");
            }
            let first = (FIRST.into()..40).find(|completed| elapse(&mut when, *completed));
            let first = first.expect(name);
            when.conclude(&call_outcome(first, 0.0, PAUSE));
            for completed in first + 1..first + PAUSE {
                assert!(!elapse(&mut when, completed), "{name}, {completed}");
            }
        }
    }

    /// After how many supersteps with these imbalances a change pays for a call that takes three seconds, the first after
    /// `fruitless` calls.
    fn pays_after(fruitless: u32, imbalances: &[f64]) -> Option<usize> {
        let mut change = Change::default();
        let cost = Seconds::new(3.0).unwrap();
        change.begin(true, cost);
        for _ in 0..fruitless {
            change.begin(false, cost);
        }
        let paid = imbalances.iter().position(|imbalance| {
            change.observe(&Elapsed {
                completed: 1,
                slowest: Seconds::new(1.0 + imbalance).unwrap(),
                mean: Seconds::new(1.0).unwrap(),
                took: Seconds::ZERO,
            });
            change.pays()
        });
        paid.map(|supersteps| supersteps + 1)
    }

    #[test]
    fn a_change_pays_for_a_call_when_it_has_cost_one() {
        let changed = [vec![0.5; 10], vec![1.0; 20]].concat();
        // Half a second in each of six supersteps, and of twelve.
        assert_eq!(pays_after(0, &changed), Some(16));
        assert_eq!(pays_after(1, &changed), Some(22));
        assert_eq!(pays_after(2, &changed), None);
    }

    #[test]
    fn what_was_there_and_noise_pay_for_nothing() {
        assert_eq!(pays_after(0, &[5.0; 500]), None);
        let noisy = [0.0, 5.0, 0.0, 5.0, 5.0, 0.0].repeat(50);
        assert_eq!(pays_after(0, &noisy), None);
        // Less imbalance than before is none that has come up.
        assert_eq!(pays_after(0, &[vec![5.0; 9], vec![1.0; 99]].concat()), None);
    }

    /// After how many supersteps of these seconds a plan with a limit of one second fails.
    fn failed_after(took: &[f64]) -> Option<usize> {
        let mut trial = Trial::default();
        trial.begin(Seconds::new(1.0).ok());
        let failed = took.iter().position(|took| {
            trial.observe(&Elapsed {
                completed: 1,
                slowest: Seconds::ZERO,
                mean: Seconds::ZERO,
                took: Seconds::new(*took).unwrap(),
            });
            trial.has_failed()
        });
        failed.map(|supersteps| supersteps + 1)
    }

    #[test]
    fn a_plan_fails_if_three_supersteps_after_the_first_take_too_long() {
        assert_eq!(failed_after(&[0.5, 1.1, 1.2, 1.1, 1.1]), Some(4));
        assert_eq!(failed_after(&[9.0, 1.0, 9.0, 9.0, 9.0, 9.0]), None);
        assert_eq!(failed_after(&[9.0, 9.0, 9.0]), None);
    }

    #[test]
    fn without_a_plan_nothing_fails() {
        let mut trial = Trial::default();
        trial.begin(None);
        assert!(!trial.has_failed());
    }
}
