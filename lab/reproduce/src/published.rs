//! What the papers print: applications, tables and migrations.

use experiments::{Embedded, Scenario};
use serde::{Deserialize, Serialize};

/// An application of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub enum Application {
    /// Lattice Boltzmann.
    #[serde(rename = "lbm")]
    LatticeBoltzmann,
    /// Smith-Waterman.
    #[serde(rename = "sw")]
    SmithWaterman,
    /// LU decomposition.
    #[serde(rename = "lu")]
    Lu,
}

impl Application {
    /// Its experiment with this number of processes, if the papers have one.
    pub(crate) fn experiment(self, processes: u32) -> Option<&'static Embedded> {
        let found = EXPERIMENTS
            .iter()
            .find(|(application, size, _)| *application == self && *size == processes);
        found.map(|(.., experiment)| experiment)
    }

    /// The changes of a table row to the experiment.
    pub(crate) fn assignment(self, row: u64) -> Option<String> {
        match self {
            Self::LatticeBoltzmann => Some(format!("application.supersteps={row}")),
            // The matrix has a column for each process.
            Self::SmithWaterman => None,
            Self::Lu => Some(format!("application.lu.order={row}")),
        }
    }

    /// Number of supersteps of a table row.
    pub(crate) const fn supersteps(self, row: u64) -> u64 {
        match self {
            Self::LatticeBoltzmann => row,
            Self::SmithWaterman => 2 * row - 1,
            Self::Lu => 2 * row + 1,
        }
    }

    /// The quantity that table rows vary.
    pub(crate) const fn row_name(self) -> &'static str {
        match self {
            Self::LatticeBoltzmann => "supersteps",
            Self::SmithWaterman | Self::Lu => "order",
        }
    }

    /// Its name in the papers.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::LatticeBoltzmann => "Lattice Boltzmann",
            Self::SmithWaterman => "Smith-Waterman",
            Self::Lu => "LU",
        }
    }
}

macro_rules! experiment {
    ($name:literal) => {
        Embedded {
            name: concat!("conf/paper/", $name, ".toml"),
            text: include_str!(concat!("../conf/paper/", $name, ".toml")),
            platform: include_str!("../conf/platforms/testbed.toml"),
        }
    };
}

static EXPERIMENTS: [(Application, u32, Embedded); 14] = [
    (Application::LatticeBoltzmann, 10, experiment!("lbm-10")),
    (Application::LatticeBoltzmann, 25, experiment!("lbm-25")),
    (Application::LatticeBoltzmann, 50, experiment!("lbm-50")),
    (Application::LatticeBoltzmann, 100, experiment!("lbm-100")),
    (Application::LatticeBoltzmann, 200, experiment!("lbm-200")),
    (Application::SmithWaterman, 10, experiment!("sw-10")),
    (Application::SmithWaterman, 25, experiment!("sw-25")),
    (Application::SmithWaterman, 50, experiment!("sw-50")),
    (Application::SmithWaterman, 100, experiment!("sw-100")),
    (Application::SmithWaterman, 200, experiment!("sw-200")),
    (Application::Lu, 25, experiment!("lu-25")),
    (Application::Lu, 50, experiment!("lu-50")),
    (Application::Lu, 100, experiment!("lu-100")),
    (Application::Lu, 200, experiment!("lu-200")),
];

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
pub(crate) struct Cell {
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
struct CellLine {
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
    pub(crate) const fn name(self) -> &'static str {
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
    pub(crate) const fn title(self) -> &'static str {
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
    pub(crate) const fn application(self) -> Application {
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
    pub(crate) const fn is_makespans(self) -> bool {
        !matches!(self, Self::Table6)
    }

    /// Its cells, as printed.
    ///
    /// # Panics
    ///
    /// If the table in this binary cannot be read, which a test excludes.
    pub(crate) fn cells(self) -> Vec<Cell> {
        let mut reader = csv::Reader::from_reader(self.csv().as_bytes());
        let lines = reader.deserialize();
        lines
            .map(|line| {
                let line: CellLine = line.expect("the tables in the binary are right");
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
    pub(crate) fn is_contradictory(&self) -> bool {
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

/// Migrations of one published statement: of one process, or of some of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    /// The application.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α.
    pub interval: u32,
    /// Number of supersteps before the call; none: not published.
    pub call: Option<u64>,
    /// Number of processes that moved.
    pub count: usize,
    /// The processes, from 1; if there are more than `count`, the papers do not say which of them.
    pub candidates: Vec<u32>,
    /// The target.
    pub destination: Destination,
}

/// Target of a migration. All published migrations went to one Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Some host of Aquario.
    Aquario,
    /// The host of this number, from 1.
    Host(u32),
}

/// A line of the file.
#[derive(Debug, Deserialize)]
struct StatedLine {
    app: Application,
    processes: u32,
    matrix: Option<u64>,
    alpha: u32,
    call_superstep: Option<u64>,
    process: String,
    destination: String,
}

/// All published migrations, in the order of the papers.
pub(super) fn stated() -> Vec<Stated> {
    let mut reader = csv::Reader::from_reader(CSV.as_bytes());
    let lines = reader.deserialize();
    lines
        .map(|line| Stated::new(&line.expect("the list in the binary is right")))
        .collect()
}

impl Stated {
    fn new(line: &StatedLine) -> Self {
        let (count, candidates) =
            processes(&line.process).expect("the list in the binary is right");
        let number = line.destination.strip_prefix('a');
        let number = number.and_then(|digits| digits.parse().ok());
        Self {
            application: line.app,
            processes: line.processes,
            // For Lattice Boltzmann, the longest runs are described.
            row: line.matrix.unwrap_or(2000),
            interval: line.alpha,
            call: line.call_superstep,
            count,
            candidates,
            destination: number.map_or(Destination::Aquario, Destination::Host),
        }
    }

    /// The processes, as text: `p21`, or `14 of p21 to p36`.
    pub(crate) fn processes(&self) -> String {
        match &self.candidates[..] {
            [process] => format!("p{process}"),
            [first, .., last] => format!("{} of p{first} to p{last}", self.count),
            [] => String::new(),
        }
    }
}

impl Destination {
    /// The host, or the Set.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Aquario => AQUARIO.to_owned(),
            Self::Host(number) => format!("{AQUARIO}-{number}"),
        }
    }
}

/// `21`, or `14of(21..36)`: number and candidates.
fn processes(text: &str) -> Option<(usize, Vec<u32>)> {
    let Some((count, range)) = text.split_once("of(") else {
        return Some((1, vec![text.parse().ok()?]));
    };
    let (first, last) = range.strip_suffix(')')?.split_once("..")?;
    let candidates = first.parse().ok()?..=last.parse().ok()?;
    Some((count.parse().ok()?, candidates.collect()))
}

/// The Set of all targets.
pub(super) const AQUARIO: &str = "aquario";

const CSV: &str = include_str!("../data/tables/migrations.csv");

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

    #[test]
    fn every_published_migration_parses() {
        let stated = stated();
        assert!(stated.iter().all(|stated| {
            let number = |process: &u32| (1..=stated.processes).contains(process);
            stated.count <= stated.candidates.len() && stated.candidates.iter().all(number)
        }));
        let total: usize = stated.iter().map(|stated| stated.count).sum();
        assert_eq!(total, 265);
        let several = stated.iter().find(|stated| 1 < stated.count).unwrap();
        assert_eq!(several.processes(), "5 of p30 to p36");
        assert_eq!(several.destination.name(), "aquario");
        assert_eq!(stated[0].processes(), "p21");
        assert_eq!(stated[0].destination.name(), "aquario-1");
    }
}
