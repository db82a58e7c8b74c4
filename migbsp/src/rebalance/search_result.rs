//! What a search came to.

use crate::rebalance::budget::Meter;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::{Budget, Problem, Solution};

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
