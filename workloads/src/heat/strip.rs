//! Adjacent rows of the plate, with those beside them.

use bsp::numbers::length;
use bsp::units::Bytes;
use serde::{Deserialize, Serialize};

use super::mode::Mode;

/// Adjacent rows of the plate, with the row above and the row below.
///
/// Invariant: whole rows, at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Strip {
    /// Row after row, from the top.
    cells: Vec<f64>,
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Strip {
    /// `rows` rows of `mode`, after `first` others, and the two beside them; `None` if there is no memory
    /// for them.
    pub(super) fn of_mode(mode: &Mode, first: u64, rows: u64) -> Option<Self> {
        let count = usize::try_from(rows).ok()?.checked_mul(mode.width())?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).ok()?;
        for row in first..first + rows {
            // Cells are counted from the border, which is at zero.
            cells.extend(mode.row(row + 1));
        }
        Some(Self {
            cells,
            above: mode.row(first).collect(),
            below: mode.row(first + rows + 1).collect(),
        })
    }

    /// One time step.
    ///
    /// `u(x, y) + r (u(x−1, y) + u(x+1, y) + u(x, y−1) + u(x, y+1) − 4 u(x, y))`
    ///
    /// Every cell is computed by the same operations in the same order wherever it is, so that the
    /// result is the same, bit by bit, for any number of processes.
    pub(super) fn advance(&mut self, diffusion: f64) {
        let width = self.above.len();
        let rows = self.cells.len() / width;
        let mut next = Vec::with_capacity(self.cells.len());
        for row in 0..rows {
            let at = row * width;
            let here = &self.cells[at..at + width];
            let above = match row {
                0 => &self.above,
                _ => &self.cells[at - width..at],
            };
            let below = match self.cells.get(at + width..at + 2 * width) {
                Some(below) => below,
                None => &self.below,
            };
            for x in 0..width {
                let left = if x == 0 { 0.0 } else { here[x - 1] };
                let right = here.get(x + 1).copied().unwrap_or(0.0);
                let around = left + right + (above[x] + below[x]);
                next.push(here[x] + diffusion * (around - 4.0 * here[x]));
            }
        }
        self.cells = next;
    }

    pub(super) fn set_above(&mut self, row: Vec<f64>) {
        self.above = row;
    }

    pub(super) fn set_below(&mut self, row: Vec<f64>) {
        self.below = row;
    }

    /// The cells; none are left.
    pub(super) fn take_cells(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.cells)
    }

    /// What the strip and the numbers beside it take at most when they are encoded: a mark and eight bytes a cell.
    pub(super) fn encoded_bytes(&self) -> Bytes {
        let cells = self.cells.len() + self.above.len() + self.below.len();
        Bytes(9 * length(cells) + HEADS)
    }

    pub(super) fn first(&self) -> &[f64] {
        &self.cells[..self.above.len()]
    }

    /// The lowest row.
    pub(super) fn last(&self) -> &[f64] {
        &self.cells[self.cells.len() - self.above.len()..]
    }
}

/// Bytes of the lengths of three lists, of three numbers, and of a flag.
const HEADS: u64 = 64;
