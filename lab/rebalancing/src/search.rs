//! The search for an assignment.

use std::time::Instant;

use migbsp::rebalance::{Budget, Problem, SearchResult, Solution};
use rebalancing_algorithms::{bound_while, lowest};

use crate::algorithm::Algorithm;
use crate::budget::Limit;
use crate::instance::Cost;
use crate::target::Target;

/// How to look for assignments.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// How long.
    pub limit: Limit,
    /// Where random choices begin.
    pub seed: u64,
    /// What a move costs.
    pub cost: Cost,
    /// The highest cost of an assignment with the lowest level.
    pub cost_max: f64,
}

/// The result for a target.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) solution: Solution,
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    pub(super) is_exhausted: bool,
    /// The levels that are reached without a limit of the instance, if the target is not met.
    pub(super) relaxed: Vec<Relaxed>,
}

/// What is found without one of the limits of an instance.
#[derive(Clone, Debug)]
pub(super) struct Relaxed {
    /// What is not limited, as `memory`.
    pub(super) what: &'static str,
    pub(super) level: f64,
}

impl Search {
    /// The same with a budget of its own for each of as many searches on as many threads.
    pub(super) fn of_each(self, searches: usize, threads: usize) -> Self {
        let limit = self.limit.of_each(searches, threads);
        Self { limit, ..self }
    }

    /// The result of `algorithm` for `problem` and `target`.
    ///
    /// If the target is not met, and the problem has limits or an exchange of weight, a part of the budget goes to the lowest
    /// level, and another to the same without each limit, to tell which of them is the reason.
    pub(super) fn find(self, algorithm: &Algorithm, problem: &Problem, target: Target) -> Found {
        let began = Instant::now();
        let limits = without_limits(problem);
        let count = f64::from(u8::try_from(limits.len()).unwrap_or(u8::MAX));
        let of_lowest = if limits.is_empty() && !problem.weighs_exchange() {
            0.0
        } else {
            OF_MISS
        };
        let look = |problem: &Problem, target: Target, part: f64| {
            let limit = self.limit.part(part);
            limit.spend(|budget| self.look(algorithm, problem, target, budget))
        };
        let main = 1.0 - of_lowest - OF_MISS * count;
        let (found, seconds) = look(problem, target, main);
        let is_exhausted = match self.limit.part(main) {
            Limit::Steps(steps) => found.steps < steps,
            Limit::Seconds(limit) => seconds < limit,
        };
        let mut solution = found.solution;
        let mut relaxed = Vec::new();
        if let (Some(level), false) = (target.level(problem.ideal()), solution.feasible) {
            if 0.0 < of_lowest {
                let (lowest, _) = look(problem, Target::Lowest, of_lowest);
                if lowest.solution.level < solution.level {
                    solution = Solution::of(problem, level, lowest.solution.assignment);
                }
            }
            relaxed.extend(limits.into_iter().map(|(what, problem)| {
                let (found, _) = look(&problem, Target::Lowest, OF_MISS);
                let level = found.solution.level;
                Relaxed { what, level }
            }));
        }
        Found {
            is_exhausted,
            solution,
            seconds: began.elapsed().as_secs_f64(),
            relaxed,
        }
    }

    fn look(
        self,
        algorithm: &Algorithm,
        problem: &Problem,
        target: Target,
        budget: Budget<'_>,
    ) -> SearchResult {
        match target.level(problem.ideal()) {
            Some(level) => algorithm.search(problem, level, budget, self.seed),
            None => lowest(problem, self.cost_max, budget, |level, budget| {
                algorithm.search(problem, level, budget, self.seed)
            }),
        }
    }
}

/// The problem without each of the limits that it has.
fn without_limits(problem: &Problem) -> Vec<(&'static str, Problem)> {
    let mut problems = Vec::new();
    if problem.has_pins() {
        problems.push((
            "processes that may not move",
            problem.clone().without_pins(),
        ));
    }
    if problem.memory().is_some() {
        problems.push(("limits of memory", problem.clone().without_memory()));
    }
    problems
}

/// Lower bound of the cost of an assignment that meets `target`; none: no assignment meets it. With a limit of time,
/// it takes no longer than that, but for a first value.
pub fn lower_bound(problem: &Problem, target: f64, limit: Option<Limit>) -> Option<f64> {
    let homes = Solution::of(problem, target, problem.initial_assignment());
    if homes.feasible && problem.begins_within_memory() {
        // No process has to move, whatever rounding says.
        return Some(0.0);
    }
    let began = Instant::now();
    let cost = bound_while(problem, target, &|| match limit {
        Some(Limit::Seconds(seconds)) => began.elapsed().as_secs_f64() < seconds,
        Some(Limit::Steps(_)) | None => true,
    });
    cost.is_finite().then_some(cost)
}

/// The part of the budget of each search after a target was missed.
const OF_MISS: f64 = 0.1;
