//! Conjugate gradients, whose every step depends on sums over all processes, compute the same wherever these are.

use bsp::units::Instructions;

#[path = "../../../examples/poisson/src/solver.rs"]
mod solver;

pub(crate) use solver::Solver;

/// Sixteen strips of a grid of 20 × 20 points with two charges.
pub(crate) fn solvers() -> Vec<Solver> {
    let (width, processes) = (20, 16);
    let mut right = vec![0.0; width * width];
    right[5 * width + 6] = 1.0;
    right[15 * width + 10] = -1.0;
    let begin = |rank: usize| width * (width * rank / processes);
    let strip = |rank: usize| {
        let right = right[begin(rank)..begin(rank + 1)].to_vec();
        let work = Instructions(20_000 * u64::try_from(right.len()).unwrap());
        Solver::new(width, right, 1e-10, work)
    };
    (0..processes).map(strip).collect()
}
