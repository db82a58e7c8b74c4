//! The elements of the matrix that one process holds.

use bsp::Rank;
use bsp::numbers::{length, position};
use serde::{Deserialize, Serialize};

use crate::lu::Cyclic;
use crate::matrix::Matrix;
use crate::memory::collected;

/// The elements of the matrix that one process holds, by their numbers in the whole matrix.
///
/// Invariant: `elements` has one for each row and column that the process holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Tile {
    /// Row and column of the process.
    place: (u32, u32),
    /// Rows and columns of processes.
    grid: (u32, u32),
    /// How many columns are held.
    width: usize,
    /// Row after row.
    elements: Vec<f64>,
}

impl Tile {
    /// The part of `rank` of a `matrix` distributed by `cyclic`; `None` if there is no memory for it.
    pub(super) fn new(matrix: &Matrix, cyclic: &Cyclic, rank: Rank) -> Option<Self> {
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
            elements: collected(count, elements)?,
        })
    }

    /// Row and column of the process.
    pub(super) const fn place(&self) -> (u32, u32) {
        self.place
    }

    /// How many columns are held.
    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// All elements, row after row.
    pub(super) fn elements(&self) -> &[f64] {
        &self.elements
    }

    /// Element `(i, j)`, which is held.
    pub(super) fn element(&self, i: u64, j: u64) -> f64 {
        let (row, column) = (self.rows_before(i), self.columns_before(j));
        self.elements[row * self.width + column]
    }

    /// Row `i`, which is held, from column `j` on.
    pub(super) fn row(&self, i: u64, j: u64) -> &[f64] {
        let start = self.rows_before(i) * self.width;
        &self.elements[start + self.columns_before(j)..start + self.width]
    }

    /// Column `j`, which is held, from row `i` on: numbers of rows, and elements.
    pub(super) fn column(&self, j: u64, i: u64) -> impl Iterator<Item = (u64, f64)> {
        let column = self.columns_before(j);
        let rows = self.elements.chunks_exact(self.width.max(1)).enumerate();
        let (first, step) = (u64::from(self.place.0), self.grid.0);
        rows.skip(self.rows_before(i)).map(move |(row, elements)| {
            let row = length(row);
            (first + row * u64::from(step), elements[column])
        })
    }

    /// Divides column `j`, which is held, by `pivot` from row `i` on; how many elements that are.
    pub(super) fn divide_column(&mut self, j: u64, i: u64, pivot: f64) -> u64 {
        let (above, column) = (self.rows_before(i), self.columns_before(j));
        let rows = self.elements.chunks_exact_mut(self.width.max(1));
        let mut divided = 0;
        for elements in rows.skip(above) {
            elements[column] /= pivot;
            divided += 1;
        }
        divided
    }

    /// Exchanges two rows that are both held.
    pub(super) fn swap_rows(&mut self, one: u64, other: u64) {
        let (one, other) = (self.rows_before(one), self.rows_before(other));
        let (low, high) = (one.min(other), one.max(other));
        let (above, below) = self.elements.split_at_mut(high * self.width);
        let low = low * self.width..(low + 1) * self.width;
        above[low].swap_with_slice(&mut below[..self.width]);
    }

    /// Puts `elements` in the place of row `i`, which is held.
    pub(super) fn replace_row(&mut self, i: u64, elements: &[f64]) {
        let start = self.rows_before(i) * self.width;
        self.elements[start..start + self.width].copy_from_slice(elements);
    }

    /// Subtracts `column · row` from what is held from row and column `from` on; how many elements
    /// that are.
    pub(super) fn update(&mut self, from: u64, column: &[f64], row: &[f64]) -> u64 {
        let (above, left) = (self.rows_before(from), self.columns_before(from));
        let rows = self
            .elements
            .chunks_exact_mut(self.width.max(1))
            .skip(above);
        let mut updated = 0;
        for (elements, multiplier) in rows.zip(column) {
            for (element, other) in elements[left..].iter_mut().zip(row) {
                *element -= multiplier * other;
            }
            updated += length(row.len());
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
