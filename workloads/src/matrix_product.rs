//! The product of two matrices, computed by a task farm.
//!
//! A task is some rows of `A`; its outcome are the same rows of `C = A·B`. All workers have `B`. Every element of `C` is the
//! sum of the same products in the same order, however the rows are dealt: the product is the same, bit by bit.

use std::borrow::Borrow;

use bsp::farm::{self, Farm, Tasks, Work};
use bsp::numbers::index;
use bsp::units::Instructions;
use bsp::{Array, BoxError, Rank};
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::dealing::DealingParameters;
use crate::draws::generator;
use crate::matrix::Matrix;
use crate::parameters::{Common, Error, at_least, at_least_one, whole, within};

/// The tasks: rows of a product.
#[derive(Debug)]
pub struct Rows;

/// What all workers have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Factor {
    columns: usize,
    /// The elements of `B`, row after row.
    elements: Array<f64>,
    instructions_per_operation: u64,
}

/// A process of the farm.
pub type Product = Farm<Rows>;

impl Tasks for Rows {
    type Shared = Factor;
    /// Rows of `A`, one after the other.
    type Task = Array<f64>;
    /// Rows of `C`, one after the other.
    type Outcome = Array<f64>;

    fn execute(
        shared: &Factor,
        task: &Array<f64>,
        work: &mut Work,
    ) -> Result<Array<f64>, BoxError> {
        let operations = 2 * task.len() * shared.columns;
        let operations = u64::try_from(operations).expect("operations fit 64 bits");
        work.charge(Instructions(
            operations.saturating_mul(shared.instructions_per_operation),
        ));
        Ok(product(task, &shared.elements, shared.columns).into())
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
    common.build(builder(parameters, (a, b), common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder<M: Borrow<Matrix>>(
    parameters: &Parameters,
    (a, b): (M, M),
    common: Common,
) -> Result<impl Fn(Rank) -> Result<Product, Error>, Error> {
    let (left, right): (&Matrix, &Matrix) = (a.borrow(), b.borrow());
    common.refuse_supersteps()?;
    let processes = ("processes", common.processes);
    at_least(processes, 2, "a master and a worker")?;
    at_least_one("rows_per_task", parameters.rows_per_task.into())?;
    if left.columns() != right.rows() {
        return Err(Error::Unfit {
            columns: left.columns(),
            rows: right.rows(),
        });
    }
    let per_operation = (
        "instructions_per_operation",
        parameters.instructions_per_operation,
    );
    let per_operation = within(per_operation, 0.0, 1e9, "a number from 0 to 10^9")?;
    let dealing = parameters.dealing.dealing()?;
    let rows = index(parameters.rows_per_task);
    let master = move || {
        let (left, right): (&Matrix, &Matrix) = (a.borrow(), b.borrow());
        let tasks = left.elements().chunks(rows.saturating_mul(left.columns()));
        let factor = Factor {
            columns: right.columns(),
            elements: right.elements().into(),
            instructions_per_operation: whole(per_operation),
        };
        let tasks = tasks.map(Array::from);
        (factor, tasks.collect())
    };
    let build = farm::builder::<Rows>(master, common.processes, dealing)?;
    Ok(move |rank| Ok(build(rank)?))
}

/// The elements of the product, row after row, of what the master has.
#[must_use]
pub fn elements(outcomes: &[Array<f64>]) -> Vec<f64> {
    outcomes.concat()
}

/// What is multiplied, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Name of a CSV file with the left factor, one row a line; not set: a matrix is drawn.
    pub a: Option<String>,
    /// Name of a CSV file with the right factor; not set: a matrix is drawn.
    pub b: Option<String>,
    /// Rows, and columns, of drawn factors, at most 16384. Their elements lie between −1 and 1.
    pub order: u32,
    /// Rows of the left factor that make a task, at least 1.
    pub rows_per_task: u32,
    /// Instructions of one addition or multiplication.
    pub instructions_per_operation: f64,
    /// How tasks are dealt.
    pub dealing: DealingParameters,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            a: None,
            b: None,
            order: 300,
            rows_per_task: 1,
            instructions_per_operation: 1.0,
            dealing: DealingParameters::default(),
        }
    }
}

impl Parameters {
    /// The factor that is drawn if no file is named.
    ///
    /// # Errors
    ///
    /// If its order is 0 or too large, or there is no memory for it.
    pub fn drawn(&self, factor: Side, seed: u64) -> Result<Matrix, Error> {
        let purpose = match factor {
            Side::Left => b"rows of a left factor   ",
            Side::Right => b"rows of a right factor  ",
        };
        Matrix::drawn(self.order, 0.0, (seed, purpose))
    }
}

/// A factor of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `A`.
    Left,
    /// `B`.
    Right,
}

/// The product of `rows`, one after the other, and the matrix `factor` of `columns` columns, row after row.
///
/// A block of rows of `factor` is used for all `rows` while it is in a cache. Each element is the sum of its products in the
/// order of the rows of `factor`.
fn product(rows: &[f64], factor: &[f64], columns: usize) -> Vec<f64> {
    let inner = factor.len() / columns;
    let mut product = vec![0.0; rows.len() / inner * columns];
    for first in (0..inner).step_by(BLOCK) {
        let block = first..inner.min(first + BLOCK);
        let both = rows.chunks(inner).zip(product.chunks_mut(columns));
        for (row, sums) in both {
            let elements = row[block.clone()].iter();
            let lines = factor[block.start * columns..].chunks(columns);
            for (element, line) in elements.zip(lines) {
                for (sum, other) in sums.iter_mut().zip(line) {
                    *sum += element * other;
                }
            }
        }
    }
    product
}

/// Rows of the matrix that are used together.
const BLOCK: usize = 32;

/// How far a product agrees with its factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of drawn vectors for which it does.
    pub vectors: u32,
    /// The greatest difference, as a part of what rounding can cause.
    pub greatest: f64,
}

/// Where a product does not agree with its factors.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Disagreement {
    /// It has not as many elements as the product.
    #[error("{found} elements have come out, not {expected}")]
    Elements {
        /// Those that it has.
        found: usize,
        /// Those of the product.
        expected: usize,
    },
    /// A row that is not the row of the factors.
    #[error(
        "row {row} of the product is {difference:.1e} off for a drawn vector, which is more than rounding can cause, \
         {bound:.1e}"
    )]
    Row {
        /// The row, from 1.
        row: usize,
        /// The difference.
        difference: f64,
        /// What rounding can cause.
        bound: f64,
    },
}

/// Checks `C = A·B`, given the elements of `product`, row after row: Freivalds' check.
///
/// For vectors `x` with drawn elements of 1 and −1, `A·(B·x)` has to be `C·x` within what rounding can cause. A wrong row
/// passes with a probability of at most 2⁻⁴⁰, if its error exceeds twice that.
///
/// # Errors
///
/// The first row that disagrees.
pub fn check(
    (a, b): (&Matrix, &Matrix),
    product: &[f64],
    seed: u64,
) -> Result<Agreement, Disagreement> {
    let columns = b.columns();
    let expected = a.rows() * columns;
    if product.len() != expected {
        let found = product.len();
        return Err(Disagreement::Elements { found, expected });
    }
    let magnitudes: Vec<f64> = b
        .lines()
        .map(|row| row.iter().map(|element| element.abs()).sum())
        .collect();
    // Sums of `b.rows()` products in C and in A·(B·x), and of `columns` terms in B·x and in C·x.
    let terms = (b.rows() + columns + 4) as f64;
    let mut greatest = 0.0_f64;
    for number in 0..VECTORS {
        let mut generator = generator(seed, b"vectors of a check      ", number);
        let signs: Vec<f64> = (0..columns)
            .map(|_| {
                if generator.next_u32() & 1 == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        let image: Vec<f64> = b.lines().map(|row| dot(row, &signs)).collect();
        for (index, (row, found)) in a.lines().zip(product.chunks(columns)).enumerate() {
            let difference = (dot(row, &image) - dot(found, &signs)).abs();
            let magnitude: f64 = row
                .iter()
                .zip(&magnitudes)
                .map(|(element, other)| element.abs() * other)
                .sum();
            let bound = terms * f64::EPSILON * magnitude;
            if !(difference <= bound && bound.is_finite()) {
                let row = index + 1;
                return Err(Disagreement::Row {
                    row,
                    difference,
                    bound,
                });
            }
            if 0.0 < bound {
                greatest = greatest.max(difference / bound);
            }
        }
    }
    Ok(Agreement {
        vectors: VECTORS,
        greatest,
    })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The number of drawn vectors.
const VECTORS: u32 = 40;

#[cfg(test)]
mod tests;
