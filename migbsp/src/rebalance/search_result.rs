//! What a search came to.

use crate::rebalance::budget::Meter;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::{Problem, Solution};

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
    pub(super) fn of(problem: &Problem, incumbent: Incumbent, meter: &Meter<'_>) -> Self {
        Self {
            steps: meter.steps(),
            steps_to_best: incumbent.seen_at(),
            solution: incumbent.solution(problem),
        }
    }
}
