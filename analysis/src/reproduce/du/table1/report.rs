//! The results of the table.

use experiments::{CsvTable, Failure, Provenance, Published};
use serde::Serialize;

use super::checks::{Check, checks};
use super::condition::{self, Condition};
use super::figures::Cell;
use super::paper::ROWS;
use super::strategy::Strategy;
use super::table::{Table, TableRow};
use super::trial::Completions;
use crate::compare::Seeds;

/// Choices of a host beside the paper's.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// `table1`.
    part: &'static str,
    /// How many seeds there are.
    pub(super) seeds: usize,
    pub(super) parameters: Parameters,
    /// By discipline and network.
    pub(super) tables: Vec<Table>,
    /// Claims and whether they hold.
    pub(super) checks: Vec<Check>,
}

/// Parameters that the paper does not state; those of the experiments are in their files.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Parameters {
    /// The range in which the utilisation of each host by its owner is drawn.
    pub(super) utilisation: [f64; 2],
    /// Seconds of the shortest job.
    pub(super) lifetime: f64,
    /// The longest job as a multiple of that.
    pub(super) longest: f64,
    /// The range in which a factor of the lifetimes of each host is drawn.
    pub(super) spread: [f64; 2],
}

/// A row of the CSV table.
#[derive(Serialize)]
struct CsvRow<'a> {
    network: &'a str,
    discipline: &'a str,
    row: &'a str,
    strategy: &'a str,
    seconds: f64,
    margin: Option<f64>,
    to_dsa: f64,
    to_dsa_low: Option<f64>,
    to_dsa_high: Option<f64>,
    to_best: f64,
    within_5: f64,
    within_20: f64,
    within_50: f64,
    above_50: f64,
    paper_seconds: Option<f64>,
}

impl Report {
    /// The report on `trials`, each with its condition: completions by row.
    pub(super) fn new(seeds: &Seeds, trials: &[(Condition, [Completions; 7])]) -> Self {
        let table = |condition| {
            let trials = trials.iter().filter(|(found, _)| *found == condition);
            let trials: Vec<&[Completions; 7]> = trials.map(|(_, trial)| trial).collect();
            let rows = ROWS.iter().enumerate().map(|(number, row)| {
                let trials: Vec<Completions> = trials.iter().map(|trial| trial[number]).collect();
                let cell = |strategy: Strategy| {
                    let printed = row.printed.get(strategy.index()).copied();
                    Cell::new(strategy, &trials, printed)
                };
                TableRow {
                    name: row.name,
                    work_seconds: row.work,
                    state_megabytes: row.state,
                    cells: Strategy::ALL.map(cell).to_vec(),
                }
            });
            Table {
                condition,
                rows: rows.collect(),
            }
        };
        let tables: Vec<Table> = condition::all().map(table).collect();
        Self {
            part: "table1",
            seeds: seeds.all().len(),
            parameters: Parameters {
                utilisation: [0.0, 0.6],
                lifetime: 2.0,
                longest: 100.0,
                spread: [0.5, 1.5],
            },
            checks: tables.iter().flat_map(checks).collect(),
            tables,
        }
    }

    /// One row for each strategy, row of the table and condition.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut csv = CsvTable::new(Self::SCHEMA, provenance);
        for table in &self.tables {
            for row in &table.rows {
                for cell in &row.cells {
                    csv.push(&CsvRow {
                        network: table.condition.network.name(),
                        discipline: table.condition.discipline.name(),
                        row: row.name,
                        strategy: cell.strategy.name(),
                        seconds: cell.seconds.value,
                        margin: cell.seconds.margin,
                        to_dsa: cell.to_dsa,
                        to_dsa_low: cell.to_dsa_range.map(|range| range[0]),
                        to_dsa_high: cell.to_dsa_range.map(|range| range[1]),
                        to_best: cell.to_best,
                        within_5: cell.bands[0],
                        within_20: cell.bands[1],
                        within_50: cell.bands[2],
                        above_50: cell.bands[3],
                        paper_seconds: cell.paper,
                    })?;
                }
            }
        }
        csv.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-du2007-table1/1";
}
