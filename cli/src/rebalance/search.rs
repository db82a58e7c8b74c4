//! Looking for an assignment.

use migbsp::rebalance::{Budget, Problem, Solution, bound};

use crate::rebalance::algorithm::Algorithm;
use crate::rebalance::budget::Limit;
use crate::rebalance::instance::Cost;

/// How to look for assignments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// How long for each.
    pub(crate) limit: Limit,
    /// Where random choices begin.
    pub(crate) seed: u64,
    /// What a move costs.
    pub(crate) cost: Cost,
}

/// What was found for a target.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) solution: Solution,
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    pub(super) is_exhausted: bool,
}

impl Search {
    /// What `algorithm` finds in `problem` for `target`.
    pub(super) fn find(self, algorithm: &Algorithm, problem: &Problem, target: f64) -> Found {
        let search = |budget: Budget<'_>| algorithm.search(problem, target, budget, self.seed);
        let (found, seconds) = self.limit.spend(search);
        Found {
            is_exhausted: match self.limit {
                Limit::Steps(steps) => found.steps < steps,
                Limit::Seconds(limit) => seconds < limit,
            },
            solution: found.solution,
            seconds,
        }
    }
}

/// What no assignment that meets `target` costs less than; none: there certainly is none.
pub(crate) fn lower_bound(problem: &Problem, target: f64) -> Option<f64> {
    if Solution::of(problem, target, problem.homes()).feasible {
        // Nobody has to move, and no rounding says otherwise.
        return Some(0.0);
    }
    let cost = bound(problem, target);
    cost.is_finite().then_some(cost)
}
