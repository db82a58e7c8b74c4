//! Conway's Game of Life on horizontal strips of a torus.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

/// One process: a strip of rows.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Life {
    pub(crate) generations: u64,
    pub(crate) work: Instructions,
    pub(crate) rows: Vec<Vec<bool>>,
    /// Generations from one snapshot to the next; 0: there are none.
    pub(crate) snapshots: u64,
}

/// A row on its way to a neighbour.
#[derive(Serialize, Deserialize)]
pub(crate) enum Beside {
    Above(Vec<bool>),
    Below(Vec<bool>),
}

impl Program for Life {
    type Message = Beside;
    type Output = Vec<Vec<bool>>;

    fn superstep(
        &mut self,
        ctx: &mut Superstep<'_, Beside>,
    ) -> Result<Step<Self::Output>, BoxError> {
        // Nothing has been sent before the first superstep: it only sends.
        if 0 < ctx.index() {
            let (mut above, mut below) = (Vec::new(), Vec::new());
            for (_, row) in ctx.receive() {
                match row {
                    Beside::Above(row) => above = row,
                    Beside::Below(row) => below = row,
                }
            }
            self.rows.insert(0, above);
            self.rows.push(below);
            self.rows = self.rows.windows(3).map(next_row).collect();
            ctx.charge(self.work);
        }
        if 0 < self.snapshots && ctx.index().is_multiple_of(self.snapshots) {
            ctx.snapshot("rows", &self.rows)?;
        }
        if ctx.index() == self.generations {
            return Ok(Step::Halt(std::mem::take(&mut self.rows)));
        }
        let up = ctx.left().unwrap_or_else(|| Rank(ctx.size() - 1));
        let down = ctx.right().unwrap_or(Rank(0));
        ctx.send(up, Beside::Below(self.rows[0].clone()));
        ctx.send(down, Beside::Above(self.rows[self.rows.len() - 1].clone()));
        Ok(Step::Continue)
    }

    fn remaining(&self, completed: u64) -> Option<u64> {
        Some((self.generations + 1).saturating_sub(completed))
    }

    fork_by_clone!();
}

/// The next generation of the middle one of three rows.
fn next_row(rows: &[Vec<bool>]) -> Vec<bool> {
    let width = rows[1].len();
    let lives = |x: usize| {
        let columns = [x + width - 1, x, x + 1].map(|column| column % width);
        let living = rows
            .iter()
            .flat_map(|row| columns.map(|column| row[column]));
        match living.filter(|is_alive| *is_alive).count() {
            3 => true,
            4 => rows[1][x],
            _ => false,
        }
    };
    (0..width).map(lives).collect()
}
