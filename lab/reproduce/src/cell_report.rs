//! A cell of the papers beside ours.

use serde::Serialize;

use crate::cell::Cell;
use crate::execute::Outcome;
use crate::run::Run;

/// A cell of the papers beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// `table1` to `table9`, `fig16`.
    pub table: &'static str,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// How many processes.
    pub processes: u32,
    /// α; scenario i has none.
    pub alpha: Option<u32>,
    /// `i`, `ii`, `iii`, `iii-forced`, `iii-receive-time`.
    pub scenario: &'static str,
    /// What the papers print, in seconds.
    pub paper: f64,
    /// What our run says, in seconds.
    pub ours: f64,
    /// `ours / paper - 1`.
    pub error: f64,
    /// Whether the papers' number contradicts other ones of theirs.
    pub flagged: bool,
    /// How many processes moved in our run.
    pub migrations: usize,
}

impl CellReport {
    /// `cell` beside the `outcome` of `run`.
    pub(super) fn new(cell: &Cell, run: &Run, outcome: &Outcome) -> Self {
        let ours = if cell.table.is_makespans() {
            outcome.report.seconds
        } else {
            outcome.waiting
        };
        Self {
            table: cell.table.name(),
            row: cell.row,
            processes: cell.processes,
            alpha: cell.interval,
            scenario: run.variant.name(),
            paper: cell.seconds,
            ours,
            error: ours / cell.seconds - 1.0,
            flagged: cell.is_contradictory(),
            migrations: outcome.report.migrations(),
        }
    }
}
