//! No calls for a while after one.

use bsp::units::Seconds;

use crate::bounded::count;
use crate::{Concluded, Elapsed, Pace, Spacing, When};

/// Calls when a rule does, but not in the first supersteps of a run, and not while the pause after a call lasts.
#[derive(Debug)]
pub struct Rested<Rule> {
    rule: Rule,
    rest: Rest,
}

impl<Rule: When> Rested<Rule> {
    /// No call before `first` supersteps are over.
    #[must_use]
    pub fn new(rule: Rule, first: u64) -> Self {
        Self {
            rule,
            rest: Rest::new(first),
        }
    }
}

impl<Rule: When> When for Rested<Rule> {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.rest.observe(elapsed);
        self.rule.observe(elapsed);
    }

    fn is_due(&self, completed: u64) -> bool {
        self.rest.is_over() && self.rule.is_due(completed)
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        let Spacing { pause, took, .. } = call.spacing;
        self.rest.begin(pause, took);
        self.rule.conclude(call);
    }

    fn pace(&self) -> Pace {
        self.rule.pace()
    }
}

/// Over after so many supersteps or, once [`SEEN_MIN`] have been seen, when as much time has gone by as so many took
/// before: what each computes beyond the mean of those counts as that much more time.
///
/// How many there may be follows from how long they took; if they grow, that would be too many.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    /// Supersteps since the last call, and the sum of their longest computations, in seconds.
    number: f64,
    computation: f64,
    /// How many there may be.
    number_max: f64,
    /// Before the last call: what a superstep took, and the mean of its longest computation, in seconds.
    superstep: f64,
    computation_mean: f64,
}

impl Rest {
    /// For so many supersteps, of which nothing is known yet.
    fn new(supersteps: u64) -> Self {
        Self {
            number_max: count(supersteps),
            ..Self::default()
        }
    }

    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        self.number += 1.0;
        self.computation += elapsed.slowest.get();
    }

    pub(super) fn is_over(&self) -> bool {
        let left = (self.number_max - self.number) * self.superstep;
        let beyond = self.computation - self.number * self.computation_mean;
        let is_late = 0.0 < self.superstep && left <= beyond;
        self.number_max <= self.number || SEEN_MIN <= self.number && is_late
    }

    /// A call is over, and so many supersteps begin, if they take no longer than those since the call before.
    pub(super) fn begin(&mut self, supersteps: u64, took: Seconds) {
        *self = Self {
            superstep: took.get(),
            computation_mean: self.computation / self.number.max(1.0),
            ..Self::new(supersteps)
        };
    }
}

/// What fewer supersteps compute may say less about the next ones than about which of a cycle they were.
const SEEN_MIN: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::when::tests::concluded;
    use crate::{Parameters, Policy, Thrifty, WHENS};

    const SUPERSTEP: f64 = 2.0;

    /// After how many supersteps a rule that would always call does, if supersteps take two seconds before a
    /// pause, and compute so long before and after.
    fn over_after(before: &[f64], pause: u64, after: &[f64]) -> Option<usize> {
        let mut when = Rested::new(Thrifty::default(), 0);
        let elapsed = |slowest: &f64| Elapsed {
            completed: 0,
            slowest: Seconds::new(*slowest).unwrap(),
            mean: Seconds::ZERO,
        };
        for slowest in before {
            when.observe(&elapsed(slowest));
        }
        let spacing = Spacing {
            pause,
            took: Seconds::new(SUPERSTEP).unwrap(),
            ..Spacing::default()
        };
        when.conclude(&Concluded {
            spacing,
            ..concluded(0, 1.0, pause)
        });
        let due = after.iter().position(|slowest| {
            when.observe(&elapsed(slowest));
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
    fn of_supersteps_that_compute_longer_there_are_fewer() {
        // Of 50 that take two seconds, ten are over when they have computed 80 seconds longer.
        assert_eq!(over_after(&[0.5, 1.5], 50, &[9.0; 60]), Some(10));
        assert_eq!(over_after(&[0.5, 1.5], 50, &[1e3; 60]), Some(8));
        assert_eq!(over_after(&[0.5, 1.5], 7, &[1e3; 60]), Some(7));
        // A tenth of a second is little beside the two.
        assert_eq!(over_after(&[0.1; 4], 42, &[0.2; 60]), Some(40));
    }

    #[test]
    fn no_rule_calls_in_the_first_supersteps_or_in_a_pause() {
        const FIRST: u32 = 4;
        const PAUSE: u64 = 7;
        let config = crate::Config::new(Parameters {
            interval: FIRST,
            ..Parameters::default()
        })
        .unwrap();
        for (name, rule) in WHENS {
            let policy = Policy {
                when: rule,
                ..Policy::ADAPTIVE
            };
            let mut when = policy.when(&config);
            let elapse = |when: &mut Box<dyn When>, completed: u64| {
                when.observe(&Elapsed {
                    completed,
                    slowest: Seconds::new(count(completed)).unwrap(),
                    mean: Seconds::ZERO,
                });
                when.is_due(completed)
            };
            for completed in 1..u64::from(FIRST) {
                assert!(!elapse(&mut when, completed), "{name}, {completed}");
            }
            let first = (FIRST.into()..40).find(|completed| elapse(&mut when, *completed));
            let first = first.expect(name);
            when.conclude(&concluded(first, 0.0, PAUSE));
            for completed in first + 1..first + PAUSE {
                assert!(!elapse(&mut when, completed), "{name}, {completed}");
            }
        }
    }
}
