//! What an experiment says of a problem, and what has to come of it.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::direct;
use crate::solver::Solver;

/// `[application.poisson]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Points of a row and of a column of the grid.
    size: u32,
    /// The factor by which the residual becomes smaller.
    tolerance: f64,
    /// Instructions that a point is charged for in a superstep.
    instructions_per_point: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            size: 64,
            tolerance: 1e-10,
            instructions_per_point: 20,
        }
    }
}

/// Two charges of opposite sign on a grid.
pub(crate) struct Poisson;

impl Workload for Poisson {
    type Parameters = Parameters;
    type Program = Solver;
    const NAME: &'static str = "poisson";
    const ABOUT: &'static str =
        "conjugate gradients: the potential of two charges on a square grid";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_point" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Solver, BuildError>, BuildError> {
        let size = parameters.size;
        if size < common.processes || SIZE_MAX < size {
            let least = common.processes;
            let rule = format!("must be from {least}, a row for each process, to {SIZE_MAX}");
            return Err(ParameterError::invalid("size", size, rule).into());
        }
        let tolerance = parameters.tolerance;
        if !(0.0 < tolerance && tolerance < 1.0) {
            let rule = "must be between 0 and 1";
            return Err(ParameterError::invalid("tolerance", tolerance, rule).into());
        }
        let (width, processes) = (index(size), index(common.processes));
        Ok(move |rank: Rank| {
            // Where the rows do not divide evenly, the last strips have one more.
            let begin = |rank: usize| width * rank / processes;
            let rows = begin(rank.index())..begin(rank.index() + 1);
            let right: Vec<f64> = rows.flat_map(|row| charges(width, row)).collect();
            let points = u64::try_from(right.len()).expect("fewer than 2^64 points");
            let work = parameters.instructions_per_point.saturating_mul(points);
            Ok(Solver::new(width, right, tolerance, Instructions(work)))
        })
    }

    fn verify(
        parameters: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Option<String>, Rejection> {
        let size = index(parameters.size);
        let expected = direct::solution(size, &all_charges(size));
        let found = outputs.iter().flatten();
        let differences = found.zip(&expected).map(|(one, other)| (one - other).abs());
        let (difference, greatest) = (differences.fold(0.0, f64::max), greatest(&expected));
        let relative = difference / greatest;
        // The condition number of the matrix is about half the square of the size.
        let bound = parameters.tolerance * f64::from(parameters.size).powi(2) + 1e-12;
        if relative <= bound {
            Ok(Some(format!(
                "the potential is that of a direct solution within {relative:.1e} of its greatest value"
            )))
        } else {
            Err(Rejection::Outputs(format!(
                "the potential differs from a direct solution by {relative:.1e} of its greatest value"
            )))
        }
    }

    fn files(
        parameters: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Array<f64>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let size = index(parameters.size);
        let potential: Vec<f64> = outputs.iter().flatten().copied().collect();
        let greatest = greatest(&potential);
        let brightness = |x: usize, y: usize| 0.5 + 0.5 * potential[y * size + x] / greatest;
        let picture = OutputFile::picture("potential.pgm", [size, size], brightness);
        Ok(vec![
            picture,
            OutputFile::array("potential.npy", &[size, size], potential),
        ])
    }
}

/// The largest grid: a direct solution is computed to compare with.
const SIZE_MAX: u32 = 4096;

/// A row of the right-hand side: a positive and a negative charge.
fn charges(size: usize, row: usize) -> Vec<f64> {
    let mut charges = vec![0.0; size];
    if row == size / 4 {
        charges[size / 3] = 1.0;
    }
    if row == size * 3 / 4 {
        charges[size / 2] = -1.0;
    }
    charges
}

/// The right-hand side, by rows.
fn all_charges(size: usize) -> Vec<f64> {
    (0..size).flat_map(|row| charges(size, row)).collect()
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().map(|value| value.abs()).fold(0.0, f64::max)
}

fn index(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}

#[cfg(test)]
mod tests {
    use migbsp::bsp::reference::{self, Limit};
    use migbsp::bsp::testing;

    use super::*;

    fn common(processes: u32) -> Common {
        Common {
            processes,
            supersteps: None,
            seed: 0,
        }
    }

    fn parameters(size: u32) -> Parameters {
        Parameters {
            size,
            ..Parameters::default()
        }
    }

    #[test]
    fn the_potential_is_that_of_a_direct_solution_wherever_processes_move() {
        // Seventeen rows do not divide evenly.
        for processes in [1, 2, 5, 17] {
            let build =
                || Poisson::processes(&parameters(17), common(processes), Files::here()).unwrap();
            let run = testing::check(build).run;
            let verified = Poisson::verify(
                &parameters(17),
                common(processes),
                Files::here(),
                &run.outputs,
            );
            assert!(verified.is_ok(), "{verified:?}");
        }
    }

    #[test]
    fn the_sine_transform_solves_the_equations() {
        for size in [2, 5, 12] {
            let solution = direct::solution(size, &all_charges(size));
            for (at, charge) in all_charges(size).into_iter().enumerate() {
                let (row, column) = (at / size, at % size);
                let value = |row: usize, column: usize| {
                    let is_inside = row < size && column < size;
                    if is_inside {
                        solution[row * size + column]
                    } else {
                        0.0
                    }
                };
                let beside = value(row.wrapping_sub(1), column)
                    + value(row + 1, column)
                    + value(row, column.wrapping_sub(1))
                    + value(row, column + 1);
                let left = 4.0 * value(row, column) - beside;
                assert!(
                    (left - charge).abs() < 1e-12,
                    "{size}: {left} is not {charge}"
                );
            }
        }
    }

    #[test]
    fn an_iteration_takes_two_supersteps_and_the_end_one() {
        let processes = Poisson::processes(&parameters(64), common(16), Files::here()).unwrap();
        let run = reference::run(processes, Limit::default()).unwrap();
        assert_eq!(run.supersteps % 2, 0);
        // Each iteration makes the residual smaller by (√κ - 1) / (√κ + 1) at least, with κ = 1705; a bound of CG.
        let iterations = run.supersteps / 2 - 1;
        assert!((64..=500).contains(&iterations), "{iterations}");
    }

    #[test]
    fn what_is_no_problem_is_refused() {
        let refused = |parameters: Parameters, processes| {
            let built = Poisson::processes(&parameters, common(processes), Files::here());
            built.err().unwrap().to_string()
        };
        assert_eq!(
            refused(parameters(4), 5),
            "invalid value `4` for `size`: must be from 5, a row for each process, to 4096"
        );
        let parameters = Parameters {
            tolerance: 0.0,
            ..Parameters::default()
        };
        assert_eq!(
            refused(parameters, 5),
            "invalid value `0` for `tolerance`: must be between 0 and 1"
        );
    }
}
