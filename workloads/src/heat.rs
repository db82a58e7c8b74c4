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

use bsp::numbers::length;
use bsp::units::{Bytes, Instructions};
use bsp::{Array, BoxError, MemorySize, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, at_least, instructions, within};

pub use mode::{Deviation, Mode};

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
    common.build(builder(parameters, common)?)
}

/// What builds each process, given its rank: [`processes`] without the states.
///
/// # Errors
///
/// As [`processes`].
pub fn builder(
    parameters: &Parameters,
    common: Common,
) -> Result<impl Fn(Rank) -> Result<Heat, Error>, Error> {
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
    common.check()?;
    Ok(move |rank| {
        let rows = common.share(height.into(), rank);
        let first = common.share_start(height.into(), rank);
        let cells = rows.saturating_mul(width.into());
        let strip = Strip::of_mode(&mode, first, rows);
        let strip = strip.ok_or(Error::TooManyCells { width, height })?;
        Ok(Heat {
            supersteps,
            diffusion,
            work: Instructions(work.0.saturating_mul(cells)),
            periodic,
            strip,
        })
    })
}

impl Program for Heat {
    /// One row of cells.
    type Message = Array<f64>;
    /// The cells of the strip, row after row.
    type Output = Array<f64>;

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, Array<f64>>,
    ) -> Result<Step<Array<f64>>, BoxError> {
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
            return Ok(Step::Halt(self.strip.take_cells()));
        }
        if let Some(above) = above {
            ctx.send(above, self.strip.first().into());
        }
        if let Some(below) = below {
            ctx.send(below, self.strip.last().into());
        }
        Ok(Step::Continue)
    }

    /// Without this, every call would encode the strip to see how long it is.
    fn memory(&self) -> Option<MemorySize> {
        Some(self.strip.encoded_bytes().into())
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

impl Heat {
    /// The processes with the strips above and below.
    fn neighbours(&self, ctx: &Superstep<'_, Array<f64>>) -> (Option<Rank>, Option<Rank>) {
        let (above, below) = (ctx.left(), ctx.right());
        if self.periodic {
            let lowest = Rank(ctx.size() - 1);
            (above.or(Some(lowest)), below.or(Some(Rank(0))))
        } else {
            (above, below)
        }
    }
}

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

/// Adjacent rows of the plate, with the row above and the row below.
///
/// Invariant: whole rows, at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Strip {
    /// Row after row, from the top.
    cells: Array<f64>,
    above: Array<f64>,
    below: Array<f64>,
}

impl Strip {
    /// `rows` rows of `mode`, after `first` others, and the two beside them; `None` if there is no memory
    /// for them.
    fn of_mode(mode: &Mode, first: u64, rows: u64) -> Option<Self> {
        let count = usize::try_from(rows).ok()?.checked_mul(mode.width())?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).ok()?;
        for row in first..first + rows {
            // Cells are counted from the border, which is at zero.
            cells.extend(mode.row(row + 1));
        }
        Some(Self {
            cells: cells.into(),
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
    fn advance(&mut self, diffusion: f64) {
        let width = self.above.len();
        let mut above = self.above.to_vec();
        let mut rest = &mut self.cells[..];
        while !rest.is_empty() {
            let (row, others) = rest.split_at_mut(width);
            let below = others.get(..width).unwrap_or(&self.below);
            flow(row, &mut above, below, diffusion);
            rest = others;
        }
    }

    fn set_above(&mut self, row: Array<f64>) {
        self.above = row;
    }

    fn set_below(&mut self, row: Array<f64>) {
        self.below = row;
    }

    /// The cells; none are left.
    fn take_cells(&mut self) -> Array<f64> {
        std::mem::take(&mut self.cells)
    }

    /// What the strip and the numbers beside it take at most when they are encoded.
    fn encoded_bytes(&self) -> Bytes {
        let cells = self.cells.len() + self.above.len() + self.below.len();
        Bytes(8 * length(cells) + HEADS)
    }

    fn first(&self) -> &[f64] {
        &self.cells[..self.above.len()]
    }

    /// The lowest row.
    fn last(&self) -> &[f64] {
        &self.cells[self.cells.len() - self.above.len()..]
    }
}

/// Computes a row of cells in their places, from the rows `above` and `below` as they were before. Afterwards `above` is what the
/// row was before.
///
/// A cell and the one to its left stay in registers when their places are computed, so several cells are computed at once and no
/// row is copied beforehand.
fn flow(row: &mut [f64], above: &mut [f64], below: &[f64], diffusion: f64) {
    let cell = |[left, here, right]: [f64; 3], beside: f64| {
        let around = left + right + beside;
        here + diffusion * (around - 4.0 * here)
    };
    let last = row.len() - 1;
    // Slices of the same length as far as the compiler sees.
    let (above, below) = (&mut above[..=last], &below[..=last]);
    let (mut left, mut here) = (0.0, row[0]);
    for x in 0..last {
        let right = row[x + 1];
        row[x] = cell([left, here, right], above[x] + below[x]);
        above[x] = here;
        (left, here) = (here, right);
    }
    row[last] = cell([left, here, 0.0], above[last] + below[last]);
    above[last] = here;
}

/// Bytes of the lengths of three lists, of three numbers, and of a flag.
const HEADS: u64 = 64;

#[cfg(test)]
mod tests;
