//! The method of conjugate gradients for −Δu = f on a square grid, divided into strips of rows.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

/// One process: a strip of rows of the grid, without the points of the boundary, where u is zero.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Solver {
    /// The points of a row.
    width: usize,
    /// The work of one product with the matrix, and of what belongs to it.
    work: Instructions,
    /// The residual is to become smaller by this factor.
    tolerance: f64,
    /// The solution so far.
    solution: Array<f64>,
    /// What it leaves of the right-hand side.
    residual: Array<f64>,
    /// The direction of the search, with a row of each neighbour at both ends.
    direction: Array<f64>,
    /// The product of the matrix with the direction.
    product: Array<f64>,
    /// The square of the residual of all strips, now and at the start.
    square: f64,
    first_square: f64,
}

impl Solver {
    /// The strip with this right-hand side, in rows of `width` points.
    pub(crate) fn new(width: usize, right: Vec<f64>, tolerance: f64, work: Instructions) -> Self {
        let count = right.len();
        Self {
            width,
            work,
            tolerance,
            solution: vec![0.0; count].into(),
            residual: right.into(),
            direction: vec![0.0; count + 2 * width].into(),
            product: vec![0.0; count].into(),
            square: f64::INFINITY,
            first_square: f64::INFINITY,
        }
    }

    /// The direction becomes the residual, with `share` of what it was, also in the rows of the neighbours.
    fn turn(&mut self, share: f64, above: &[f64], below: &[f64]) {
        let residual = above.iter().chain(&*self.residual).chain(below);
        for (direction, residual) in self.direction.iter_mut().zip(residual) {
            *direction = residual + share * *direction;
        }
    }

    /// Multiplies the direction by the matrix: four times each point, less its four neighbours.
    fn multiply(&mut self) {
        let width = self.width;
        let rows = self.product.chunks_exact_mut(width);
        for (product, rows) in rows.zip(self.direction.windows(3 * width).step_by(width)) {
            let (above, row, below) = (&rows[..width], &rows[width..2 * width], &rows[2 * width..]);
            for column in 0..width {
                let west = if 0 < column { row[column - 1] } else { 0.0 };
                let east = if column + 1 < width {
                    row[column + 1]
                } else {
                    0.0
                };
                let beside = above[column] + below[column] + west + east;
                product[column] = 4.0 * row[column] - beside;
            }
        }
    }

    /// Goes so far in the direction that the residual has no part of it any more.
    fn step(&mut self, length: f64) {
        let direction = &self.direction[self.width..];
        for (solution, direction) in self.solution.iter_mut().zip(direction) {
            *solution += length * direction;
        }
        for (residual, product) in self.residual.iter_mut().zip(&self.product) {
            *residual -= length * product;
        }
    }

    /// Sends the outermost rows of the residual to the neighbours, and contributes to its square.
    fn share(&self, ctx: &mut Superstep<'_, Array<f64>>) {
        let first = &self.residual[..self.width];
        let last = &self.residual[self.residual.len() - self.width..];
        if let Some(above) = ctx.left() {
            ctx.send(above, first.into());
        }
        if let Some(below) = ctx.right() {
            ctx.send(below, last.into());
        }
        ctx.reduce("square", Sum(dot(&self.residual, &self.residual)));
    }
}

impl Program for Solver {
    type Message = Array<f64>;
    type Output = Array<f64>;

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, Array<f64>>,
    ) -> Result<Step<Array<f64>>, BoxError> {
        ctx.charge(self.work);
        if ctx.index() == 0 {
            self.share(ctx);
        } else if ctx.index() % 2 == 1 {
            let square = ctx.reduced::<Sum<f64>>("square")?;
            if ctx.index() == 1 {
                self.first_square = square;
            }
            if ctx.rank() == Rank(0) {
                ctx.note("residual", square.sqrt());
            }
            if square <= self.tolerance * self.tolerance * self.first_square {
                return Ok(Step::Halt(std::mem::take(&mut self.solution)));
            }
            let none = Array::from(vec![0.0; self.width]);
            let (mut above, mut below) = (none.clone(), none);
            for (from, row) in ctx.receive() {
                if from < ctx.rank() {
                    above = row;
                } else {
                    below = row;
                }
            }
            self.turn(square / self.square, &above, &below);
            self.square = square;
            self.multiply();
            let own = &self.direction[self.width..self.direction.len() - self.width];
            ctx.reduce("curvature", Sum(dot(own, &self.product)));
        } else {
            let curvature = ctx.reduced::<Sum<f64>>("curvature")?;
            if curvature <= 0.0 {
                return Err("the matrix is not positive definite".into());
            }
            self.step(self.square / curvature);
            self.share(ctx);
        }
        Ok(Step::Continue)
    }

    fork_by_clone!();
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
