//! The Lattice Boltzmann method itself, on the strips of the model: D2Q9, BGK collision.
//!
//! The lattice is cut into one strip of columns a process. A superstep is one time step: what crossed
//! between strips is received, populations move on to the next cell and relax there, and what leaves
//! a strip now is sent to the neighbour on that side. All supersteps are alike, except that nothing
//! is sent in the last one. Every cell is computed by the same operations in the same order wherever
//! it is, so the result is the same, bit by bit, for any number of processes.

mod lattice;
mod strip;

use bsp::units::Instructions;
use bsp::{Array, BoxError, Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use crate::parameters::{Common, Error, at_least, instructions, within};
use lattice::{Fluid, INSTRUCTIONS_PER_CELL};
use strip::{Crossing, Side, Strip};

/// One strip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    supersteps: u64,
    flow: Flow,
    work: Instructions,
    strip: Strip,
}

/// What crosses between strips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Halo {
    heading: Heading,
    crossing: Array<Crossing>,
}

/// Two neighbours may be the same process, so a message says which side it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Heading {
    West,
    East,
}

/// One strip for each rank; where the width does not divide evenly, the lowest ranks have a column
/// more.
///
/// # Errors
///
/// If there is no process or no superstep, fewer columns than processes or fewer than three rows; if
/// the flow is too fast for the method, or its relaxation time unstable; if there is no memory for
/// the lattice.
///
/// # Examples
///
/// See [`Fields::assemble`].
pub fn processes(parameters: &Parameters, common: Common) -> Result<Vec<Kernel>, Error> {
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
) -> Result<impl Fn(Rank) -> Result<Kernel, Error>, Error> {
    let supersteps = common.required_supersteps()?;
    let Parameters { width, height, .. } = *parameters;
    at_least(
        ("width", width),
        common.processes,
        "a column for each process",
    )?;
    at_least(
        ("height", height),
        HEIGHT_MIN,
        "floor, ceiling and fluid between",
    )?;
    let flow = Flow::new(parameters)?;
    let work = instructions("instructions_per_cell", parameters.instructions_per_cell)?;
    common.check()?;
    let strip =
        move |columns: u64| Strip::at_rest(columns.try_into().ok()?, height.try_into().ok()?);
    Ok(move |rank| {
        let columns = common.share(width.into(), rank);
        let cells = columns.saturating_mul(height.into());
        Ok(Kernel {
            supersteps,
            flow,
            work: Instructions(work.0.saturating_mul(cells)),
            strip: strip(columns).ok_or(Error::TooManyCells { width, height })?,
        })
    })
}

impl Kernel {
    /// What is to the west and to the east, with what came from there.
    fn sides(&self, ctx: &mut Superstep<'_, Halo>, neighbours: [Option<Rank>; 2]) -> [Side; 2] {
        let mut arrived = [None, None];
        for (_, halo) in ctx.receive() {
            let [west, east] = &mut arrived;
            match halo.heading {
                Heading::East => *west = Some(halo.crossing),
                Heading::West => *east = Some(halo.crossing),
            }
        }
        // No messages precede the first superstep, when all fluid is at rest.
        if ctx.index() == 0 {
            arrived = [(); 2].map(|()| Some(self.strip.leaving_at_rest()));
        }
        let [west, east] = arrived;
        let side = |neighbour: Option<Rank>, crossing: Option<_>| match neighbour {
            None => Side::Wall,
            Some(_) => Side::Open(crossing.expect("neighbours send in every superstep")),
        };
        [side(neighbours[0], west), side(neighbours[1], east)]
    }
}

impl Program for Kernel {
    type Message = Halo;
    type Output = Fields;

    fn superstep(&mut self, ctx: &mut Superstep<'_, Halo>) -> Result<Step<Fields>, BoxError> {
        let neighbours = self.flow.neighbours(ctx);
        let sides = self.sides(ctx, neighbours);
        let (fluid, lid) = (&self.flow.fluid, self.flow.lid);
        let is_stable = self.strip.advance(fluid, lid, &sides);
        ctx.charge(self.work);
        if !is_stable {
            return Err(UNSTABLE.into());
        }
        if ctx.index() + 1 == self.supersteps {
            return Ok(Step::Halt(Fields::of(&self.strip, &self.flow.fluid)));
        }
        let leaving = self.strip.leaving();
        let headings = [Heading::West, Heading::East];
        for ((neighbour, heading), crossing) in neighbours.into_iter().zip(headings).zip(leaving) {
            if let Some(neighbour) = neighbour {
                ctx.send(neighbour, Halo { heading, crossing });
            }
        }
        Ok(Step::Continue)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    bsp::fork_by_clone!();
}

/// Why a process fails whose part of the flow has no bounds any more.
const UNSTABLE: &str = "the flow became unstable: a lower `velocity` may do, or another relaxation time, which follows from \
    `reynolds`, `velocity` and `height` unless it is given: neither near 0.5 nor far above 1";

/// With fewer rows, all cells touch a wall.
const HEIGHT_MIN: u32 = 3;

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

/// The parameters of the flow that every process needs.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flow {
    case: Case,
    fluid: Fluid,
    /// Velocity of the ceiling.
    lid: f64,
}

impl Flow {
    /// # Errors
    ///
    /// [`Error::OutOfRange`].
    fn new(parameters: &Parameters) -> Result<Self, Error> {
        let Parameters { case, velocity, .. } = *parameters;
        let height = f64::from(parameters.height);
        let velocity = within(
            ("velocity", velocity),
            f64::MIN_POSITIVE,
            VELOCITY_MAX,
            "a number above 0 and up to 0.17, 0.3 times the speed of sound",
        )?;
        let tau = if let Some(tau) = parameters.relaxation_time {
            stable(("relaxation_time", tau), tau)?
        } else {
            let reynolds = parameters.reynolds;
            within(
                ("reynolds", reynolds),
                f64::MIN_POSITIVE,
                f64::MAX,
                "a number above 0",
            )?;
            stable(
                ("reynolds", reynolds),
                0.5 + 3.0 * velocity * height / reynolds,
            )?
        };
        let viscosity = (tau - 0.5) / 3.0;
        let (force, lid) = match case {
            Case::Cavity => (0.0, velocity),
            // The parabola between walls `height` apart has this force at its top.
            Case::Poiseuille => (8.0 * viscosity * velocity / (height * height), 0.0),
        };
        let fluid = Fluid::new(tau, force);
        Ok(Self { case, fluid, lid })
    }

    /// The processes to the west and to the east; `None` where there is a wall.
    fn neighbours<M>(self, ctx: &Superstep<'_, M>) -> [Option<Rank>; 2] {
        let last = Rank(ctx.size() - 1);
        match self.case {
            Case::Cavity => [ctx.left(), ctx.right()],
            Case::Poiseuille => [ctx.left().or(Some(last)), ctx.right().or(Some(Rank(0)))],
        }
    }
}

/// `tau`, which `key` with `value` leads to, if relaxation does not overshoot with it.
///
/// # Errors
///
/// [`Error::OutOfRange`].
fn stable((key, value): (&str, f64), tau: f64) -> Result<f64, Error> {
    if 0.5 < tau && tau.is_finite() {
        return Ok(tau);
    }
    let expected = "one that gives a finite relaxation time above 0.5, where the method is stable";
    Err(Error::OutOfRange {
        key: key.to_owned(),
        value,
        expected,
    })
}

/// A Mach number of 0.3, beyond which the fluid is compressed noticeably.
const VELOCITY_MAX: f64 = 0.17;

/// Density and velocity of adjacent columns of the lattice, after the last time step.
///
/// Lattice units: cells are one apart, a time step lasts one, fluid at rest has density one. Centres
/// of cells lie half a cell from the walls.
///
/// Invariant: whole columns, as many densities as velocities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fields {
    height: usize,
    /// Column after column, each from the floor up.
    densities: Array<f64>,
    velocities: Array<[f64; 2]>,
}

impl Fields {
    /// The whole lattice, out of the outputs of all processes in rank order.
    ///
    /// # Panics
    ///
    /// If the outputs are not of one computation: their heights differ.
    ///
    /// # Examples
    ///
    /// The flow in a channel, fastest in its middle:
    ///
    /// ```
    /// use bsp::reference;
    /// use workloads::Common;
    /// use workloads::lbm::kernel::{Case, Fields, Parameters, processes};
    ///
    /// let parameters = Parameters {
    ///     case: Case::Poiseuille,
    ///     width: 5,
    ///     height: 9,
    ///     reynolds: 10.0,
    ///     ..Parameters::default()
    /// };
    /// let common = Common { processes: 2, supersteps: Some(1000), seed: 0 };
    /// let strips = processes(&parameters, common)?;
    /// let run = reference::run(strips, reference::Limit::default()).expect("a stable flow");
    /// let flow = Fields::assemble(run.outputs);
    /// assert_eq!((flow.width(), flow.height()), (5, 9));
    /// let [fastest, _] = flow.velocity(2, 4);
    /// assert!((fastest - parameters.velocity).abs() < 0.02 * parameters.velocity);
    /// # Ok::<(), workloads::Error>(())
    /// ```
    #[must_use]
    pub fn assemble(strips: impl IntoIterator<Item = Self>) -> Self {
        let mut whole = Self {
            height: 0,
            densities: Array::default(),
            velocities: Array::default(),
        };
        for strip in strips {
            let height = strip.height;
            assert!(
                [0, height].contains(&whole.height),
                "a strip of height {height} does not fit beside one of height {}",
                whole.height
            );
            whole.height = height;
            whole.densities.extend(strip.densities);
            whole.velocities.extend(strip.velocities);
        }
        whole
    }

    /// Whether these are whole columns of `height` cells: not every value of this type that has been received is.
    #[must_use]
    pub fn is_strip_of(&self, height: usize) -> bool {
        self.height == height
            && self.densities.len() == self.velocities.len()
            && self.densities.len().checked_rem(height) == Some(0)
    }

    fn of(strip: &Strip, fluid: &Fluid) -> Self {
        let moments = strip.cells().iter().map(|cell| fluid.fields(*cell));
        let (densities, velocities) = moments
            .map(|moments| (moments.density, moments.velocity))
            .unzip();
        Self {
            height: strip.height(),
            densities,
            velocities,
        }
    }

    /// How many columns there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.densities.len().checked_div(self.height).unwrap_or(0)
    }

    /// How many cells a column has.
    #[must_use]
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Density of the cell in column `x` from the west, `y` cells above the lowest.
    ///
    /// # Panics
    ///
    /// If there is no such cell.
    #[must_use]
    pub fn density(&self, x: usize, y: usize) -> f64 {
        self.densities[self.cell(x, y)]
    }

    /// Velocity of the cell in column `x` from the west, `y` cells above the lowest, to the east and
    /// to the north.
    ///
    /// # Panics
    ///
    /// If there is no such cell.
    #[must_use]
    pub fn velocity(&self, x: usize, y: usize) -> [f64; 2] {
        self.velocities[self.cell(x, y)]
    }

    /// All densities together.
    #[must_use]
    pub fn mass(&self) -> f64 {
        self.densities.iter().sum()
    }

    /// The speed of the fastest cell.
    #[must_use]
    pub fn speed_max(&self) -> f64 {
        let speeds = self.velocities.iter().map(|[u, v]| (u * u + v * v).sqrt());
        speeds.fold(0.0, f64::max)
    }

    fn cell(&self, x: usize, y: usize) -> usize {
        assert!(
            x < self.width() && y < self.height,
            "there is no cell ({x}, {y}) in {} × {}",
            self.width(),
            self.height
        );
        x * self.height + y
    }
}

#[cfg(test)]
mod tests;
