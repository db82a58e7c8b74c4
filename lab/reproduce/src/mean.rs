//! Mean absolute relative errors.

use serde::Serialize;

use crate::cell::Table;
use crate::cell_report::CellReport;
use crate::run::Variant;

/// The mean absolute relative error of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// The cells: `table1` and so on, `tables1-5`, `tables1-5-below-2000` (without their last
    /// row), `all` (makespans alone: without Table 6).
    pub over: String,
    /// The scenario.
    pub scenario: &'static str,
    /// Number of cells.
    pub cells: usize,
    /// The mean.
    pub error: f64,
    /// Number of cells that contradict no other cells of the papers.
    pub unflagged_cells: usize,
    /// The mean over those; none: there are none.
    pub unflagged_error: Option<f64>,
}

/// All means of `cells`: of every table, and of all tables if they are there.
pub(super) fn means(cells: &[CellReport]) -> Vec<Mean> {
    let has = |table: Table| cells.iter().any(|cell| cell.table == table.name());
    let mut means = Vec::new();
    for table in Table::ALL {
        let own = |cell: &CellReport| cell.table == table.name();
        of_scenarios(&mut means, table.name(), cells, own);
    }
    if LATTICE_BOLTZMANN.into_iter().all(has) {
        let own = |cell: &CellReport| is_among(cell, &LATTICE_BOLTZMANN);
        of_scenarios(&mut means, "tables1-5", cells, own);
        let below = |cell: &CellReport| own(cell) && cell.row < LAST_ROW;
        of_scenarios(&mut means, "tables1-5-below-2000", cells, below);
    }
    let makespans: Vec<Table> = Table::ALL
        .into_iter()
        .filter(|table| table.is_makespans())
        .collect();
    if makespans.iter().copied().all(has) {
        of_scenarios(&mut means, "all", cells, |cell| is_among(cell, &makespans));
    }
    means
}

fn is_among(cell: &CellReport, tables: &[Table]) -> bool {
    tables.iter().any(|table| table.name() == cell.table)
}

/// The means of all scenarios among the wanted cells.
fn of_scenarios(
    means: &mut Vec<Mean>,
    over: &str,
    cells: &[CellReport],
    is_wanted: impl Fn(&CellReport) -> bool,
) {
    for variant in Variant::ALL {
        let scenario = variant.name();
        let wanted = || {
            cells
                .iter()
                .filter(|cell| cell.scenario == scenario && is_wanted(cell))
        };
        let Some((cells, error)) = mean(wanted()) else {
            continue;
        };
        let unflagged = mean(wanted().filter(|cell| !cell.flagged));
        means.push(Mean {
            over: over.to_owned(),
            scenario,
            cells,
            error,
            unflagged_cells: unflagged.map_or(0, |(cells, _)| cells),
            unflagged_error: unflagged.map(|(_, error)| error),
        });
    }
}

/// Number of cells, and their mean error.
fn mean<'a>(cells: impl Iterator<Item = &'a CellReport>) -> Option<(usize, f64)> {
    let errors: Vec<f64> = cells.map(|cell| cell.error.abs()).collect();
    let count = u32::try_from(errors.len())
        .ok()
        .filter(|count| 0 < *count)?;
    Some((errors.len(), errors.iter().sum::<f64>() / f64::from(count)))
}

const LATTICE_BOLTZMANN: [Table; 5] = [
    Table::Table1,
    Table::Table2,
    Table::Table3,
    Table::Table4,
    Table::Table5,
];

/// Supersteps of the last row of these tables.
const LAST_ROW: u64 = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(table: Table, row: u64, error: f64, flagged: bool) -> CellReport {
        CellReport {
            table: table.name(),
            row,
            processes: 25,
            alpha: None,
            scenario: "i",
            paper: 1.0,
            ours: 1.0 + error,
            error,
            flagged,
            migrations: 0,
        }
    }

    #[test]
    fn means_are_taken_with_and_without_contradictory_cells() {
        let cells = [
            cell(Table::Table2, 10, -0.25, false),
            cell(Table::Table2, 2000, 0.5, true),
        ];
        let expected = Mean {
            over: "table2".to_owned(),
            scenario: "i",
            cells: 2,
            error: 0.375,
            unflagged_cells: 1,
            unflagged_error: Some(0.25),
        };
        assert_eq!(means(&cells), [expected]);
    }

    #[test]
    fn the_mean_over_all_is_that_of_makespans() {
        let cells = Table::ALL.map(|table| {
            let error = if table.is_makespans() { 0.125 } else { 8.0 };
            cell(table, 2000, error, false)
        });
        let means = means(&cells);
        let all = means.last().unwrap();
        assert_eq!((all.over.as_str(), all.cells), ("all", 8));
        assert_eq!(all.unflagged_error, Some(0.125));
        let names: Vec<&str> = means.iter().map(|mean| mean.over.as_str()).collect();
        assert!(names.contains(&"tables1-5"), "{names:?}");
        // All cells are in the last row.
        assert!(!names.contains(&"tables1-5-below-2000"), "{names:?}");
    }
}
