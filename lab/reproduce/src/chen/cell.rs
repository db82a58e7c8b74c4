//! Published numbers beside ours, and claims about them.

use experiments::{CsvTable, Failure, Provenance, Published};
use rebalancing_algorithms::Group;
use serde::Serialize;

/// Results of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `table2`, `table3`, `table4`, `figures`.
    pub(super) part: &'static str,
    /// Number of instances in a mean.
    pub(super) instances: u32,
    /// In the paper's order.
    pub(super) cells: Vec<Cell>,
    /// The paper's claims.
    pub(super) claims: Vec<Claim>,
}

/// A number, with the published one if there is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Cell {
    /// The number of the figure, if it is one.
    pub(super) figure: Option<u8>,
    /// `I3,5`.
    pub(super) group: String,
    /// The target level.
    pub(super) target: Option<f64>,
    /// The algorithm.
    pub(super) algorithm: Option<String>,
    /// The quantity.
    pub(super) quantity: Quantity,
    /// The published value.
    pub(super) paper: Option<f64>,
    /// Our value; none: the mean of no values.
    pub(super) ours: Option<f64>,
    /// `ours / paper - 1`.
    pub(super) error: Option<f64>,
}

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    /// The highest initial level.
    DcInitial,
    /// The part of the instances, in percent, for which the target is met.
    Success,
    /// Cost of the migrations, in seconds.
    Cost,
    /// Lower bound of the cost, in seconds.
    LowerBound,
    /// Number of migrations.
    Migrations,
    /// Search time, in seconds.
    SecondsTotal,
    /// Time until the best assignment was found, in seconds.
    SecondsToBest,
}

/// A claim of the paper, and the number of cases in which it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Claim {
    /// The text of the claim.
    pub(super) claim: String,
    /// Number of cases in which it holds here.
    pub(super) holds: usize,
    /// Number of cases.
    pub(super) of: usize,
}

impl Cell {
    /// A number of `group`, without a published value.
    pub(super) fn new(group: Group, quantity: Quantity, ours: Option<f64>) -> Self {
        Self {
            figure: None,
            group: group.to_string(),
            target: None,
            algorithm: None,
            quantity,
            paper: None,
            ours,
            error: None,
        }
    }

    /// For `algorithm` and `target`.
    pub(super) fn of(mut self, algorithm: &impl ToString, target: f64) -> Self {
        self.algorithm = Some(algorithm.to_string());
        self.target = Some(target);
        self
    }

    /// Of figure `number`.
    pub(super) const fn in_figure(mut self, number: u8) -> Self {
        self.figure = Some(number);
        self
    }

    /// With the published value, if there is one.
    pub(super) fn beside(mut self, paper: Option<f64>) -> Self {
        self.paper = paper;
        let pair = paper.filter(|paper| *paper != 0.0).zip(self.ours);
        self.error = pair.map(|(paper, ours)| ours / paper - 1.0);
        self
    }
}

impl Claim {
    /// A claim that holds in those of `cases` that are true.
    pub(super) fn new(claim: impl Into<String>, cases: impl IntoIterator<Item = bool>) -> Self {
        let cases: Vec<bool> = cases.into_iter().collect();
        Self {
            claim: claim.into(),
            holds: cases.iter().filter(|holds| **holds).count(),
            of: cases.len(),
        }
    }
}

impl Report {
    /// One row per number.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for cell in &self.cells {
            table.push(cell)?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-chen2008/1";
}
