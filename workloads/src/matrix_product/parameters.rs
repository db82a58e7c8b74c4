//! What is multiplied, and how.

use serde::{Deserialize, Serialize};

use crate::dealing::DealingParameters;
use crate::matrix::Matrix;
use crate::parameters::Error;

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
