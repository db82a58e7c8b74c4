//! Algorithms on one instance, and the budget that they have.

use bsp::numbers::real;
use migbsp::rebalance::{Budget, MoveCost, Problem};
use rebalancing_algorithms::Method;

use rebalancing::{Algorithm, Limit};

/// Result of an algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) is_met: bool,
    pub(super) cost: f64,
    pub(super) migrations: usize,
    /// Search time, in seconds: the mean over many runs, if it is short.
    pub(super) seconds: f64,
    /// Time until the best assignment was found, in seconds.
    pub(super) seconds_to_best: f64,
}

/// The result of `algorithm` within this number of steps.
pub(super) fn trial(
    algorithm: &Algorithm,
    problem: &Problem,
    target: f64,
    steps: u64,
    seed: u64,
) -> Trial {
    let search = |budget: Budget<'_>| algorithm.search(problem, target, budget, seed);
    let (found, mut all) = Limit::Steps(steps).spend(search);
    // Searches of microseconds are timed over many runs.
    let mut runs = 1.0;
    while all < TIMED_MIN {
        all += Limit::Steps(steps).spend(search).1;
        runs += 1.0;
    }
    let seconds = all / runs;
    let share = real(found.steps_to_best) / real(found.steps).max(1.0);
    Trial {
        is_met: found.solution.feasible,
        cost: found.solution.cost,
        migrations: found.solution.migrations,
        seconds,
        seconds_to_best: seconds * share,
    }
}

/// Budget of algorithms that do not end by themselves: the steps of sixteen first iterations of IMLP, which
/// match the paper's total times.
pub(super) fn budget(problem: &Problem, target: f64) -> u64 {
    let first = Method::Mlp.search(problem, target, Budget::Steps(u64::MAX), 0);
    first.steps.saturating_mul(ITERATIONS).max(STEPS_MIN)
}

/// `problem` with moves that cost 1 each.
pub(super) fn uniform(problem: &Problem) -> Problem {
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let machines = problem.machines().to_vec();
    let groups = machines.iter().map(|machine| machine.group + 1).max();
    let groups = groups.unwrap_or(1);
    Problem::new(
        machines,
        problem.residents().to_vec(),
        vec![vec![move_cost; groups]; groups],
    )
    .expect("only what moves cost was changed")
}

/// The mean of `numbers`; none if there are none.
pub(super) fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.into_iter().collect();
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    (0 < count).then(|| numbers.iter().sum::<f64>() / f64::from(count))
}

const ITERATIONS: u64 = 16;

/// Minimum total time of the runs of a mean, in seconds; a shorter one would measure caches.
const TIMED_MIN: f64 = 2e-3;

/// Minimum steps, for a first iteration that takes almost none.
const STEPS_MIN: u64 = 1000;
