//! The heat equation on a plate, computed on horizontal strips.
//!
//! The border of the plate is kept at zero, and inside heat flows from cell to cell:
//! `∂u/∂t = ∂²u/∂x² + ∂²u/∂y²`, in steps that follow from the cells before alone (an explicit
//! scheme). The plate is cut into one strip of rows a process. A superstep is one time step: the rows
//! beside the strip are received, every cell is computed, and the outermost rows are sent to the
//! neighbours. The plate begins as one of its modes, which keeps its shape and decays by a factor that
//! is known exactly ([`Mode`]), so that what comes out can be checked.

mod mode;
mod strip;

use bsp::units::Instructions;
use bsp::{Image, Program, Step, Superstep};
use serde::{Deserialize, Serialize};

use self::strip::Strip;
use crate::parameters::{Common, Error, at_least, instructions, within};

pub use self::mode::{Deviation, Mode};

/// How fine the plate is cut, and what it begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Parameters {
    /// Cells of a row.
    pub width: u32,
    /// Rows; at least one a process.
    pub height: u32,
    /// How many half waves the plate begins with from the left to the right, and from the top to the
    /// bottom.
    pub mode: [u32; 2],
    /// What part of the difference between two neighbouring cells flows in a time step: the time step
    /// over the square of the cells' distance. Beyond a quarter the scheme is unstable.
    pub diffusion: f64,
    /// Instructions that computing one cell is charged for.
    pub instructions_per_cell: f64,
}

/// One strip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    supersteps: u64,
    diffusion: f64,
    work: Instructions,
    strip: Strip,
}

impl Default for Parameters {
    /// One hill on 256 × 256 cells, in steps that are as long as may be.
    fn default() -> Self {
        Self {
            width: 256,
            height: 256,
            mode: [1, 1],
            diffusion: DIFFUSION_MAX,
            instructions_per_cell: INSTRUCTIONS_PER_CELL,
        }
    }
}

/// One strip for each rank; where the height does not divide evenly, the lowest ranks have a row more.
///
/// # Errors
///
/// If there is no process or no superstep, no cell in a row, or fewer rows than processes; if the mode
/// is none of the plate's, or the scheme unstable; if there is no memory for the plate.
///
/// # Examples
///
/// ```
/// use bsp::reference;
/// use workloads::{Common, heat};
///
/// let parameters = heat::Parameters { width: 20, height: 15, ..heat::Parameters::default() };
/// let common = Common { processes: 4, supersteps: Some(30), seed: 0 };
/// let strips = heat::processes(&parameters, common)?;
/// let run = reference::run(strips, reference::Limit::default()).expect("nobody else is at fault");
/// let plate: Vec<f64> = run.outputs.concat();
/// assert!(heat::Mode::new(&parameters)?.deviation(&plate, 30).is_rounding());
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Heat>, Error> {
    let supersteps = common.required_supersteps()?;
    let Parameters { width, height, .. } = *parameters;
    at_least(
        ("height", height),
        common.processes,
        "a row for each process",
    )?;
    let mode = Mode::new(parameters)?;
    let diffusion = diffusion(parameters)?;
    let work = instructions("instructions_per_cell", parameters.instructions_per_cell)?;
    let mut first = 0;
    let strips = common.build(|rank| {
        let rows = common.share(height.into(), rank);
        let cells = rows.saturating_mul(width.into());
        let strip = Strip::of_mode(&mode, first, rows)?;
        first += rows;
        Some(Heat {
            supersteps,
            diffusion,
            work: Instructions(work.0.saturating_mul(cells)),
            strip,
        })
    })?;
    let strips: Option<Vec<Heat>> = strips.into_iter().collect();
    strips.ok_or(Error::TooManyCells { width, height })
}

impl Program for Heat {
    /// One row of cells.
    type Message = Vec<f64>;
    /// The cells of the strip, row after row.
    type Output = Vec<f64>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Vec<f64>>) -> Step<Vec<f64>> {
        for (from, row) in ctx.receive() {
            if from < ctx.rank() {
                self.strip.set_above(row);
            } else {
                self.strip.set_below(row);
            }
        }
        self.strip.advance(self.diffusion);
        ctx.charge(self.work);
        if ctx.index() + 1 == self.supersteps {
            return Step::Halt(self.strip.take_cells());
        }
        if let Some(above) = ctx.left() {
            ctx.send(above, self.strip.first().to_vec());
        }
        if let Some(below) = ctx.right() {
            ctx.send(below, self.strip.last().to_vec());
        }
        Step::Continue
    }

    /// Without this, every call would encode the strip to see how long it is.
    fn memory(&self) -> Option<Image> {
        Some(self.strip.encoded_bytes().into())
    }
}

/// # Errors
///
/// [`Error::OutOfRange`].
fn diffusion(parameters: &Parameters) -> Result<f64, Error> {
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

#[cfg(test)]
mod tests;
