//! The lowest level that a search reaches.

use model::rebalance::{Budget, Problem, SearchResult, Solution};

/// The assignment with the lowest level that `search` finds in `problem` at a cost of at most `cost_max`, and of
/// those the cheapest that it finds. If it finds none, the cheapest that it finds, which is not feasible: only where the
/// memory of machines is exceeded before any move.
///
/// `search` is a [`Method`](super::Method) or another that looks for the cheapest assignment that meets a target within a
/// budget. First it looks for the ideal level, which shows how low it gets. Then the target is halfway between the
/// lowest level that was reached and the highest that was not, and at last the level that was reached: for the
/// cheapest assignment.
pub fn lowest(
    problem: &Problem,
    cost_max: f64,
    budget: Budget<'_>,
    search: impl Fn(f64, Budget<'_>) -> SearchResult,
) -> SearchResult {
    let mut best = Solution::of(problem, f64::INFINITY, problem.start());
    let mut low = floor(problem);
    let (mut steps, mut steps_to_best) = (0, 0);
    let mut look = |target: f64, best: &mut Solution, (begin, end): (f64, f64)| {
        let found = part(budget, (begin, end), |budget| search(target, budget));
        steps += found.steps;
        let solution = found.solution;
        let is_lower = solution.level < best.level * (1.0 - ROUNDED);
        let is_cheaper = solution.feasible && solution.cost < best.cost && target <= best.level;
        // The start may cost more than it may.
        let is_affordable = best.cost <= cost_max;
        let is_better = match is_affordable {
            true => solution.cost <= cost_max && (is_lower || is_cheaper),
            false => solution.cost < best.cost,
        };
        if is_better {
            *best = solution;
            steps_to_best = steps;
        }
        is_better
    };
    look(low, &mut best, (0.0, FIRST));
    let mut begin = FIRST;
    for _ in 0..HALVINGS {
        let end = begin + (LAST - FIRST) / f64::from(HALVINGS);
        if best.level - low <= NEAR * best.level {
            break;
        }
        let target = 0.5 * (low + best.level);
        if !look(target, &mut best, (begin, end)) {
            low = target;
        }
        begin = end;
    }
    look(best.level, &mut best, (begin, 1.0));
    SearchResult {
        solution: Solution {
            feasible: best.cost <= cost_max,
            ..best
        },
        steps,
        steps_to_best,
    }
}

/// A level that no assignment is below.
fn floor(problem: &Problem) -> f64 {
    let machines = problem.machines().iter().zip(problem.pinned_loads());
    let pinned = machines.map(|(machine, load)| load / machine.capacity);
    pinned.fold(problem.ideal(), f64::max)
}

/// What `search` finds with the part of `budget` from the share `begin` to the share `end`.
fn part(
    budget: Budget<'_>,
    (begin, end): (f64, f64),
    search: impl FnOnce(Budget<'_>) -> SearchResult,
) -> SearchResult {
    match budget {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            clippy::as_conversions,
            reason = "a part of a number of steps, to the nearest that a float can represent"
        )]
        Budget::Steps(steps) => search(Budget::Steps((steps as f64 * (end - begin)) as u64)),
        Budget::Spent(spent) => {
            // What an earlier part has left or overdrawn is this one's.
            let begun = spent();
            let left = (end - begun).max(f64::MIN_POSITIVE);
            search(Budget::Spent(&|| (spent() - begun) / left))
        }
    }
}

/// The share of the budget after which the first search ends, and after which the last begins.
const FIRST: f64 = 0.3;
const LAST: f64 = 0.8;
const HALVINGS: u32 = 6;

/// Levels that differ by less are the same: of their height, and by rounding.
const NEAR: f64 = 1e-5;
const ROUNDED: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Method};

    fn found(problem: &Problem, cost_max: f64) -> SearchResult {
        let budget = Budget::Steps(2_000_000);
        lowest(problem, cost_max, budget, |target, budget| {
            Method::Best.search(problem, target, budget, 1)
        })
    }

    #[test]
    fn a_level_is_near_the_ideal_one_and_costs_no_more_than_it_may() {
        let problem = "I2,2".parse::<Group>().unwrap().draw(3);
        let free = found(&problem, f64::INFINITY).solution;
        assert!(free.level < 1.01 * problem.ideal(), "{}", free.level);
        let mut level = free.level;
        for share in [0.5, 0.2, 0.05, 0.0] {
            let limited = found(&problem, share * free.cost).solution;
            assert!(limited.cost <= share * free.cost);
            assert!(level <= limited.level * 1.005, "{share}");
            level = limited.level;
        }
        assert_eq!(
            level.to_bits(),
            problem.level(&problem.initial_assignment()).to_bits()
        );
    }

    #[test]
    fn a_budget_is_not_overdrawn() {
        let problem = "I1,1".parse::<Group>().unwrap().draw(3);
        let found = found(&problem, f64::INFINITY);
        assert!(found.steps < 2_100_000, "{}", found.steps);
        assert!(found.steps_to_best <= found.steps);
    }
}
