//! A picture of the Mandelbrot set: a task for each row.

use migbsp::bsp::farm::{Tasks, Work};
use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

/// What all workers have.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Picture {
    pub(crate) size: u32,
    pub(crate) steps_max: u32,
    pub(crate) instructions_per_step: u64,
}

/// The tasks: rows of the picture, counted from the top.
pub(crate) struct Rows;

impl Tasks for Rows {
    type Shared = Picture;
    type Task = u32;
    type Outcome = Vec<u32>;

    fn execute(picture: &Picture, row: &u32, work: &mut Work) -> Result<Vec<u32>, BoxError> {
        let steps: Vec<u32> = (0..picture.size).map(|x| picture.steps(x, *row)).collect();
        let all: u64 = steps.iter().map(|steps| u64::from(*steps)).sum();
        work.charge(Instructions(all * picture.instructions_per_step));
        Ok(steps)
    }
}

impl Picture {
    /// The steps of a pixel until z = z² + c leaves the circle of radius 2, `steps_max` at most.
    pub(crate) fn steps(&self, x: u32, y: u32) -> u32 {
        let part = |pixel: u32| (f64::from(pixel) + 0.5) / f64::from(self.size);
        let (real, imaginary) = (3.0 * part(x) - 2.2, 3.0 * part(y) - 1.5);
        let (mut a, mut b) = (0.0, 0.0);
        (0..self.steps_max)
            .find(|_| {
                (a, b) = (a * a - b * b + real, 2.0 * a * b + imaginary);
                4.0 < a * a + b * b
            })
            .unwrap_or(self.steps_max)
    }
}
