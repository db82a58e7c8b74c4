//! Which flow is computed, and how fine.

use serde::{Deserialize, Serialize};

use super::lattice::INSTRUCTIONS_PER_CELL;

/// Which flow, and how fine it is computed. Lengths and times are in lattice units: cells are one
/// apart, a time step lasts one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// What drives the flow, and what bounds it.
    pub case: Case,
    /// Columns of the lattice; at least one a process.
    pub width: u32,
    /// Cells of a column, from the floor to the ceiling; at least three.
    pub height: u32,
    /// The Reynolds number: `velocity` · `height` over the viscosity.
    pub reynolds: f64,
    /// The relaxation time τ, above one half; takes the place of `reynolds`. The viscosity is
    /// (τ − ½) / 3. With τ = ½ + √3 / 4 the walls of a channel are where they should be, to rounding.
    pub relaxation_time: Option<f64>,
    /// Velocity of the lid, or of the fluid in the middle of the channel when it flows steadily; a
    /// sound wave has 0.577. Errors of compressibility grow with its square.
    pub velocity: f64,
    /// Instructions that updating one cell is charged for.
    pub instructions_per_cell: f64,
}

/// What drives a flow, and what bounds it. All fluid is at rest when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// A box whose lid, the ceiling, moves to the east.
    #[default]
    Cavity,
    /// A channel between floor and ceiling in which a force drives the fluid to the east, where it
    /// comes in again from the west.
    Poiseuille,
}

impl Default for Parameters {
    /// The lid-driven cavity at a Reynolds number of 100.
    fn default() -> Self {
        Self {
            case: Case::Cavity,
            width: 128,
            height: 128,
            reynolds: 100.0,
            relaxation_time: None,
            velocity: 0.1,
            instructions_per_cell: f64::from(INSTRUCTIONS_PER_CELL),
        }
    }
}
