//! Numbers of the paper beside ours, and what it says about them.

use migbsp::rebalance::Group;
use serde::Serialize;

/// All that was compared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// `migbsp.reproduce-chen2008/1`.
    pub(super) schema: &'static str,
    /// `table2`, `table3`, `table4`, `figures`.
    pub(super) part: &'static str,
    /// How many instances means are taken over.
    pub(super) instances: u32,
    /// In the paper's order.
    pub(super) cells: Vec<Cell>,
    /// What the paper says about them.
    pub(super) claims: Vec<Claim>,
}

/// A number, and the paper's if it prints one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// The number of the figure, if it is one.
    pub(super) figure: Option<u8>,
    /// `I3,5`.
    pub(super) group: String,
    /// The level that was to be met.
    pub(super) target: Option<f64>,
    /// Who looked.
    pub(super) algorithm: Option<String>,
    /// What it is.
    pub(super) quantity: Quantity,
    /// What the paper prints.
    pub(super) paper: Option<f64>,
    /// What ours is; none: there is nothing that it could be the mean of.
    pub(super) ours: Option<f64>,
    /// `ours / paper - 1`.
    pub(super) error: Option<f64>,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    /// The highest level before anybody moves.
    DcInitial,
    /// The part of the instances, in percent, for which the target is met.
    Success,
    /// What moving costs, in seconds.
    Cost,
    /// What no assignment costs less than, in seconds.
    LowerBound,
    /// How many processes move.
    Migrations,
    /// How long was looked, in seconds.
    SecondsTotal,
    /// How long until the best was seen, in seconds.
    SecondsToBest,
}

/// Something that the paper says, and in how many cases it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Claim {
    /// What the paper says.
    pub(super) claim: String,
    /// In how many cases it holds here.
    pub(super) holds: usize,
    /// Of how many.
    pub(super) of: usize,
}

impl Cell {
    /// A number of `group` that is compared with nothing yet.
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

    /// Beside what the paper prints, if it does.
    pub(super) fn beside(mut self, paper: Option<f64>) -> Self {
        self.paper = paper;
        let pair = paper.filter(|paper| *paper != 0.0).zip(self.ours);
        self.error = pair.map(|(paper, ours)| ours / paper - 1.0);
        self
    }
}

impl Claim {
    /// What holds in those of `cases` that are true.
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
    pub(crate) fn csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for cell in &self.cells {
            writer.serialize(cell)?;
        }
        let bytes = writer
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
