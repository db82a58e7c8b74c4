//! The heat equation on a plate, computed on horizontal strips.
//!
//! The border of the plate is kept at zero, and inside heat flows from cell to cell:
//! `∂u/∂t = ∂²u/∂x² + ∂²u/∂y²`, in steps that follow from the cells before alone (an explicit
//! scheme). The plate is cut into one strip of rows a process. A superstep is one time step: the rows
//! beside the strip are received, every cell is computed, and the outermost rows are sent to the
//! neighbours. The plate begins as one of its modes, which keeps its shape and decays by a factor that
//! is known exactly ([`Mode`]), so that the result can be checked. A plate may be bent into a pipe
//! ([`Parameters::periodic`]): the lowest row is then the neighbour of the uppermost, and the strips form a ring.

mod mode;
mod parameters;
mod strip;

use bsp::units::Instructions;
use bsp::{MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use self::parameters::diffusion;
use self::strip::Strip;
use crate::parameters::{Common, Error, at_least, instructions};

pub use self::mode::{Deviation, Mode};
pub use self::parameters::Parameters;

/// One strip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    supersteps: u64,
    diffusion: f64,
    work: Instructions,
    periodic: bool,
    strip: Strip,
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
/// let run = reference::run(strips, reference::Limit::default()).expect("the program halts");
/// let plate: Vec<f64> = run.outputs.concat();
/// assert!(heat::Mode::new(&parameters)?.deviation(&plate, 30).is_rounding());
/// # Ok::<(), workloads::Error>(())
/// ```
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Heat>, Error> {
    let supersteps = common.required_supersteps()?;
    let Parameters {
        width,
        height,
        periodic,
        ..
    } = *parameters;
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
            periodic,
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
        let (above, below) = self.neighbours(ctx);
        for (index, (from, row)) in ctx.receive().enumerate() {
            // A ring of one or two strips has the same neighbour on both sides, which sends its uppermost row first.
            let is_below = if above == below {
                index == 0
            } else {
                below == Some(from)
            };
            if is_below {
                self.strip.set_below(row);
            } else {
                self.strip.set_above(row);
            }
        }
        self.strip.advance(self.diffusion);
        ctx.charge(self.work);
        if ctx.index() + 1 == self.supersteps {
            return Step::Halt(self.strip.take_cells());
        }
        if let Some(above) = above {
            ctx.send(above, self.strip.first().to_vec());
        }
        if let Some(below) = below {
            ctx.send(below, self.strip.last().to_vec());
        }
        Step::Continue
    }

    /// Without this, every call would encode the strip to see how long it is.
    fn memory(&self) -> Option<MemorySize> {
        Some(self.strip.encoded_bytes().into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Heat {
    /// The processes with the strips above and below.
    fn neighbours(&self, ctx: &Superstep<'_, Vec<f64>>) -> (Option<Rank>, Option<Rank>) {
        let (above, below) = (ctx.left(), ctx.right());
        if self.periodic {
            let lowest = Rank(ctx.size() - 1);
            (above.or(Some(lowest)), below.or(Some(Rank(0))))
        } else {
            (above, below)
        }
    }
}

#[cfg(test)]
mod tests;
