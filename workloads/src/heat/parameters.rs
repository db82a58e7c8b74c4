//! How fine the plate is, and how it begins.

use serde::{Deserialize, Serialize};

use crate::parameters::{Error, within};

/// How fine the plate is cut, and what it begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Cells of a row.
    pub width: u32,
    /// Rows; at least one a process.
    pub height: u32,
    /// Whether the lowest row is the neighbour of the uppermost: a plate bent into a pipe, whose strips form a
    /// ring.
    pub periodic: bool,
    /// How many half waves the plate begins with from the left to the right, and from the top to the
    /// bottom; around a pipe, how many whole waves.
    pub mode: [u32; 2],
    /// What part of the difference between two neighbouring cells flows in a time step: the time step
    /// over the square of the cells' distance. Beyond a quarter the scheme is unstable.
    pub diffusion: f64,
    /// Instructions that computing one cell is charged for.
    pub instructions_per_cell: f64,
}

impl Default for Parameters {
    /// One hill on 256 × 256 cells, in steps that are as long as may be.
    fn default() -> Self {
        Self {
            width: 256,
            height: 256,
            periodic: false,
            mode: [1, 1],
            diffusion: DIFFUSION_MAX,
            instructions_per_cell: INSTRUCTIONS_PER_CELL,
        }
    }
}

/// The diffusion, if the scheme is stable with it.
///
/// # Errors
///
/// [`Error::OutOfRange`].
pub(super) fn diffusion(parameters: &Parameters) -> Result<f64, Error> {
    within(
        ("diffusion", parameters.diffusion),
        f64::MIN_POSITIVE,
        DIFFUSION_MAX,
        "a number above 0 and up to 0.25, beyond which the scheme is unstable",
    )
}

/// Of two dimensions: one over twice their number.
const DIFFUSION_MAX: f64 = 0.25;

/// Five additions and subtractions, two multiplications, five cells read and one written.
const INSTRUCTIONS_PER_CELL: f64 = 13.0;
