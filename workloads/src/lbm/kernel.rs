//! The Lattice Boltzmann method itself, on the strips of the model: D2Q9, BGK collision.
//!
//! The lattice is cut into one strip of columns a process. A superstep is one time step: what crossed
//! between strips is received, populations move on to the next cell and relax there, and what leaves
//! a strip now is sent to the neighbour on that side. All supersteps are alike, except that nothing
//! is sent in the last one. Every cell is computed by the same operations in the same order wherever
//! it is, so the result is the same, bit by bit, for any number of processes.

mod fields;
mod flow;
mod lattice;
mod parameters;
mod strip;

use bsp::units::Instructions;
use bsp::{Program, Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

use self::flow::Flow;
use self::strip::{Crossing, Side, Strip};
use crate::parameters::{Common, Error, at_least, instructions};

pub use self::fields::Fields;
pub use self::parameters::{Case, Parameters};

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
    crossing: Vec<Crossing>,
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
    let strips = common.build(|rank| {
        let columns = common.share(width.into(), rank);
        let cells = columns.saturating_mul(height.into());
        Some(Kernel {
            supersteps,
            flow,
            work: Instructions(work.0.saturating_mul(cells)),
            strip: Strip::at_rest(columns.try_into().ok()?, height.try_into().ok()?)?,
        })
    })?;
    let strips: Option<Vec<Kernel>> = strips.into_iter().collect();
    strips.ok_or(Error::TooManyCells { width, height })
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

    fn superstep(&mut self, ctx: &mut Superstep<'_, Halo>) -> Step<Fields> {
        let neighbours = self.flow.neighbours(ctx);
        let sides = self.sides(ctx, neighbours);
        self.strip.advance(&self.flow.fluid, self.flow.lid, &sides);
        ctx.charge(self.work);
        if !self.strip.is_stable(&self.flow.fluid) {
            ctx.fail(
                "the flow became unstable: a lower `velocity` may do, or another relaxation time, which follows from \
                 `reynolds`, `velocity` and `height` unless it is given: neither near 0.5 nor far above 1",
            );
        }
        if ctx.index() + 1 == self.supersteps {
            return Step::Halt(Fields::of(&self.strip, &self.flow.fluid));
        }
        let leaving = self.strip.leaving();
        let headings = [Heading::West, Heading::East];
        for ((neighbour, heading), crossing) in neighbours.into_iter().zip(headings).zip(leaving) {
            if let Some(neighbour) = neighbour {
                ctx.send(neighbour, Halo { heading, crossing });
            }
        }
        Step::Continue
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some(self.supersteps.saturating_sub(completed))
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// With fewer rows, all cells touch a wall.
const HEIGHT_MIN: u32 = 3;

#[cfg(test)]
mod tests;
