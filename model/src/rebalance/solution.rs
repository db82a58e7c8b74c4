//! What was found, the best so far, and how long to look.

use std::fmt;

use bsp::numbers::real;

use super::Problem;
use super::state::State;

/// An assignment, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The machine of every process.
    pub assignment: Vec<usize>,
    /// The highest level of a machine.
    pub level: f64,
    /// What its moves cost.
    pub cost: f64,
    /// How many processes are not on their initial machine.
    pub migrations: usize,
    /// Whether it meets the target.
    pub feasible: bool,
}

impl Solution {
    /// What `assignment` is worth, measured against `target`.
    #[must_use]
    pub fn of(problem: &Problem, target: f64, assignment: Vec<usize>) -> Self {
        let level = problem.level(&assignment);
        let initial = problem
            .residents()
            .iter()
            .map(|resident| resident.initial_machine);
        let places = assignment.iter().copied();
        Self {
            level,
            cost: places
                .clone()
                .enumerate()
                .map(|(process, machine)| problem.cost(process, machine))
                .sum(),
            migrations: initial
                .zip(places)
                .filter(|(initial_machine, place)| initial_machine != place)
                .count(),
            feasible: level <= highest(target),
            assignment,
        }
    }
}

/// What a level may be to meet `target`: sums differ in their last digits by the order of their terms.
pub fn highest(target: f64) -> f64 {
    target * (1.0 + 1e-9)
}

/// A solution, and how much was looked at for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The best.
    pub solution: Solution,
    /// How many moves and exchanges were looked at, in all; as [`Budget::Steps`](super::Budget) counts.
    pub steps: u64,
    /// How many until the best was seen.
    pub steps_to_best: u64,
}

impl SearchResult {
    /// What `improve` finds in `problem` for `target`, unless no assignment can be better than the one that searches begin
    /// with: the cheapest assignment whose level is at most `target`; if it finds none, the one with the lowest level.
    #[must_use]
    pub fn of(
        problem: &Problem,
        target: f64,
        budget: Budget<'_>,
        improve: impl FnOnce(&mut Incumbent, &mut Meter<'_>),
    ) -> Self {
        let mut incumbent = Incumbent::at_start(problem, target);
        let mut meter = Meter::new(budget);
        if !incumbent.is_free() {
            improve(&mut incumbent, &mut meter);
        }
        Self {
            steps: meter.steps(),
            steps_to_best: incumbent.seen_at(),
            solution: incumbent.solution(problem),
        }
    }
}

/// The best assignment that a search has seen: the cheapest that meets the target and, as long as none does, the one with
/// the lowest level.
#[derive(Clone, Debug)]
pub struct Incumbent {
    target: f64,
    assignment: Vec<usize>,
    level: f64,
    /// Infinite as long as none meets the target.
    cost: f64,
    /// The number of steps after which it was seen.
    seen_at: u64,
}

impl Incumbent {
    /// Before anything but the start was seen.
    pub(super) fn at_start(problem: &Problem, target: f64) -> Self {
        Self::of(Solution::of(problem, target, problem.start()), target)
    }

    /// Before anything but `seen`, measured against `target`.
    pub(super) fn of(seen: Solution, target: f64) -> Self {
        Self {
            target,
            assignment: seen.assignment,
            level: seen.level,
            cost: if seen.feasible {
                seen.cost
            } else {
                f64::INFINITY
            },
            seen_at: 0,
        }
    }

    /// Looks at `state`, `steps` after the search began; whether it is better than all before.
    pub fn see(&mut self, state: &State<'_>, steps: u64) -> bool {
        let problem = state.problem();
        // A state leaves out what processes exchange.
        let level = match problem.communication() {
            Some(_) => problem.level(state.assignment()),
            None => state.level(),
        };
        self.see_parts(level, state.cost(), steps, || state.assignment())
    }

    /// [`Incumbent::see`] for a search with a state of its own: an assignment is asked for only if it is
    /// better.
    pub(super) fn see_parts<'a>(
        &mut self,
        level: f64,
        cost: f64,
        steps: u64,
        assignment: impl FnOnce() -> &'a [usize],
    ) -> bool {
        let is_better = if self.is_feasible() {
            self.meets(level) && cost < self.cost
        } else {
            self.meets(level) || level < self.level
        };
        if is_better {
            self.assignment.clear();
            self.assignment.extend_from_slice(assignment());
            self.level = level;
            self.cost = if self.meets(level) {
                cost
            } else {
                f64::INFINITY
            };
            self.seen_at = steps;
        }
        is_better
    }

    /// Whether `level` meets the target.
    #[inline]
    pub(super) fn meets(&self, level: f64) -> bool {
        level <= highest(self.target)
    }

    /// The level that is to be reached.
    #[must_use]
    pub const fn target(&self) -> f64 {
        self.target
    }

    /// Whether something that meets the target was seen.
    #[must_use]
    pub const fn is_feasible(&self) -> bool {
        self.cost < f64::INFINITY
    }

    /// Whether nothing that meets the target can cost less.
    const fn is_free(&self) -> bool {
        self.cost <= 0.0
    }

    /// Its machine of every process.
    #[must_use]
    pub fn assignment(&self) -> &[usize] {
        &self.assignment
    }

    /// The number of steps after which it was seen.
    pub(super) const fn seen_at(&self) -> u64 {
        self.seen_at
    }

    /// What it is worth.
    pub(super) fn solution(self, problem: &Problem) -> Solution {
        Solution::of(problem, self.target, self.assignment)
    }
}

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
