//! Results of a verification.

use agents::replay::{Checked, Difference};
use serde::Serialize;

use experiments::{CsvTable, Failure, Provenance, Published};

/// Results of a verification, for `--format json`.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub(super) head: Head,
    /// Every call, and calls that the record lacks.
    pub(super) calls: Vec<Call>,
}

/// Which run.
#[derive(Debug, Serialize)]
pub(super) struct Head {
    pub(super) record: String,
    pub(super) scenario: String,
    /// The name of the policy, for the text.
    #[serde(skip)]
    pub(super) policy: String,
    pub(super) processes: usize,
    /// Whether the record has the whole run and its result.
    #[serde(rename = "complete")]
    pub(super) is_complete: bool,
    /// What it lacks otherwise, in sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shortfall: Option<String>,
    /// The number of checkpoints, each held to the interval between them.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) checkpoints: usize,
}

/// Result for one call.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    pub(super) superstep: u64,
    pub(super) processes: usize,
    pub(super) candidates: usize,
    pub(super) moves: usize,
    pub(super) differences: Vec<Difference>,
}

/// A row of `--format csv`.
#[derive(Debug, Serialize)]
struct Row<'a> {
    superstep: u64,
    processes: usize,
    candidates: usize,
    moves: usize,
    what: &'a str,
    recorded: &'a str,
    recomputed: &'a str,
}

impl Report {
    pub(super) fn new(head: Head) -> Self {
        Self {
            head,
            calls: Vec::new(),
        }
    }

    /// The first difference in the first call that differs.
    pub fn first(&self) -> Option<String> {
        let mut calls = self.calls.iter();
        let first = calls.find(|call| !call.differences.is_empty())?;
        let after = first.superstep;
        Some(format!("after superstep {after} {}", first.verdict()))
    }

    /// A row per difference, and one per call without any.
    ///
    /// # Errors
    ///
    /// Never: rows are plain data.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::with_header(Self::SCHEMA, provenance, HEADER)?;
        for row in self.calls.iter().flat_map(Call::rows) {
            table.push(row)?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.verify/1";
}

impl Call {
    /// `verified`, or the difference.
    pub(super) fn verdict(&self) -> String {
        let Some(first) = self.differences.first() else {
            return "verified".to_owned();
        };
        let Difference {
            what,
            recorded,
            recomputed,
        } = first;
        let more = match self.differences.len() - 1 {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        format!("differs: {what}: recorded {recorded}, recomputed {recomputed}{more}")
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let row = |what, recorded, recomputed| Row {
            superstep: self.superstep,
            processes: self.processes,
            candidates: self.candidates,
            moves: self.moves,
            what,
            recorded,
            recomputed,
        };
        if self.differences.is_empty() {
            return vec![row("", "", "")];
        }
        let differences = self.differences.iter();
        differences
            .map(|differs| row(&differs.what, &differs.recorded, &differs.recomputed))
            .collect()
    }
}

impl From<Checked> for Call {
    fn from(checked: Checked) -> Self {
        Self {
            superstep: checked.superstep,
            processes: checked.processes,
            candidates: checked.candidates,
            moves: checked.moves,
            differences: checked.differences,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

const HEADER: [&str; 7] = [
    "superstep",
    "processes",
    "candidates",
    "moves",
    "what",
    "recorded",
    "recomputed",
];
