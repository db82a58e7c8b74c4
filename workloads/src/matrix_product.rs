//! The product of two matrices, computed by a task farm.
//!
//! A task is some rows of `A`; its outcome are the same rows of `C = A·B`. All workers have `B`. Every element of `C` is the
//! sum of the same products in the same order, however the rows are dealt: the product is the same, bit by bit.

mod check;
mod kernel;
mod parameters;

use bsp::farm::{self, Farm, Tasks, Work};
use bsp::numbers::index;
use bsp::units::Instructions;
use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::numbers::Numbers;
use crate::parameters::{Common, Error, at_least, at_least_one, whole, within};

pub use check::{Agreement, Disagreement, check};
pub use parameters::{Parameters, Side};

/// The tasks: rows of a product.
#[derive(Debug)]
pub struct Rows;

/// What all workers have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Factor {
    columns: usize,
    /// The elements of `B`, row after row.
    elements: Numbers,
    instructions_per_operation: u64,
}

/// A process of the farm.
pub type Product = Farm<Rows>;

impl Tasks for Rows {
    type Shared = Factor;
    /// Rows of `A`, one after the other.
    type Task = Numbers;
    /// Rows of `C`, one after the other.
    type Outcome = Numbers;

    fn execute(shared: &Factor, task: &Numbers, work: &mut Work) -> Numbers {
        let operations = 2 * task.0.len() * shared.columns;
        let operations = u64::try_from(operations).expect("operations fit 64 bits");
        work.charge(Instructions(
            operations.saturating_mul(shared.instructions_per_operation),
        ));
        Numbers(kernel::product(&task.0, &shared.elements.0, shared.columns))
    }
}

/// The farm that multiplies `a` by `b`.
///
/// # Errors
///
/// If there is no worker, `a` has other columns than `b` has rows, a number is out of its range, or the number of
/// supersteps is given, which follows from the rest.
pub fn processes(
    parameters: &Parameters,
    (a, b): (&Matrix, &Matrix),
    common: Common,
) -> Result<Vec<Product>, Error> {
    common.refuse_supersteps()?;
    let processes = ("processes", common.processes);
    at_least(processes, 2, "a master and a worker")?;
    at_least_one("rows_per_task", parameters.rows_per_task.into())?;
    if a.columns() != b.rows() {
        return Err(Error::Unfit {
            columns: a.columns(),
            rows: b.rows(),
        });
    }
    let per_operation = (
        "instructions_per_operation",
        parameters.instructions_per_operation,
    );
    let per_operation = within(per_operation, 0.0, 1e9, "a number from 0 to 10^9")?;
    let dealing = parameters.dealing.dealing()?;
    let rows = index(parameters.rows_per_task);
    let tasks = a.elements().chunks(rows.saturating_mul(a.columns()));
    let tasks = tasks.map(|rows| Numbers(rows.to_vec())).collect();
    let factor = Factor {
        columns: b.columns(),
        elements: Numbers(b.elements().to_vec()),
        instructions_per_operation: whole(per_operation),
    };
    let farm = farm::processes(&factor, tasks, common.processes, dealing);
    Ok(farm?)
}

/// The elements of the product, row after row, of what the master has.
#[must_use]
pub fn elements(outcomes: &[Numbers]) -> Vec<f64> {
    outcomes.iter().flat_map(|rows| &rows.0).copied().collect()
}

#[cfg(test)]
mod tests;
