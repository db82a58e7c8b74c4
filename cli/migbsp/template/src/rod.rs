//! Heat that spreads along a rod, which is divided into pieces.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

/// One process: a piece of the rod. The fields are its whole state, which moves with it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// The temperatures of its points.
    pub(crate) temperatures: Array<f64>,
    /// The program ends when no temperature has changed by more than this.
    pub(crate) tolerance: f64,
    /// What a superstep is charged for in simulations.
    pub(crate) work: Instructions,
}

impl Program for Piece {
    /// The temperature of a point at the end of a piece.
    type Message = f64;
    /// The temperatures of a piece at the end.
    type Output = Array<f64>;

    fn superstep(&mut self, ctx: &mut Superstep<'_, f64>) -> Result<Step<Array<f64>>, BoxError> {
        let mut change = f64::INFINITY;
        if 0 < ctx.index() {
            // The same for all processes, so all of them end in the same superstep.
            if ctx.reduced::<Max<f64>>("change")? <= self.tolerance {
                return Ok(Step::Halt(std::mem::take(&mut self.temperatures)));
            }
            // No heat leaves the rod: beyond its ends it is as warm as there.
            let [mut left, mut right] = self.ends();
            for (from, temperature) in ctx.receive() {
                if from < ctx.rank() {
                    left = temperature;
                } else {
                    right = temperature;
                }
            }
            change = self.spread(left, right);
            ctx.charge(self.work);
        }
        // To the neighbours, and into what all processes know in the next superstep.
        let [first, last] = self.ends();
        if let Some(left) = ctx.left() {
            ctx.send(left, first);
        }
        if let Some(right) = ctx.right() {
            ctx.send(right, last);
        }
        ctx.reduce("change", Max(change));
        ctx.note("heat", self.temperatures.iter().sum::<f64>());
        Ok(Step::Continue)
    }

    fork_by_clone!();
}

impl Piece {
    /// The temperatures of the first and the last point.
    fn ends(&self) -> [f64; 2] {
        [
            self.temperatures[0],
            self.temperatures[self.temperatures.len() - 1],
        ]
    }

    /// Moves a quarter of each difference to the cooler neighbour, and returns the greatest change.
    fn spread(&mut self, left: f64, right: f64) -> f64 {
        let around: Vec<f64> = [left]
            .into_iter()
            .chain(self.temperatures.iter().copied())
            .chain([right])
            .collect();
        let mut greatest: f64 = 0.0;
        for (temperature, three) in self.temperatures.iter_mut().zip(around.windows(3)) {
            let change = 0.25 * (three[0] - 2.0 * three[1] + three[2]);
            *temperature += change;
            greatest = greatest.max(change.abs());
        }
        greatest
    }
}
