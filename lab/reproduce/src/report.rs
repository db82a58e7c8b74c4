//! The papers' numbers and ours.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::agreement::{AgreementTotal, StatedReport};
use crate::application::Application;
use crate::cell::{Cell, Table};
use crate::cell_report::CellReport;
use crate::execute::Outcome;
use crate::gain::GainReport;
use crate::mean::{Mean, means};
use crate::run::{Run, Variant};
use experiments::{CsvTable, Failure, Provenance, Published};

/// Results of `migbsp reproduce`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Table after table, in the papers' order.
    pub cells: Vec<CellReport>,
    /// Mean absolute relative errors.
    pub means: Vec<Mean>,
    /// Published gains of rescheduling, and ours.
    pub gains: Vec<GainReport>,
    /// The published migrations.
    pub migrations: Vec<StatedReport>,
    /// Agreement of our runs with them.
    pub agreement: Vec<AgreementTotal>,
}

impl Report {
    /// The report of `cells`, each beside its runs.
    pub fn new(
        cells: &[(Cell, Vec<Run>)],
        outcomes: &BTreeMap<Run, Outcome>,
        migrations: Vec<StatedReport>,
        gains: Vec<GainReport>,
    ) -> Self {
        let cells: Vec<CellReport> = cells
            .iter()
            .flat_map(|(cell, runs)| {
                let report = |run| Some(CellReport::new(cell, run, outcomes.get(run)?));
                runs.iter().filter_map(report)
            })
            .collect();
        let totals = [Variant::Iii, Variant::ReceiveTime];
        Self {
            means: means(&cells),
            cells,
            gains,
            agreement: totals
                .into_iter()
                .filter_map(|variant| AgreementTotal::new(&migrations, variant))
                .collect(),
            migrations,
        }
    }

    /// The tables that have cells, with them.
    pub fn tables(&self) -> impl Iterator<Item = (Table, Vec<&CellReport>)> {
        Table::ALL.into_iter().filter_map(|table| {
            let cells: Vec<_> = self
                .cells
                .iter()
                .filter(|cell| cell.table == table.name())
                .collect();
            (!cells.is_empty()).then_some((table, cells))
        })
    }

    /// The cells as rows; if there are none, the published migrations.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for cell in &self.cells {
            table.push(cell)?;
        }
        if self.cells.is_empty() {
            for stated in &self.migrations {
                for ours in &stated.ours {
                    table.push(MigrationRow {
                        application: stated.application,
                        processes: stated.processes,
                        row: stated.row,
                        alpha: stated.alpha,
                        call: stated.call,
                        process: &stated.process,
                        count: stated.count,
                        destination: &stated.destination,
                        scenario: ours.scenario,
                        agree_set: ours.set,
                        agree_call: ours.call,
                        agree_host: ours.host,
                        ours: ours.moves.join(", "),
                    })?;
                }
            }
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce/1";
}

/// A row of the CSV of migrations: a statement and one run.
#[derive(Debug, Serialize)]
struct MigrationRow<'a> {
    application: Application,
    processes: u32,
    row: u64,
    alpha: u32,
    call: Option<u64>,
    process: &'a str,
    count: usize,
    destination: &'a str,
    scenario: &'a str,
    agree_set: usize,
    agree_call: usize,
    agree_host: Option<usize>,
    ours: String,
}
