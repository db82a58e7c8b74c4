//! The search for an assignment.

use migbsp::rebalance::{Budget, Problem, Solution, bound};

use crate::rebalance::algorithm::Algorithm;
use crate::rebalance::budget::Limit;
use crate::rebalance::instance::Cost;

/// How to look for assignments.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// How long for each.
    pub limit: Limit,
    /// Where random choices begin.
    pub seed: u64,
    /// What a move costs.
    pub cost: Cost,
}

/// The result for a target.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) solution: Solution,
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    pub(super) is_exhausted: bool,
}

impl Search {
    /// The result of `algorithm` for `problem` and `target`.
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

/// Lower bound of the cost of an assignment that meets `target`; none: no assignment meets it.
pub fn lower_bound(problem: &Problem, target: f64) -> Option<f64> {
    if Solution::of(problem, target, problem.homes()).feasible {
        // No process has to move, whatever rounding says.
        return Some(0.0);
    }
    let cost = bound(problem, target);
    cost.is_finite().then_some(cost)
}
