//! The results of a part.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;

use crate::du::check::Check;
use crate::du::line::Line;

/// Simulated moves beside the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `figure1`.
    pub(super) part: &'static str,
    /// The bandwidth between the hosts, as the agents know it, in bytes per second.
    pub(super) bandwidth: f64,
    /// By size of the state.
    pub(super) points: Vec<Point>,
    /// The line through the points: seconds by megabytes of 10⁶ bytes.
    pub(super) line: Line,
    /// Claims and whether they hold.
    pub(super) checks: Vec<Check>,
}

/// The move of a process whose state has a given size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Point {
    /// Size of the state that the program declares.
    pub(super) state_bytes: u64,
    /// Size of the image that was sent: the state and that of the process's agent.
    pub(super) image_bytes: u64,
    /// How long the move took.
    pub(super) seconds: f64,
    /// By how much the run ends later than the same run without the move: `C` by definition 3-2.
    pub(super) later_seconds: f64,
    /// The scheduler's prediction, `Mem`, from the paper's `α0` and `μ`.
    pub(super) predicted_seconds: f64,
    /// `seconds / predicted_seconds - 1`.
    pub(super) predicted_error: f64,
    /// The published cost.
    pub(super) paper_seconds: Option<f64>,
    /// `seconds / paper_seconds - 1`.
    pub(super) paper_error: Option<f64>,
}

impl Point {
    /// Megabytes of the state.
    pub(super) fn megabytes(&self) -> f64 {
        bsp::units::Bytes(self.state_bytes).as_f64() / 1e6
    }
}

impl Report {
    /// One row per size.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for point in &self.points {
            table.push(point)?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-du2007/1";
}
