//! The results.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;

use super::checks::{Check, checks};
use super::cluster::{CURVES, Constants, Curve, SIZES, power};
use super::trial::Trial;

/// Speedups with the rules of the paper and with ours, and the checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What the paper does not print: our calibration.
    pub(super) calibration: Constants,
    /// Orders of the matrices.
    pub(super) sizes: [u32; 8],
    pub(super) curves: Vec<CurveReport>,
    pub(super) checks: Vec<Check>,
}

/// A cluster.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CurveReport {
    /// Machines at the start, the master included, and those that join.
    pub(super) machines: &'static str,
    /// The sum of the normalised powers of all workers: the speedup cannot be higher.
    pub(super) power: f64,
    /// With `block-cyclic`, by size; hosts join while all wait.
    pub(super) block_cyclic: Vec<f64>,
    /// With `weighted`, by size; hosts are prepared beside the computation, if that pays.
    pub(super) weighted: Vec<f64>,
}

/// A row of the CSV table.
#[derive(Serialize)]
struct CsvRow<'a> {
    machines: &'a str,
    size: u32,
    rules: &'a str,
    speedup: f64,
}

impl Report {
    /// The report on runs with the rules of the paper and with ours, by curve and size, and on six machines with the best
    /// block, by size.
    pub(super) fn new(
        constants: &Constants,
        paper: &[Vec<Trial>],
        ours: &[Vec<Trial>],
        tuned: &[(u32, f64)],
    ) -> Self {
        let speedups = |row: &[Trial]| row.iter().map(|trial| trial.speedup).collect();
        let curve = |((curve, paper), ours): ((&Curve, &Vec<Trial>), &Vec<Trial>)| CurveReport {
            machines: curve.name,
            power: curve.workers().map(power).sum(),
            block_cyclic: speedups(paper),
            weighted: speedups(ours),
        };
        Self {
            calibration: *constants,
            sizes: SIZES,
            curves: CURVES.iter().zip(paper).zip(ours).map(curve).collect(),
            checks: checks(paper, ours, tuned),
        }
    }

    /// One row for each cluster, size and set of rules.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut csv = CsvTable::new(Self::SCHEMA, provenance);
        for curve in &self.curves {
            for (rules, speedups) in [
                ("block-cyclic", &curve.block_cyclic),
                ("weighted", &curve.weighted),
            ] {
                for (size, speedup) in self.sizes.iter().zip(speedups) {
                    csv.push(&CsvRow {
                        machines: curve.machines,
                        size: *size,
                        rules,
                        speedup: *speedup,
                    })?;
                }
            }
        }
        csv.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-santana/1";
}
