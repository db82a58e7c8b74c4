//! No calls during the pause after a call.

use crate::when::change::Change;
use crate::when::pause::Pause;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, Spacing, When};
use crate::when::trial::Trial;

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

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;

    use super::*;
    use crate::bounded::count;
    use crate::when::budgeted::Budgeted;
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
}
