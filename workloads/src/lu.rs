//! LU decomposition on a square cyclic distribution, as the papers model it.
//!
//! Stage k needs two supersteps. In the first, the processes that hold column k below the diagonal divide
//! it by the pivot and send it along the rows, and those that hold row k send it along the columns; in the
//! second, the trailing elements are updated and the next pivot is passed down its column. One superstep
//! before all stages passes the first pivot. Elements for the same process travel together.

pub mod kernel;

use bsp::units::{Bytes, Instructions};
use bsp::{BoxError, MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{AMOUNT_MAX, Common, Error, bytes, instructions};
use crate::tally::Tally;

pub use crate::cyclic::{Cyclic, Error as CyclicError};

/// How much there is to compute, to hold and to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Rows, and columns, of the matrix.
    pub order: u32,
    /// Rows of processes; `None`: as `columns` requires, or the nearest to a square, higher than
    /// wide.
    pub rows: Option<u32>,
    /// Columns of processes; `None`: as `rows` requires, or the nearest to a square.
    pub columns: Option<u32>,
    /// Instructions to update one trailing element.
    pub update_instructions: f64,
    /// Instructions to divide one element of the pivot's column.
    pub division_instructions: f64,
    /// Bytes of one element in a message.
    pub element_bytes: f64,
    /// Bytes of one element in the memory of a process.
    pub element_memory: f64,
}

impl Default for Parameters {
    /// One of the papers' matrices, on their grids of processes (5 × 5, 10 × 5, 10 × 10, 20 × 10). They
    /// state no amounts; these are those of their times.
    fn default() -> Self {
        Self {
            order: 2000,
            rows: None,
            columns: None,
            update_instructions: 1000.0,
            division_instructions: 100.0,
            element_bytes: 1.0,
            element_memory: 1.0,
        }
    }
}

/// One process's part of the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lu {
    matrix: Cyclic,
    supersteps: u64,
    /// Of one element.
    update: Instructions,
    /// Of one element.
    division: Instructions,
    /// Of one element.
    element: Bytes,
    image: MemorySize,
    tally: Tally,
}

/// One part for each rank, decomposed to the end or for the supersteps given, whichever comes first.
///
/// # Errors
///
/// If there is no process or no superstep, if rows and columns of processes do not make as many places as
/// there are processes, or if an amount is negative, no number, or above 2⁶³, in one superstep too.
///
/// # Examples
///
/// ```
/// use bsp::units::Instructions;
/// use bsp::reference;
/// use workloads::{Common, lu};
///
/// let parameters = lu::Parameters { order: 100, ..lu::Parameters::default() };
/// let common = Common { processes: 6, supersteps: None, seed: 0 };
/// let parts = lu::processes(&parameters, common)?;
/// let run = reference::run(parts, reference::Limit::default()).expect("the program halts");
/// assert_eq!(run.supersteps, 201);
/// let (divisions, updates) = (100 * 99 / 2, 99 * 100 * 199 / 6);
/// assert_eq!(run.work, Instructions(divisions * 100 + updates * 1000));
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Lu>, Error> {
    common.build(builder(parameters, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder(
    parameters: &Parameters,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<Lu, Error>, Error> {
    let matrix = matrix(parameters, common.processes)?;
    let stages = matrix.order();
    let of_stages = 2 * stages + 1;
    let update = instructions("update_instructions", parameters.update_instructions)?;
    let division = instructions("division_instructions", parameters.division_instructions)?;
    let element = bytes("element_bytes", parameters.element_bytes)?;
    let cell = bytes("element_memory", parameters.element_memory)?;
    let part = matrix.rows_from(0, 0) * matrix.columns_from(0, 0);
    for (key, each, count) in [
        ("update_instructions", update.0, part),
        ("division_instructions", division.0, stages),
        ("element_bytes", element.0, stages),
        ("element_memory", cell.0, part),
    ] {
        check_total(key, each, count)?;
    }
    common.check()?;
    Ok(move |rank| {
        let (s, t) = matrix.coordinates(rank);
        Ok(Lu {
            matrix,
            supersteps: common
                .supersteps
                .map_or(of_stages, |most| most.min(of_stages)),
            update,
            division,
            element,
            image: MemorySize {
                data: Bytes(cell.0 * matrix.rows_from(s, 0) * matrix.columns_from(t, 0)),
                fixed: Bytes::ZERO,
            },
            tally: Tally::default(),
        })
    })
}

impl Lu {
    /// What `rank` computes in a superstep; the first belongs to no stage.
    fn work(&self, rank: Rank, superstep: u64) -> Instructions {
        let Some(since) = superstep.checked_sub(1) else {
            return Instructions::ZERO;
        };
        let k = since / 2;
        let (s, t) = self.matrix.coordinates(rank);
        let rows = self.matrix.rows_from(s, k + 1);
        if !since.is_multiple_of(2) {
            Instructions(self.update.0 * rows * self.matrix.columns_from(t, k + 1))
        } else if t == self.matrix.column_owner(k) {
            Instructions(self.division.0 * rows)
        } else {
            Instructions::ZERO
        }
    }

    /// Sends the pivot of stage `k` to the processes that divide by it.
    fn send_pivot(&self, ctx: &mut Superstep<'_, ()>, k: u64) {
        if k < self.matrix.order() && ctx.rank() == self.matrix.owner(k, k) {
            self.send_along_column(ctx, k, self.element);
        }
    }

    /// Sends this process's part of column `k` and of row `k` to all processes that update with it.
    fn send_column_and_row(&self, ctx: &mut Superstep<'_, ()>, k: u64) {
        let (s, t) = self.matrix.coordinates(ctx.rank());
        let rows = self.matrix.rows_from(s, k + 1);
        let columns = self.matrix.columns_from(t, k + 1);
        if t == self.matrix.column_owner(k) && 0 < rows {
            self.send_along_row(ctx, k, Bytes(self.element.0 * rows));
        }
        if s == self.matrix.row_owner(k) && 0 < columns {
            self.send_along_column(ctx, k, Bytes(self.element.0 * columns));
        }
    }

    /// Sends to the others in this column of processes that hold rows below `k`.
    fn send_along_column(&self, ctx: &mut Superstep<'_, ()>, k: u64, bytes: Bytes) {
        for to in self.matrix.others_in_column(ctx.rank(), k + 1) {
            ctx.send_sized(to, bytes);
        }
    }

    /// Sends to the others in this row of processes that hold columns right of `k`.
    fn send_along_row(&self, ctx: &mut Superstep<'_, ()>, k: u64, bytes: Bytes) {
        for to in self.matrix.others_in_row(ctx.rank(), k + 1) {
            ctx.send_sized(to, bytes);
        }
    }
}

impl Program for Lu {
    type Message = ();
    type Output = Tally;

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<Tally>, BoxError> {
        let superstep = ctx.index();
        let work = self.work(ctx.rank(), superstep);
        self.tally.superstep(ctx, work);
        if superstep.is_multiple_of(2) {
            self.send_pivot(ctx, superstep / 2);
        } else {
            self.send_column_and_row(ctx, superstep / 2);
        }
        Ok(self.tally.step(self.supersteps))
    }

    fn memory(&self) -> Option<MemorySize> {
        Some(self.image)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

/// The matrix on the grid wanted, or on the one nearest to a square.
fn matrix(parameters: &Parameters, processes: u32) -> Result<Cyclic, Error> {
    let grid = (parameters.rows, parameters.columns);
    distribution(parameters.order, grid, processes)
}

/// A matrix of that order on the grid wanted, or on the one nearest to a square.
fn distribution(
    order: u32,
    grid: (Option<u32>, Option<u32>),
    processes: u32,
) -> Result<Cyclic, Error> {
    let rows_of_square = || {
        (1..=processes)
            .find(|rows| processes.is_multiple_of(*rows) && processes <= rows.saturating_mul(*rows))
            .unwrap_or(1)
    };
    let over = |given: u32| processes.checked_div(given).unwrap_or(0);
    let grid = match grid {
        (Some(rows), Some(columns)) => (rows, columns),
        (Some(rows), None) => (rows, over(rows)),
        (None, Some(columns)) => (over(columns), columns),
        (None, None) => {
            let rows = rows_of_square();
            (rows, over(rows))
        }
    };
    if processes == 0 {
        return Err(Error::Zero { key: "processes" });
    }
    Ok(Cyclic::new(u64::from(order), grid, processes)?)
}

/// Nothing, if `count` times `each` can be counted.
fn check_total(key: &str, each: u64, count: u64) -> Result<(), Error> {
    if each as f64 * count as f64 <= AMOUNT_MAX {
        return Ok(());
    }
    Err(Error::OutOfRange {
        key: key.to_owned(),
        value: each as f64,
        expected: "at most 2^63 for all elements of a process",
    })
}

#[cfg(test)]
mod tests;
