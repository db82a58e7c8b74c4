//! LU decomposition of a real matrix.

use std::cmp::Ordering;

use settings::Files;
use workloads::Matrix;
use workloads::lu::kernel::{Block, Factors, Lu, Parameters, Singular, Unfactored, processes};

use crate::outputs::OutputFile;
use crate::shipped::read_matrix;
use crate::workload::{Common, Rejection, Supersteps, Unbuilt, Workload};

/// LU decomposition of a real matrix, square cyclic.
#[derive(Clone, Copy, Debug)]
pub(super) struct LuKernel;

impl Workload for LuKernel {
    type Parameters = Parameters;
    type Program = Lu;
    const NAME: &'static str = "lu-kernel";
    const ABOUT: &'static str = "LU decomposition of a real matrix, square cyclic";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn draws(parameters: &Parameters) -> bool {
        parameters.matrix.is_none()
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<Lu>, String> {
        Self::build_from(parameters, common, Files::here()).map_err(|unbuilt| unbuilt.to_string())
    }

    fn build_from(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Vec<Lu>, Unbuilt> {
        let matrix = matrix(parameters, common.seed, files)?;
        Ok(processes(parameters, &matrix, common).map_err(|error| error.to_string())?)
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Result<Block, Singular>],
    ) -> Result<Option<String>, Rejection> {
        let factors = factors(parameters, outputs)?;
        let matrix = matrix(parameters, common.seed, files)
            .map_err(|unbuilt| Rejection::Input(unbuilt.to_string()))?;
        if factors.order() != matrix.rows() {
            let (met, order) = (factors.order(), matrix.rows());
            let problem = format!("factors of order {met} have come out, not of order {order}");
            return Err(Rejection::Outputs(problem));
        }
        let residual = factors.residual(&matrix);
        let sentence = format!(
            "LU of order {}: ‖PA − LU‖ / ‖A‖ = {:.1e}",
            factors.order(),
            residual.relative()
        );
        if residual.is_rounding() {
            Ok(Some(sentence))
        } else {
            let why = if residual.relative().is_finite() {
                let bound = residual.bound / residual.matrix;
                format!("more than rounding can cause, {bound:.1e}")
            } else if parameters.pivoting {
                "an overflow; use smaller numbers".to_owned()
            } else {
                "an overflow; use smaller numbers, or `pivoting = true`".to_owned()
            };
            Err(Rejection::Outputs(format!("{sentence}, which is {why}")))
        }
    }

    /// `lower.npy`, `upper.npy` and `permutation.npy`, which row of the matrix each row of their product is.
    fn files(
        parameters: &Parameters,
        _common: Common,
        _files: Files<'_>,
        outputs: &[Result<Block, Singular>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let factors = factors(parameters, outputs)?;
        let order = factors.order();
        let elements = |element: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            let rows = 0..order;
            rows.flat_map(|row| (0..order).map(move |column| element(row, column)))
                .collect()
        };
        let lower = elements(&|row, column| match row.cmp(&column) {
            Ordering::Greater => factors.element(row, column),
            Ordering::Equal => 1.0,
            Ordering::Less => 0.0,
        });
        let upper = elements(&|row, column| match row.cmp(&column) {
            Ordering::Greater => 0.0,
            Ordering::Equal | Ordering::Less => factors.element(row, column),
        });
        let permutation: Vec<i64> = factors
            .permutation()
            .iter()
            .map(|row| i64::from(*row))
            .collect();
        Ok(vec![
            OutputFile::array("lower.npy", &[order, order], lower),
            OutputFile::array("upper.npy", &[order, order], upper),
            OutputFile::array("permutation.npy", &[order], permutation),
        ])
    }
}

/// The factors that processes have output.
fn factors(
    parameters: &Parameters,
    outputs: &[Result<Block, Singular>],
) -> Result<Factors, Rejection> {
    Factors::assemble(outputs).map_err(|unfactored| match unfactored {
        Unfactored::Misfit { process, problem } => Rejection::output(process.index(), problem),
        Unfactored::Singular(_) | Unfactored::Memory { .. } => {
            let matrix = parameters.matrix.as_deref().unwrap_or("the drawn matrix");
            Rejection::Input(format!("{}: {matrix}: {unfactored}", LuKernel::NAME))
        }
    })
}

/// The matrix in the file that is named, or a drawn one.
fn matrix(parameters: &Parameters, seed: u64, files: Files<'_>) -> Result<Matrix, Unbuilt> {
    let Some(file) = &parameters.matrix else {
        return Ok(parameters.drawn(seed).map_err(|error| error.to_string())?);
    };
    read_matrix(("matrix", file), files, Matrix::square)
}
