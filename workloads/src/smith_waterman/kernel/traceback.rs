//! The way back along the best alignment, through the columns of one process.

use serde::{Deserialize, Serialize};

use crate::smith_waterman::kernel::alignment::{Operation, Path};
use crate::smith_waterman::kernel::block::{Block, Reached};

/// Where the way back goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// The row, from 0.
    pub(super) row: usize,
    /// Which of the three values of a cell it comes to.
    pub(super) layer: Layer,
}

/// One of the values of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Layer {
    /// `H`.
    Height,
    /// `E`.
    QueryGap,
    /// `F`.
    SubjectGap,
}

/// Where the way back leaves a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Nowhere: the alignment begins here.
    Start,
    /// Into the last column of the next process with columns to the left.
    Left(Cursor),
}

/// Follows the way from `cursor` in column number `column` until it leaves `block`.
pub(super) fn trace(block: &Block, query: &[u8], cursor: Cursor, column: usize) -> (Path, Exit) {
    let mut walk = Walk::new(cursor, column);
    let exit = walk.follow(block, query);
    (walk.path(), exit)
}

/// The way so far, from its end.
struct Walk {
    /// Rows up to the present one.
    rows: usize,
    /// Columns up to the present one.
    columns: usize,
    layer: Layer,
    /// The same numbers of rows and columns where it came from.
    end: (usize, usize),
    /// Last first.
    operations: Vec<(Operation, usize)>,
}

impl Walk {
    const fn new(cursor: Cursor, column: usize) -> Self {
        let (rows, columns) = (cursor.row + 1, column + 1);
        Self {
            rows,
            columns,
            layer: cursor.layer,
            end: (rows, columns),
            operations: Vec::new(),
        }
    }

    fn follow(&mut self, block: &Block, query: &[u8]) -> Exit {
        loop {
            // Outside the matrix every height is 0.
            let (Some(row), Some(column)) = (self.rows.checked_sub(1), self.columns.checked_sub(1))
            else {
                return Exit::Start;
            };
            if column < block.columns().start {
                let layer = self.layer;
                return Exit::Left(Cursor { row, layer });
            }
            let origin = block.origin(row, column);
            match (self.layer, origin.reached()) {
                (Layer::Height, Reached::Start) => return Exit::Start,
                (Layer::Height, Reached::Pair) => {
                    let operation = Operation::of_pair(query[row] == block.letter(column));
                    self.step(operation, Layer::Height);
                }
                (Layer::Height, Reached::QueryGap) => self.layer = Layer::QueryGap,
                (Layer::Height, Reached::SubjectGap) => self.layer = Layer::SubjectGap,
                (Layer::QueryGap, _) if origin.extends_query_gap() => {
                    self.step(Operation::Deletion, Layer::QueryGap);
                }
                (Layer::QueryGap, _) => self.step(Operation::Deletion, Layer::Height),
                (Layer::SubjectGap, _) if origin.extends_subject_gap() => {
                    self.step(Operation::Insertion, Layer::SubjectGap);
                }
                (Layer::SubjectGap, _) => self.step(Operation::Insertion, Layer::Height),
            }
        }
    }

    fn step(&mut self, operation: Operation, next: Layer) {
        self.rows -= usize::from(operation.takes_query());
        self.columns -= usize::from(operation.takes_subject());
        self.layer = next;
        match self.operations.last_mut() {
            Some((last, count)) if *last == operation => *count += 1,
            _ => self.operations.push((operation, 1)),
        }
    }

    fn path(mut self) -> Path {
        self.operations.reverse();
        Path {
            query: self.rows..self.end.0,
            subject: self.columns..self.end.1,
            operations: self.operations,
        }
    }
}
