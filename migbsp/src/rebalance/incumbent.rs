//! The best that was seen so far.

use crate::rebalance::solution::highest;
use crate::rebalance::state::State;
use crate::rebalance::{Problem, Solution};

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

    /// The level that is to be met.
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
    pub(super) const fn is_free(&self) -> bool {
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
