//! LU decomposition of a real matrix, dealt out as the model deals it.
//!
//! `P·A = L·U`, with `L` unit lower and `U` upper triangular, in the place of `A`; `P` exchanges rows if
//! `pivoting` is on, and is the identity otherwise. Stage `k` takes these supersteps, the first one of
//! which begins with what the stage before, or superstep 0, sent:
//!
//! | superstep | without pivoting | with pivoting |
//! |---|---|---|
//! | choose | | the holders of column `k` compare the greatest elements of all parts, and send the row of the pivot to the others |
//! | exchange | | the holders of row `k` and of the pivot's row send them to each other |
//! | divide | the column by the pivot; it goes along the rows, row `k` along the columns | the same |
//! | update | `a(i, j) − l(i, k) · u(k, j)`; the next pivot goes along its column | the same; the greatest element of each part of the next column goes along it |
//!
//! So an order of `n` takes `2n + 1` supersteps, or `4n + 1` with pivoting.
//!
//! Every element is computed by the same operations in the same order on any grid of processes: the
//! factors are the same, bit by bit.

mod factors;

use std::borrow::Borrow;
use std::cmp::Ordering;

use bsp::numbers::{length, position};
use bsp::units::Instructions;
use bsp::{Array, BoxError, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use super::{Cyclic, distribution};
use crate::matrix::{Matrix, element_bytes};
use crate::parameters::{Common, Error, collected, megabytes, whole, within};

pub use factors::{Block, Factors, Residual, Singular, Unfactored};

/// One process's part of the matrix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lu {
    matrix: Cyclic,
    pivoting: bool,
    instructions_per_operation: u64,
    tile: Tile,
    phase: Phase,
    /// The stage, `k`.
    stage: u64,
    /// The pivot of this stage, where it is known: in its column.
    pivot: Option<f64>,
    /// The row of this stage's pivot before the exchange.
    pivot_row: u64,
    /// The row of the original matrix that is now in each row.
    permutation: Vec<u32>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    Start,
    Choose,
    Exchange,
    Divide,
    Update,
}

/// A message between processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message(Content);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Content {
    /// Along a column: this stage's pivot.
    Pivot(f64),
    /// Along a column: the greatest element of the sender's part of it, and its row.
    Candidate(f64, u64),
    /// Along a row: the row of this stage's pivot.
    Chosen(u64),
    /// To the process with the other one of two rows that change places.
    Exchanged(Array<f64>),
    /// Along a row: the multipliers below the pivot that the sender holds.
    Column(Array<f64>),
    /// Along a column: the elements right of the pivot that the sender holds.
    Row(Array<f64>),
    /// There is no pivot.
    Singular,
}

/// One part for each rank.
///
/// The order need not divide by the rows and columns of processes. Of more processes than there are
/// elements, some hold nothing.
///
/// # Errors
///
/// If there is no process, if rows and columns of processes do not make as many places as there are
/// processes, if the instructions lie out of their range, if the number of supersteps is given, which
/// follows from the rest, or if there is no memory for the parts.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::Common;
/// use workloads::lu::kernel::{self, Factors, Parameters};
///
/// let parameters = Parameters { order: 10, ..Parameters::default() };
/// let common = Common { processes: 6, supersteps: None, seed: 1 };
/// let matrix = parameters.drawn(common.seed)?;
/// let parts = kernel::processes(&parameters, &matrix, common)?;
/// let run = reference::run(parts, reference::Limit::default()).expect("the program halts");
/// assert_eq!(run.supersteps, 4 * 10 + 1);
/// let factors = Factors::assemble(&run.outputs).expect("the matrix is regular");
/// assert!(factors.residual(&matrix).relative() < 1e-15);
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(
    parameters: &Parameters,
    matrix: &Matrix,
    common: Common,
) -> Result<Vec<Lu>, Error> {
    common.build(builder(parameters, matrix, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder<M: Borrow<Matrix>>(
    parameters: &Parameters,
    matrix: M,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<Lu, Error>, Error> {
    let order = matrix.borrow().order();
    common.refuse_supersteps()?;
    let grid = (parameters.rows, parameters.columns);
    let cyclic = distribution(order, grid, common.processes)?;
    let per_operation = (
        "instructions_per_operation",
        parameters.instructions_per_operation,
    );
    let per_operation = within(per_operation, 0.0, 1e9, "a number from 0 to 10^9")?;
    common.check()?;
    let part = move |rank| {
        Some(Lu {
            matrix: cyclic,
            pivoting: parameters.pivoting,
            instructions_per_operation: whole(per_operation),
            tile: Tile::new(matrix.borrow(), &cyclic, rank)?,
            phase: Phase::Start,
            stage: 0,
            pivot: None,
            pivot_row: 0,
            permutation: collected(usize::try_from(order).ok()?, 0..order)?,
        })
    };
    Ok(move |rank| part(rank).ok_or_else(|| parameters.too_large(order)))
}

impl Program for Lu {
    type Message = Message;
    type Output = Result<Block, Singular>;

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, Message>,
    ) -> Result<Step<Self::Output>, BoxError> {
        let received: Vec<Content> = ctx.receive().map(|(_, Message(content))| content).collect();
        if received.contains(&Content::Singular) {
            let (stage, pivoting) = (self.stage, self.pivoting);
            return Ok(Step::Halt(Err(Singular { stage, pivoting })));
        }
        let phase = self.phase;
        let mut operations = match phase {
            Phase::Start => 0,
            Phase::Choose => self.choose(ctx, &received),
            Phase::Exchange => self.exchange(ctx, &received),
            Phase::Divide => self.divide(ctx, received),
            Phase::Update => self.update(received),
        };
        self.stage += u64::from(phase == Phase::Update);
        let is_over = self.stage == self.matrix.order();
        self.phase = match phase {
            Phase::Start | Phase::Update => {
                if !is_over {
                    operations += self.begin(ctx);
                }
                if self.pivoting {
                    Phase::Choose
                } else {
                    Phase::Divide
                }
            }
            Phase::Choose => Phase::Exchange,
            Phase::Exchange => Phase::Divide,
            Phase::Divide => Phase::Update,
        };
        ctx.charge(Instructions(operations * self.instructions_per_operation));
        if is_over {
            let block = self.block().ok_or_else(|| self.no_room())?;
            Ok(Step::Halt(Ok(block)))
        } else {
            Ok(Step::Continue)
        }
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        let phases = if self.pivoting { 4 } else { 2 };
        let all = self.matrix.order().saturating_mul(phases);
        Some((all + 1).saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

/// Each returns how many operations on elements it took.
impl Lu {
    /// Begins a stage: looks for the pivot, or passes it on.
    fn begin(&mut self, ctx: &mut Superstep<'_, Message>) -> u64 {
        let k = self.stage;
        let (s, t) = self.tile.place;
        if t != self.matrix.column_owner(k) {
            return 0;
        }
        if self.pivoting {
            let mut compared = 0;
            let candidates = self.tile.column(k, k).inspect(|_| compared += 1);
            if let Some((row, greatest)) = greatest(candidates) {
                for to in 0..self.matrix.rows() {
                    let to = self.matrix.rank(to, t);
                    ctx.send(to, Message(Content::Candidate(greatest, row)));
                }
            }
            return compared;
        }
        if s == self.matrix.row_owner(k) {
            let pivot = self.tile.element(k, k);
            self.pivot = Some(pivot);
            if pivot == 0.0 {
                for to in ctx.ranks() {
                    ctx.send(to, Message(Content::Singular));
                }
            } else {
                self.send_along_column(ctx, &Content::Pivot(pivot));
            }
        }
        0
    }

    /// Decides which row is the pivot's, and informs the others in this row of processes.
    fn choose(&mut self, ctx: &mut Superstep<'_, Message>, received: &[Content]) -> u64 {
        let (s, t) = self.tile.place;
        if t != self.matrix.column_owner(self.stage) {
            return 0;
        }
        let candidates = received.iter().filter_map(|content| match content {
            Content::Candidate(element, row) => Some((*row, *element)),
            _ => None,
        });
        let (row, pivot) = greatest(candidates).expect("a process holds an element of the column");
        self.pivot = Some(pivot);
        let content = if pivot == 0.0 {
            Content::Singular
        } else {
            Content::Chosen(row)
        };
        for to in 0..self.matrix.columns() {
            ctx.send(self.matrix.rank(s, to), Message(content.clone()));
        }
        length(received.len())
    }

    /// Exchanges row `k` and the pivot's row.
    fn exchange(&mut self, ctx: &mut Superstep<'_, Message>, received: &[Content]) -> u64 {
        let [Content::Chosen(chosen)] = *received else {
            panic!("{} received {received:?}, expected a row", ctx.rank());
        };
        let k = self.stage;
        self.pivot_row = chosen;
        let place = |row: u64| usize::try_from(row).expect("rows of a matrix in memory");
        self.permutation.swap(place(k), place(chosen));
        let (s, t) = self.tile.place;
        let holders = (self.matrix.row_owner(k), self.matrix.row_owner(chosen));
        let (own, other) = match holders {
            (one, other) if one == s => (k, other),
            (one, other) if other == s => (chosen, one),
            _ => return 0,
        };
        if chosen == k || self.tile.width == 0 {
            return 0;
        }
        if other == s {
            self.tile.swap_rows(k, chosen);
        } else {
            let row = self.tile.row(own, 0).into();
            let to = self.matrix.rank(other, t);
            ctx.send(to, Message(Content::Exchanged(row)));
        }
        length(self.tile.width)
    }

    /// Divides column `k` below the pivot, and passes it and row `k` on.
    fn divide(&mut self, ctx: &mut Superstep<'_, Message>, received: Vec<Content>) -> u64 {
        let k = self.stage;
        let (s, t) = self.tile.place;
        for content in received {
            match content {
                Content::Pivot(pivot) => self.pivot = Some(pivot),
                Content::Exchanged(elements) => {
                    let is_holder = s == self.matrix.row_owner(k);
                    let row = if is_holder { k } else { self.pivot_row };
                    self.tile.replace_row(row, &elements);
                }
                other => panic!("{} received {other:?} before dividing", ctx.rank()),
            }
        }
        let pivot = self.pivot.take();
        let mut divided = 0;
        if t == self.matrix.column_owner(k) && 0 < self.matrix.rows_from(s, k + 1) {
            let pivot = pivot.expect("the pivot is known in its column");
            let multipliers = self.tile.divide_column(k, k + 1, pivot);
            divided = length(multipliers.len());
            self.send_along_row(ctx, &Content::Column(multipliers));
        }
        if s == self.matrix.row_owner(k) && 0 < self.matrix.columns_from(t, k + 1) {
            let row = self.tile.row(k, k + 1).into();
            self.send_along_column(ctx, &Content::Row(row));
        }
        divided
    }

    /// Subtracts column times row from the elements that are left for the next stages.
    fn update(&mut self, received: Vec<Content>) -> u64 {
        let k = self.stage;
        let (s, t) = self.tile.place;
        let (mut column, mut row) = (Array::default(), Array::default());
        for content in received {
            match content {
                Content::Column(elements) => column = elements,
                Content::Row(elements) => row = elements,
                other => panic!("({s}, {t}) received {other:?} before updating"),
            }
        }
        if s == self.matrix.row_owner(k) {
            row = self.tile.row(k, k + 1).into();
        }
        let multipliers = if t == self.matrix.column_owner(k) {
            Multipliers::Own
        } else {
            Multipliers::Received(&column)
        };
        // A multiplication and a subtraction each.
        2 * self.tile.update(k + 1, multipliers, &row)
    }

    /// To the others in this column of processes that hold rows below `k`.
    fn send_along_column(&self, ctx: &mut Superstep<'_, Message>, content: &Content) {
        for to in self.matrix.others_in_column(ctx.rank(), self.stage + 1) {
            ctx.send(to, Message(content.clone()));
        }
    }

    /// To the others in this row of processes that hold columns right of `k`.
    fn send_along_row(&self, ctx: &mut Superstep<'_, Message>, content: &Content) {
        for to in self.matrix.others_in_row(ctx.rank(), self.stage + 1) {
            ctx.send(to, Message(content.clone()));
        }
    }

    /// The output; `None` if there is no memory for it.
    fn block(&self) -> Option<Block> {
        let elements = &self.tile.elements;
        let permutation = self.permutation.iter().copied();
        Some(Block {
            matrix: self.matrix,
            elements: collected(elements.len(), elements.iter().copied())?.into(),
            permutation: collected(self.permutation.len(), permutation)?,
        })
    }

    fn no_room(&self) -> String {
        let order = self.matrix.order();
        let needed = megabytes(element_bytes(order));
        format!("not enough memory for the factors, {needed} MB: choose an order below {order}")
    }
}

/// The row and the element with the greatest magnitude; of equal ones that of the lowest row.
fn greatest(elements: impl Iterator<Item = (u64, f64)>) -> Option<(u64, f64)> {
    elements.reduce(
        |best, (row, element)| match element.abs().total_cmp(&best.1.abs()) {
            Ordering::Greater => (row, element),
            Ordering::Equal if row < best.0 => (row, element),
            Ordering::Equal | Ordering::Less => best,
        },
    )
}

/// What is decomposed, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Name of a CSV file with one row of the matrix a line; not set: a matrix is drawn.
    pub matrix: Option<String>,
    /// Rows, and columns, of a drawn matrix, at most 16384.
    pub order: u32,
    /// What is added to the diagonal of a drawn matrix, whose elements lie between −1 and 1.
    pub diagonal: f64,
    /// Whether rows are exchanged, so that the greatest element of a column is its pivot.
    pub pivoting: bool,
    /// Rows of processes; not set: as `columns` requires, or the nearest to a square, higher
    /// than wide.
    pub rows: Option<u32>,
    /// Columns of processes; not set: as `rows` requires, or the nearest to a square.
    pub columns: Option<u32>,
    /// Instructions of one operation on elements: a multiplication, subtraction, division, comparison,
    /// or the moving of one to another row.
    pub instructions_per_operation: f64,
}

impl Default for Parameters {
    /// A small matrix, with pivoting; an operation comes with the loading or storing of an element.
    fn default() -> Self {
        Self {
            matrix: None,
            order: 64,
            diagonal: 0.0,
            pivoting: true,
            rows: None,
            columns: None,
            instructions_per_operation: 2.0,
        }
    }
}

impl Parameters {
    /// The matrix that is drawn if no file is named.
    ///
    /// # Errors
    ///
    /// If its order is 0 or too large, the diagonal no number, or there is no memory for it.
    pub fn drawn(&self, seed: u64) -> Result<Matrix, Error> {
        let diagonal = ("diagonal", self.diagonal);
        let diagonal = within(diagonal, -1e300, 1e300, "a number from -1e300 to 1e300")?;
        Matrix::drawn(self.order, diagonal, (seed, PURPOSE))
    }

    /// There is no memory for a matrix of `order`.
    fn too_large(&self, order: u32) -> Error {
        Error::Memory {
            what: format!("a matrix of order {order}"),
            megabytes: megabytes(element_bytes(order.into())),
            instead: match self.matrix {
                None => "a smaller `order`",
                Some(_) => "a smaller matrix in the file of `matrix`",
            },
        }
    }
}

/// Of the random numbers of a drawn matrix.
const PURPOSE: &[u8; 24] = b"rows of a random matrix ";

/// The elements of the matrix that one process holds, by their numbers in the whole matrix.
///
/// Invariant: `elements` has one for each row and column that the process holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tile {
    /// Row and column of the process.
    place: (u32, u32),
    /// Rows and columns of processes.
    grid: (u32, u32),
    /// How many columns are held.
    width: usize,
    /// Row after row.
    elements: Array<f64>,
}

/// Where the elements of column `k` below the diagonal are, for the rows that a process holds.
#[derive(Clone, Copy)]
enum Multipliers<'a> {
    /// In the rows themselves, left of what is updated.
    Own,
    /// With the messages.
    Received(&'a [f64]),
}

impl Tile {
    /// The part of `rank` of a `matrix` distributed by `cyclic`; `None` if there is no memory for it.
    fn new(matrix: &Matrix, cyclic: &Cyclic, rank: Rank) -> Option<Self> {
        let place = cyclic.coordinates(rank);
        let grid = (cyclic.rows(), cyclic.columns());
        let order = position(u64::from(matrix.order()));
        let held =
            |first: u32, step: u32| (position(first.into())..order).step_by(position(step.into()));
        let (rows, columns) = (held(place.0, grid.0), held(place.1, grid.1));
        let width = columns.len();
        let count = rows.len().checked_mul(width)?;
        let elements = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        let elements = elements.map(|(row, column)| matrix.element(row, column));
        Some(Self {
            place,
            grid,
            width,
            elements: collected(count, elements)?.into(),
        })
    }

    /// Element `(i, j)`, which is held.
    fn element(&self, i: u64, j: u64) -> f64 {
        let (row, column) = (self.rows_before(i), self.columns_before(j));
        self.elements[row * self.width + column]
    }

    /// Row `i`, which is held, from column `j` on.
    fn row(&self, i: u64, j: u64) -> &[f64] {
        let start = self.rows_before(i) * self.width;
        &self.elements[start + self.columns_before(j)..start + self.width]
    }

    /// Column `j`, which is held, from row `i` on: numbers of rows, and elements.
    fn column(&self, j: u64, i: u64) -> impl Iterator<Item = (u64, f64)> {
        let column = self.columns_before(j);
        let rows = self.elements.chunks_exact(self.width.max(1)).enumerate();
        let (first, step) = (u64::from(self.place.0), self.grid.0);
        rows.skip(self.rows_before(i)).map(move |(row, elements)| {
            let row = length(row);
            (first + row * u64::from(step), elements[column])
        })
    }

    /// Divides column `j`, which is held, by `pivot` from row `i` on; these elements.
    fn divide_column(&mut self, j: u64, i: u64, pivot: f64) -> Array<f64> {
        let (above, column) = (self.rows_before(i), self.columns_before(j));
        let rows = self.elements.chunks_exact_mut(self.width.max(1));
        let divided = rows.skip(above).map(|elements| {
            elements[column] /= pivot;
            elements[column]
        });
        divided.collect()
    }

    /// Exchanges two rows that are both held.
    fn swap_rows(&mut self, one: u64, other: u64) {
        let (one, other) = (self.rows_before(one), self.rows_before(other));
        let (low, high) = (one.min(other), one.max(other));
        let (above, below) = self.elements.split_at_mut(high * self.width);
        let low = low * self.width..(low + 1) * self.width;
        above[low].swap_with_slice(&mut below[..self.width]);
    }

    /// Puts `elements` in the place of row `i`, which is held.
    fn replace_row(&mut self, i: u64, elements: &[f64]) {
        let start = self.rows_before(i) * self.width;
        self.elements[start..start + self.width].copy_from_slice(elements);
    }

    /// Subtracts `multipliers · row` from what is held from row and column `from` on; how many elements
    /// that are.
    fn update(&mut self, from: u64, multipliers: Multipliers<'_>, row: &[f64]) -> u64 {
        let (above, left) = (self.rows_before(from), self.columns_before(from));
        let rows = self
            .elements
            .chunks_exact_mut(self.width.max(1))
            .skip(above);
        let mut updated = 0;
        let mut subtract = |elements: &mut [f64], multiplier: f64| {
            for (element, other) in elements.iter_mut().zip(row) {
                *element -= multiplier * other;
            }
            updated += length(row.len());
        };
        match multipliers {
            Multipliers::Own => {
                for elements in rows {
                    let (before, elements) = elements.split_at_mut(left);
                    subtract(elements, before[left - 1]);
                }
            }
            Multipliers::Received(column) => {
                for (elements, multiplier) in rows.zip(column) {
                    subtract(&mut elements[left..], *multiplier);
                }
            }
        }
        updated
    }

    /// How many of the rows above row `i` are held.
    fn rows_before(&self, i: u64) -> usize {
        before(i, self.place.0, self.grid.0)
    }

    /// How many of the columns left of column `j` are held.
    fn columns_before(&self, j: u64) -> usize {
        before(j, self.place.1, self.grid.1)
    }
}

/// How many numbers below `end` are `owner` modulo `owners`.
fn before(end: u64, owner: u32, owners: u32) -> usize {
    let (owner, owners) = (u64::from(owner), u64::from(owners));
    position(end / owners + u64::from(owner < end % owners))
}

#[cfg(test)]
mod tests;
