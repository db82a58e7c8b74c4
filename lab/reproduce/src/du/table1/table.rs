//! All strategies under one condition.

use serde::Serialize;

use super::condition::Condition;
use super::figures::Cell;
use super::strategy::Strategy;
use bsp::numbers::{length, real};

/// All rows under one condition.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Table {
    #[serde(flatten)]
    pub(super) condition: Condition,
    pub(super) rows: Vec<TableRow>,
}

/// All strategies on one row.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TableRow {
    pub(super) name: &'static str,
    pub(super) work_seconds: f64,
    pub(super) state_megabytes: f64,
    pub(super) cells: Vec<Cell>,
}

impl Table {
    /// The mean over rows of a figure of a strategy.
    pub(super) fn mean(&self, strategy: Strategy, figure: impl Fn(&Cell) -> f64) -> f64 {
        let sum: f64 = self.rows.iter().map(|row| figure(row.cell(strategy))).sum();
        sum / real(length(self.rows.len()))
    }
}

impl TableRow {
    pub(super) fn cell(&self, strategy: Strategy) -> &Cell {
        &self.cells[strategy.index()]
    }
}
