//! Published tables, and their cells.

use serde::Deserialize;

use crate::application::Application;
use experiments::Scenario;

/// A table of the papers, or a figure that prints numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Table 1 of the papers.
    Table1,
    /// Table 2 of the papers.
    Table2,
    /// Table 3 of the papers.
    Table3,
    /// Table 4 of the papers.
    Table4,
    /// Table 5 of the papers.
    Table5,
    /// Table 6 of the papers.
    Table6,
    /// Table 7 of the papers.
    Table7,
    /// Table 9 of the papers.
    Table9,
    /// Figure 16 of the papers.
    Fig16,
}

/// A published number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Its table.
    pub table: Table,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// Number of processes.
    pub processes: u32,
    /// α, if rescheduling calls are held.
    pub interval: Option<u32>,
    /// Which scenario.
    pub scenario: Scenario,
    /// The number itself, in seconds.
    pub seconds: f64,
}

/// A line of a table's file.
#[derive(Debug, Deserialize)]
struct Line {
    supersteps_or_matrix: u64,
    processes: u32,
    alpha: Option<u32>,
    scenario: Scenario,
    seconds: f64,
}

impl Table {
    /// All of them, in the order of the papers.
    pub const ALL: [Self; 9] = [
        Self::Table1,
        Self::Table2,
        Self::Table3,
        Self::Table4,
        Self::Table5,
        Self::Table6,
        Self::Table7,
        Self::Table9,
        Self::Fig16,
    ];

    /// Its name on the command line and in result files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table1 => "table1",
            Self::Table2 => "table2",
            Self::Table3 => "table3",
            Self::Table4 => "table4",
            Self::Table5 => "table5",
            Self::Table6 => "table6",
            Self::Table7 => "table7",
            Self::Table9 => "table9",
            Self::Fig16 => "fig16",
        }
    }

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Table1 => "Table 1: Lattice Boltzmann on 10 processes",
            Self::Table2 => "Table 2: Lattice Boltzmann on 25 processes",
            Self::Table3 => "Table 3: Lattice Boltzmann on 50 processes",
            Self::Table4 => "Table 4: Lattice Boltzmann on 100 processes",
            Self::Table5 => "Table 5: Lattice Boltzmann on 200 processes",
            Self::Table6 => "Table 6: waiting time of p1 at the last barrier of Lattice Boltzmann",
            Self::Table7 => "Table 7: Smith-Waterman",
            Self::Table9 => "Table 9: LU decomposition",
            Self::Fig16 => "Fig. 16: LU decomposition of order 5000",
        }
    }

    /// The measured quantity.
    pub const fn application(self) -> Application {
        match self {
            Self::Table7 => Application::SmithWaterman,
            Self::Table9 | Self::Fig16 => Application::Lu,
            Self::Table1
            | Self::Table2
            | Self::Table3
            | Self::Table4
            | Self::Table5
            | Self::Table6 => Application::LatticeBoltzmann,
        }
    }

    /// Whether its cells are makespans, which enter the means over all tables.
    pub const fn is_makespans(self) -> bool {
        !matches!(self, Self::Table6)
    }

    /// Its cells, as printed.
    ///
    /// # Panics
    ///
    /// If the table in this binary cannot be read, which a test excludes.
    pub fn cells(self) -> Vec<Cell> {
        let mut reader = csv::Reader::from_reader(self.csv().as_bytes());
        let lines = reader.deserialize();
        lines
            .map(|line| {
                let line: Line = line.expect("the tables in the binary are right");
                Cell {
                    table: self,
                    row: line.supersteps_or_matrix,
                    processes: line.processes,
                    // A few tables print the interval beside scenario i, which has none.
                    interval: line.alpha.filter(|_| line.scenario != Scenario::I),
                    scenario: line.scenario,
                    seconds: line.seconds,
                }
            })
            .collect()
    }

    const fn csv(self) -> &'static str {
        match self {
            Self::Table1 => include_str!("../data/tables/table1.csv"),
            Self::Table2 => include_str!("../data/tables/table2.csv"),
            Self::Table3 => include_str!("../data/tables/table3.csv"),
            Self::Table4 => include_str!("../data/tables/table4.csv"),
            Self::Table5 => include_str!("../data/tables/table5.csv"),
            Self::Table6 => include_str!("../data/tables/table6.csv"),
            Self::Table7 => include_str!("../data/tables/table7.csv"),
            Self::Table9 => include_str!("../data/tables/table9.csv"),
            Self::Fig16 => include_str!("../data/tables/fig16.csv"),
        }
    }
}

impl Cell {
    /// Whether it contradicts other cells of the papers.
    ///
    /// Such a cell is shown and counts in the means; there are also means without such cells.
    pub fn is_contradictory(&self) -> bool {
        let (row, interval) = (self.row, self.interval);
        match (self.table, self.scenario) {
            (Table::Table1, Scenario::Ii) => row == 2000,
            (Table::Table2, Scenario::Ii) => row == 10 && interval == Some(8),
            (Table::Table3, Scenario::Ii) => row == 100 && interval == Some(8),
            (Table::Table4, Scenario::Ii) => row == 2000 && interval != Some(4),
            (Table::Table5, Scenario::I) => row == 2000,
            (Table::Table5, Scenario::Iii) => row == 500 || row == 2000,
            (Table::Table2 | Table::Table3 | Table::Table4, Scenario::Iii) => row == 2000,
            (Table::Table6, _) => 10 < self.processes,
            (Table::Table7, Scenario::Ii) => row == 10 && matches!(interval, Some(2 | 4)),
            (Table::Table7, Scenario::Iii) => row == 100 && interval == Some(16),
            (Table::Table9, Scenario::Iii) => row == 500 && matches!(self.processes, 50 | 100),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_all_their_cells() {
        let counts = Table::ALL.map(|table| table.cells().len());
        assert_eq!(counts, [42, 42, 42, 42, 42, 10, 45, 36, 4]);
        let cells = Table::ALL.into_iter().flat_map(Table::cells);
        for cell in cells {
            assert!(0.0 < cell.seconds, "{cell:?}");
            let application = cell.table.application();
            assert!(application.experiment(cell.processes).is_some(), "{cell:?}");
            assert_eq!(cell.interval.is_none(), cell.scenario == Scenario::I);
        }
    }

    #[test]
    fn contradictory_cells_are_marked() {
        let counts = Table::ALL.map(|table| {
            let cells = table.cells();
            cells.iter().filter(|cell| cell.is_contradictory()).count()
        });
        assert_eq!(counts, [3, 4, 4, 5, 7, 8, 3, 2, 0]);
    }
}
