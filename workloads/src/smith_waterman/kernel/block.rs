//! The columns of the matrix that one process owns, filled row by row.
//!
//! With `S` the scores of pairs, `o` and `e` what opening and extending a gap costs (Gotoh 1982):
//!
//! ```text
//! E(i, j) = max(H(i, j−1) − o, E(i, j−1)) − e            a gap in the query
//! F(i, j) = max(H(i−1, j) − o, F(i−1, j)) − e            a gap in the subject
//! H(i, j) = max(0, H(i−1, j−1) + S(i, j), E(i, j), F(i, j))
//! ```
//!
//! Where several of them are the maximum, the first one in the order written here is how the cell is
//! said to be reached. Before the first row and column, `H` is 0, and `E` and `F` are `−o`: a gap there
//! has just been opened.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::alignment::{Operation, Path};
use super::scoring::Scoring;
use crate::parameters::collected;

/// The columns that one process owns, as far as they are filled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Block {
    /// Number of the first column, from 0.
    first: usize,
    /// The subject's letters, one a column.
    letters: Vec<u8>,
    /// `H` and `F` of the last row filled, one a column.
    row: Vec<Cell>,
    /// `H` left of the last row filled.
    corner: i64,
    /// How each cell was reached, row after row.
    origins: Vec<Origin>,
    /// The best cell so far.
    best: Best,
}

/// What a cell hands to its right neighbour: `H` and `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edge {
    /// The best score of an alignment that ends here.
    pub(super) height: i64,
    /// The best one of those that end with a gap in the query.
    pub(super) gap: i64,
}

/// What a cell hands to the one below it: `H` and `F`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cell {
    height: i64,
    gap: i64,
}

/// The cell in which the best alignment ends: the highest score, then the lowest row, then the lowest
/// column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) score: i64,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// How a cell was reached, for each of `H`, `E` and `F`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Origin(u8);

/// What `H` is the maximum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// Nothing: an alignment begins behind this cell.
    Start,
    /// The cell above left and a pair of letters.
    Pair,
    /// `E`.
    QueryGap,
    /// `F`.
    SubjectGap,
}

impl Block {
    /// The columns from `first` on, for these letters of the subject; nothing is filled yet. `None` if there is no
    /// memory for `rows` rows.
    pub(super) fn new(
        first: usize,
        letters: &[u8],
        rows: usize,
        scoring: &Scoring,
    ) -> Option<Self> {
        let above = Cell {
            height: 0,
            gap: -scoring.gap_open(),
        };
        let mut block = Self {
            first,
            row: collected(letters.len(), std::iter::repeat(above))?,
            letters: collected(letters.len(), letters.iter().copied())?,
            corner: 0,
            origins: Vec::new(),
            best: Best::default(),
        };
        block.reserve(rows).then_some(block)
    }

    /// Reserves memory for `rows` more rows; returns whether that succeeded. The reserve is not migrated.
    #[must_use]
    pub(super) fn reserve(&mut self, rows: usize) -> bool {
        let cells = rows.checked_mul(self.letters.len());
        cells.is_some_and(|cells| self.origins.try_reserve(cells).is_ok())
    }

    /// Fills row number `row`, which has `letter` of the query, from the edge at its left; the edge at
    /// its right.
    pub(super) fn fill(&mut self, row: usize, letter: u8, left: Edge, scoring: &Scoring) -> Edge {
        let (open, extend) = (scoring.gap_open(), scoring.gap_extend());
        let mut diagonal = std::mem::replace(&mut self.corner, left.height);
        let mut edge = left;
        let cells = self.row.iter_mut().zip(&self.letters);
        for (column, (above, other)) in (self.first..).zip(cells) {
            let opened = edge.height - open;
            let query_gap = opened.max(edge.gap) - extend;
            let extends_query_gap = opened < edge.gap;
            let opened = above.height - open;
            let subject_gap = opened.max(above.gap) - extend;
            let extends_subject_gap = opened < above.gap;
            let (mut height, mut reached) = (0, Reached::Start);
            let candidates = [
                (diagonal + scoring.pair(letter, *other), Reached::Pair),
                (query_gap, Reached::QueryGap),
                (subject_gap, Reached::SubjectGap),
            ];
            for (candidate, how) in candidates {
                if height < candidate {
                    (height, reached) = (candidate, how);
                }
            }
            diagonal = above.height;
            *above = Cell {
                height,
                gap: subject_gap,
            };
            edge = Edge {
                height,
                gap: query_gap,
            };
            let origin = Origin::new(reached, extends_query_gap, extends_subject_gap);
            self.origins.push(origin);
            if self.best.score < height {
                // Rows and columns only grow here, so the first of equal scores stays.
                self.best = Best {
                    score: height,
                    row,
                    column,
                };
            }
        }
        edge
    }

    /// The best cell so far.
    pub(super) const fn best(&self) -> Best {
        self.best
    }

    /// The numbers of the columns.
    pub(super) fn columns(&self) -> Range<usize> {
        self.first..self.first + self.letters.len()
    }

    /// The subject's letter in column number `column`.
    pub(super) fn letter(&self, column: usize) -> u8 {
        self.letters[column - self.first]
    }

    /// How the cell in row and column of these numbers was reached.
    fn origin(&self, row: usize, column: usize) -> Origin {
        self.origins[row * self.letters.len() + column - self.first]
    }
}

impl Edge {
    /// The edge left of the first column.
    pub(super) fn outside(scoring: &Scoring) -> Self {
        Self {
            height: 0,
            gap: -scoring.gap_open(),
        }
    }
}

impl Best {
    /// The better one of two.
    pub(super) fn or(self, other: Self) -> Self {
        let order = |best: Self| (std::cmp::Reverse(best.score), best.row, best.column);
        if order(other) < order(self) {
            other
        } else {
            self
        }
    }
}

impl Origin {
    const EXTENDS_QUERY_GAP: u8 = 4;
    const EXTENDS_SUBJECT_GAP: u8 = 8;

    fn new(reached: Reached, extends_query_gap: bool, extends_subject_gap: bool) -> Self {
        let reached = match reached {
            Reached::Start => 0,
            Reached::Pair => 1,
            Reached::QueryGap => 2,
            Reached::SubjectGap => 3,
        };
        let query = u8::from(extends_query_gap) * Self::EXTENDS_QUERY_GAP;
        let subject = u8::from(extends_subject_gap) * Self::EXTENDS_SUBJECT_GAP;
        Self(reached | query | subject)
    }

    /// What `H` is here.
    pub(super) const fn reached(self) -> Reached {
        match self.0 & 3 {
            0 => Reached::Start,
            1 => Reached::Pair,
            2 => Reached::QueryGap,
            _ => Reached::SubjectGap,
        }
    }

    /// Whether the gap in the query that ends here has another letter.
    const fn extends_query_gap(self) -> bool {
        self.0 & Self::EXTENDS_QUERY_GAP != 0
    }

    /// Whether the gap in the subject that ends here has another letter.
    const fn extends_subject_gap(self) -> bool {
        self.0 & Self::EXTENDS_SUBJECT_GAP != 0
    }
}

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
