//! How long to look.

use bsp::numbers::real;

use std::fmt;

/// When to stop.
#[derive(Clone, Copy)]
pub enum Budget<'a> {
    /// After this number of evaluated moves and exchanges: the same solution on any machine. Looking whether
    /// there is any between two machines counts, too, and so does every machine when a search begins anew.
    Steps(u64),
    /// When the share of it that is spent, from 0 on, has come to 1; asked for now and then.
    Spent(&'a dyn Fn() -> f64),
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => formatter.debug_tuple("Steps").field(steps).finish(),
            Self::Spent(spent) => formatter.debug_tuple("Spent").field(&spent()).finish(),
        }
    }
}

/// How much of a budget is left.
///
/// A part of it may be set aside: [`Meter::limit`] lets it be spent up to there only, until the limit is
/// raised.
#[derive(Debug)]
pub struct Meter<'a> {
    budget: Budget<'a>,
    /// Per cent of the budget that may be spent.
    limit: u8,
    steps: u64,
    /// The last answer of the function that reports what is spent, and the number of steps to ask again at.
    answer: f64,
    ask_at: u64,
}

impl<'a> Meter<'a> {
    /// Nothing of `budget` is spent.
    #[must_use]
    pub const fn new(budget: Budget<'a>) -> Self {
        Self {
            budget,
            limit: 100,
            steps: 0,
            answer: 0.0,
            ask_at: 0,
        }
    }

    /// From now on, the budget is spent when so much of it is, in per cent.
    pub const fn limit(&mut self, limit: u8) {
        self.limit = limit;
    }

    /// From now on, the budget is spent when another `part` of it is, in per cent; up to all of it.
    pub(super) fn limit_from_here(&mut self, part: u8) {
        let spent = self.spent();
        let percent = (0..100 - part).find(|&percent| spent <= f64::from(percent) / 100.0);
        self.limit(percent.unwrap_or(100 - part) + part);
    }

    /// Counts `steps` moves or exchanges that were evaluated.
    #[inline]
    pub const fn count(&mut self, steps: u64) {
        self.steps = self.steps.saturating_add(steps);
    }

    /// Whether there is nothing left to spend, up to the limit.
    #[inline]
    pub fn is_spent(&mut self) -> bool {
        let limit = u64::from(self.limit);
        match self.budget {
            Budget::Steps(steps) => steps / 100 * limit + steps % 100 * limit / 100 <= self.steps,
            Budget::Spent(_) => f64::from(self.limit) / 100.0 <= self.spent(),
        }
    }

    /// The share of the whole budget that is spent, whatever the limit: 0 to 1 and, as the last steps
    /// may have taken longer than thought, beyond.
    pub(super) fn spent(&mut self) -> f64 {
        match self.budget {
            Budget::Steps(steps) => real(self.steps) / real(steps).max(1.0),
            Budget::Spent(spent) => {
                if self.ask_at <= self.steps {
                    self.answer = spent();
                    self.ask_at = self.steps + STEPS_BETWEEN_QUESTIONS;
                }
                self.answer
            }
        }
    }

    /// How many moves and exchanges were looked at.
    pub const fn steps(&self) -> u64 {
        self.steps
    }
}

/// A clock takes as long to read as some steps; these take a few microseconds.
const STEPS_BETWEEN_QUESTIONS: u64 = 256;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn steps_are_spent_up_to_the_limit_and_then_to_the_end() {
        let mut meter = Meter::new(Budget::Steps(1000));
        meter.limit(15);
        meter.count(149);
        assert!(!meter.is_spent());
        meter.count(1);
        assert!(meter.is_spent());
        assert_eq!(meter.spent().to_bits(), 0.15_f64.to_bits());
        meter.limit(100);
        assert!(!meter.is_spent());
        meter.count(850);
        assert!(meter.is_spent());
    }

    #[test]
    fn no_number_of_steps_is_too_many() {
        let mut meter = Meter::new(Budget::Steps(u64::MAX));
        meter.count(u64::MAX - 1);
        assert!(!meter.is_spent());
        meter.count(7);
        assert!(meter.is_spent());
    }

    #[test]
    fn who_knows_the_time_is_asked_now_and_then() {
        let asked = Cell::new(0);
        let spent = || {
            asked.set(asked.get() + 1);
            0.1 * f64::from(asked.get())
        };
        let mut meter = Meter::new(Budget::Spent(&spent));
        meter.limit(50);
        let mut steps = 0;
        while !meter.is_spent() {
            meter.count(1);
            steps += 1;
        }
        assert_eq!((asked.get(), steps), (5, 4 * STEPS_BETWEEN_QUESTIONS));
    }
}
