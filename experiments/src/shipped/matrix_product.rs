//! The product of two matrices.

use settings::{Files, Unit};
use workloads::matrix_product::{Parameters, Product, Side, check, elements, processes};
use workloads::{Matrix, Numbers};

use crate::outputs::OutputFile;
use crate::shipped::read_matrix;
use crate::workload::{Common, Rejection, Supersteps, Unbuilt, Workload};

/// The product of two matrices by a task farm.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixProduct;

impl Workload for MatrixProduct {
    type Parameters = Parameters;
    type Program = Product;
    const NAME: &'static str = "matrix-product";
    const ABOUT: &'static str = "the product of two matrices, rows dealt to workers (a task farm)";
    const SUPERSTEPS: Supersteps = Supersteps::Refused;

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_operation" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(parameters: &Parameters) -> bool {
        parameters.a.is_none() || parameters.b.is_none()
    }

    fn build(parameters: &Parameters, common: Common) -> Result<Vec<Product>, String> {
        Self::build_from(parameters, common, Files::here()).map_err(|unbuilt| unbuilt.to_string())
    }

    fn build_from(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
    ) -> Result<Vec<Product>, Unbuilt> {
        let (a, b) = factors(parameters, common.seed, files)?;
        Ok(processes(parameters, (&a, &b), common).map_err(|error| error.to_string())?)
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Vec<Numbers>],
    ) -> Result<Option<String>, Rejection> {
        let (a, b) = factors(parameters, common.seed, files)
            .map_err(|unbuilt| Rejection::Input(unbuilt.to_string()))?;
        let agreement = check((&a, &b), &product(outputs), common.seed)
            .map_err(|disagreement| Rejection::Outputs(disagreement.to_string()))?;
        Ok(Some(format!(
            "C = A·B of {} rows and {} columns: {} drawn vectors agree",
            a.rows(),
            b.columns(),
            agreement.vectors
        )))
    }

    /// `product.npy`.
    fn files(
        parameters: &Parameters,
        common: Common,
        files: Files<'_>,
        outputs: &[Vec<Numbers>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let (a, b) = factors(parameters, common.seed, files)
            .map_err(|unbuilt| Rejection::Input(unbuilt.to_string()))?;
        let shape = [a.rows(), b.columns()];
        Ok(vec![OutputFile::array(
            "product.npy",
            &shape,
            product(outputs),
        )])
    }
}

/// The elements of the product, row after row: what the master outputs.
fn product(outputs: &[Vec<Numbers>]) -> Vec<f64> {
    outputs.first().map_or_else(Vec::new, |rows| elements(rows))
}

/// The factors in the files that are named, or drawn ones.
fn factors(
    parameters: &Parameters,
    seed: u64,
    files: Files<'_>,
) -> Result<(Matrix, Matrix), Unbuilt> {
    let factor = |key: &str, file: Option<&String>, side: Side| match file {
        Some(file) => read_matrix((key, file), files, Ok),
        None => Ok(parameters
            .drawn(side, seed)
            .map_err(|error| error.to_string())?),
    };
    Ok((
        factor("a", parameters.a.as_ref(), Side::Left)?,
        factor("b", parameters.b.as_ref(), Side::Right)?,
    ))
}
