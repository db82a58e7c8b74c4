//! What is decomposed, and how.

use serde::{Deserialize, Serialize};

use crate::matrix::{Matrix, element_bytes};
use crate::memory::megabytes;
use crate::parameters::{Error, within};

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
    pub(super) fn too_large(&self, order: u32) -> Error {
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
