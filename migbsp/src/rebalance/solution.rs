//! What was found.

use crate::rebalance::Problem;

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
