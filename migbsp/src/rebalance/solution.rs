//! What was found.

use crate::rebalance::budget::Meter;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::{Budget, Problem};

/// An assignment, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The machine of every process.
    pub assignment: Vec<usize>,
    /// The highest level of a machine.
    pub level: f64,
    /// What its moves cost.
    pub cost: f64,
    /// How many processes are not at home.
    pub migrations: usize,
    /// Whether it meets the target.
    pub feasible: bool,
}

impl Solution {
    /// What `assignment` is worth, measured against `target`.
    #[must_use]
    pub fn of(problem: &Problem, target: f64, assignment: Vec<usize>) -> Self {
        let level = problem.level(&assignment);
        let homes = problem.residents().iter().map(|resident| resident.home);
        let places = assignment.iter().copied();
        Self {
            level,
            cost: places
                .clone()
                .enumerate()
                .map(|(process, machine)| problem.cost(process, machine))
                .sum(),
            migrations: homes
                .zip(places)
                .filter(|(home, place)| home != place)
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
