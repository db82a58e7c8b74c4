//! The results of the table.

use experiments::{CsvTable, Failure, Provenance, Published, Registry, load_embedded};
use serde::{Deserialize, Serialize};
use settings::{Unit, decode};

use super::checks::{Check, checks};
use super::condition::{self, Condition};
use super::figures::Cell;
use super::paper::{ROWS, Row};
use super::strategy::Strategy;
use super::table::{Table, TableRow};
use super::trial::Completions;
use analysis::compare::Seeds;

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

impl Parameters {
    /// Those of the experiment of a row; all rows have the same.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be read.
    pub(super) fn of(row: &Row, registry: &Registry) -> Result<Self, Failure> {
        let load = load_embedded(&row.experiment, &[], registry)?
            .experiment
            .load;
        Ok(decode(&load.effective(), "load", |_| Unit::None)?)
    }
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
    pub(super) fn new(
        seeds: &Seeds,
        parameters: Parameters,
        trials: &[(Condition, [Completions; 7])],
    ) -> Self {
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
            parameters,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_have_the_same_owners() {
        let registry = Registry::shipped().with_plans(lab_rules::PLANS);
        let parameters = |row| Parameters::of(row, &registry).unwrap();
        let first = parameters(&ROWS[0]);
        assert!(0.0 < first.lifetime && 1.0 < first.longest, "{first:?}");
        assert!(ROWS.iter().all(|row| parameters(row) == first));
    }
}
