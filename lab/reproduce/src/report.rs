//! The papers' numbers and ours: cells, their mean errors, gains, and migrations that agree.

use std::collections::BTreeMap;

use experiments::{CsvTable, Failure, NamedMove, Provenance, Published, RunReport};
use serde::Serialize;

use crate::published::{AQUARIO, Application, Cell, Destination, Stated, Table};
use crate::runs::{Outcome, Run, Variant};

/// Results of `migbsp reproduce`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    pub(crate) fn new(
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
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Table, Vec<&CellReport>)> {
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
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
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

/// A cell of the papers beside ours.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CellReport {
    /// `table1` to `table9`, `fig16`.
    pub table: &'static str,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// How many processes.
    pub processes: u32,
    /// α; scenario i has none.
    pub alpha: Option<u32>,
    /// `i`, `ii`, `iii`, `iii-forced`, `iii-receive-time`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = Variant::ALL.map(Variant::name))))]
    pub scenario: &'static str,
    /// What the papers print, in seconds.
    pub paper: f64,
    /// What our run says, in seconds.
    pub ours: f64,
    /// `ours / paper - 1`.
    pub error: f64,
    /// Whether the papers' number contradicts other ones of theirs.
    pub flagged: bool,
    /// How many processes moved in our run.
    pub migrations: usize,
}

impl CellReport {
    /// `cell` beside the `outcome` of `run`.
    fn new(cell: &Cell, run: &Run, outcome: &Outcome) -> Self {
        let ours = if cell.table.is_makespans() {
            outcome.report.seconds
        } else {
            outcome.waiting
        };
        Self {
            table: cell.table.name(),
            row: cell.row,
            processes: cell.processes,
            alpha: cell.interval,
            scenario: run.variant.name(),
            paper: cell.seconds,
            ours,
            error: ours / cell.seconds - 1.0,
            flagged: cell.is_contradictory(),
            migrations: outcome.report.migrations(),
        }
    }
}

/// The mean absolute relative error of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Mean {
    /// The cells: `table1` and so on, `tables1-5`, `tables1-5-below-2000` (without their last
    /// row), `all` (makespans alone: without Table 6).
    pub over: String,
    /// The scenario.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = Variant::ALL.map(Variant::name))))]
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
fn means(cells: &[CellReport]) -> Vec<Mean> {
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

/// A published gain.
#[derive(Clone, Copy, Debug)]
struct Gain {
    run: Run,
    paper: f64,
}

/// A published gain, and ours.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GainReport {
    /// `lbm` or `lu`.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of LU.
    pub row: u64,
    /// α.
    pub alpha: Option<u32>,
    /// Share of scenario i's time that scenario iii saves in the papers.
    pub paper: f64,
    /// Share that it saves in our runs, ties by rank.
    pub ours: f64,
}

/// The runs that the gains need.
pub(super) fn runs_of_gains() -> impl Iterator<Item = Run> {
    GAINS.into_iter().flat_map(|gain| [gain.alone(), gain.run])
}

/// The gains of `outcomes`.
pub(super) fn gains(outcomes: &BTreeMap<Run, Outcome>) -> Vec<GainReport> {
    let report = |gain: Gain| {
        let seconds = |run: &Run| outcomes.get(run).map(|outcome| outcome.report.seconds);
        let (alone, moving) = (seconds(&gain.alone())?, seconds(&gain.run)?);
        Some(GainReport {
            application: gain.run.application,
            processes: gain.run.processes,
            row: gain.run.row,
            alpha: gain.run.interval,
            paper: gain.paper,
            ours: 1.0 - moving / alone,
        })
    };
    GAINS.into_iter().filter_map(report).collect()
}

impl Gain {
    /// The run that it is compared with.
    const fn alone(&self) -> Run {
        Run {
            interval: None,
            variant: Variant::I,
            ..self.run
        }
    }
}

const GAINS: [Gain; 2] = [
    Gain {
        run: Run {
            application: Application::LatticeBoltzmann,
            processes: 25,
            row: 1000,
            interval: Some(4),
            variant: Variant::Iii,
        },
        paper: 0.14,
    },
    Gain {
        run: Run {
            application: Application::Lu,
            processes: 25,
            row: 5000,
            interval: Some(4),
            variant: Variant::Iii,
        },
        paper: 0.19,
    },
];

/// A published migration and its counterparts in our runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StatedReport {
    /// `lbm`, `sw` or `lu`.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α.
    pub alpha: u32,
    /// Number of completed supersteps; none: not published.
    pub call: Option<u64>,
    /// The processes, as `p21` or `14 of p21 to p36`.
    pub process: String,
    /// Number of migrations.
    pub count: usize,
    /// The Set, or the host if the papers name one.
    pub destination: String,
    /// Our runs, by scenario.
    pub ours: Vec<Agreement>,
}

/// Agreement of a run with a statement.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// `iii` or `iii-receive-time`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = Variant::ALL.map(Variant::name))))]
    pub scenario: &'static str,
    /// Migrations that agree in process and Set.
    pub set: usize,
    /// Migrations that agree in the call as well.
    pub call: usize,
    /// Migrations to the named host, among those that agree in process and Set; none: no host is named.
    pub host: Option<usize>,
    /// All moves of these processes, as `124 p25 -> aquario-5`.
    pub moves: Vec<String>,
}

/// Agreement with all statements.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AgreementTotal {
    /// `iii` or `iii-receive-time`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = Variant::ALL.map(Variant::name))))]
    pub scenario: &'static str,
    /// Number of published migrations.
    pub stated: usize,
    /// Those that agree in process and Set.
    pub set: usize,
    /// Those that agree in the call as well.
    pub call: usize,
    /// Those with a named host.
    pub named: usize,
    /// Those that agree in the host.
    pub host: usize,
}

/// A move of a run.
struct Move<'a> {
    superstep: u64,
    step: &'a NamedMove,
}

impl StatedReport {
    /// `stated`, compared with each of `runs`.
    pub(crate) fn new(stated: &Stated, runs: &[(Variant, &RunReport)]) -> Self {
        Self {
            application: stated.application,
            processes: stated.processes,
            row: stated.row,
            alpha: stated.interval,
            call: stated.call,
            process: stated.processes(),
            count: stated.count,
            destination: stated.destination.name(),
            ours: runs
                .iter()
                .map(|(variant, run)| Agreement::new(stated, *variant, run))
                .collect(),
        }
    }
}

impl Agreement {
    fn new(stated: &Stated, variant: Variant, run: &RunReport) -> Self {
        let names: Vec<String> = stated
            .candidates
            .iter()
            .map(|process| format!("p{process}"))
            .collect();
        let moves: Vec<Move<'_>> = run
            .calls
            .iter()
            .flat_map(|call| call.migrations.iter().map(move |moved| (call, moved)))
            .filter(|(_, moved)| names.contains(&moved.step.process))
            .map(|(call, moved)| Move {
                superstep: call.summary.superstep,
                step: &moved.step,
            })
            .collect();
        // A process that moves twice counts once.
        let agreeing = |does: &dyn Fn(&Move<'_>) -> bool| {
            let agrees = |name: &&String| {
                let mut own = moves.iter().filter(|moved| moved.step.process == **name);
                own.any(|moved| is_in_aquario(&moved.step.to) && does(moved))
            };
            names.iter().filter(agrees).count().min(stated.count)
        };
        let destination = stated.destination.name();
        Self {
            scenario: variant.name(),
            set: agreeing(&|_| true),
            call: agreeing(&|moved| Some(moved.superstep) == stated.call),
            host: match stated.destination {
                Destination::Aquario => None,
                Destination::Host(_) => Some(agreeing(&|moved| moved.step.to == destination)),
            },
            moves: moves
                .iter()
                .map(|moved| {
                    format!(
                        "{} {} -> {}",
                        moved.superstep, moved.step.process, moved.step.to
                    )
                })
                .collect(),
        }
    }
}

impl AgreementTotal {
    /// The total over `statements`, if they were compared with a run of `variant`.
    pub(crate) fn new(statements: &[StatedReport], variant: Variant) -> Option<Self> {
        let scenario = variant.name();
        let mut total = Self {
            scenario,
            stated: 0,
            set: 0,
            call: 0,
            named: 0,
            host: 0,
        };
        for statement in statements {
            let ours = statement
                .ours
                .iter()
                .find(|ours| ours.scenario == scenario)?;
            total.stated += statement.count;
            total.set += ours.set;
            total.call += ours.call;
            if let Some(host) = ours.host {
                total.named += statement.count;
                total.host += host;
            }
        }
        (0 < total.stated).then_some(total)
    }
}

fn is_in_aquario(host: &str) -> bool {
    let number = host.strip_prefix(AQUARIO);
    number.is_some_and(|number| number.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use experiments::{CallReport, CallSummary, MigrationReport};

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

    fn stated(count: usize, candidates: &[u32], destination: Destination) -> Stated {
        Stated {
            application: Application::Lu,
            processes: 50,
            row: 2000,
            interval: 4,
            call: Some(9),
            count,
            candidates: candidates.to_vec(),
            destination,
        }
    }

    fn run(moves: &[(u64, &str, &str)]) -> RunReport {
        let call = |(superstep, process, to): &(u64, &str, &str)| CallReport {
            summary: CallSummary {
                superstep: *superstep,
                at: 0.0,
                cost_seconds: 0.0,
                interval: Some(4),
                tolerance: None,
            },
            migrations: vec![MigrationReport {
                step: NamedMove {
                    process: (*process).to_owned(),
                    from: "corisco-1".to_owned(),
                    to: (*to).to_owned(),
                },
                potential: None,
                t1: 0.0,
                t2: 0.0,
                cost_seconds: 0.0,
            }],
        };
        RunReport {
            builds: Vec::new(),
            transfers: None,
            scenario: "iii",
            seconds: 1.0,
            supersteps: 20,
            messages: 0,
            bytes: 0,
            attainable_seconds: None,
            imbalance_seconds: None,
            moved_bytes: 0,
            outputs_sha256: String::new(),
            verified: None,
            joins: Vec::new(),
            checkpoints: None,
            calls: moves.iter().map(call).collect(),
        }
    }

    #[test]
    fn agreement_is_counted_by_process_set_call_and_host() {
        let run = run(&[
            (4, "p21", "aquario-1"),
            (9, "p22", "aquario-3"),
            (9, "p23", "labtec-1"),
            (14, "p23", "aquario-4"),
        ]);
        let check = |stated: &Stated, expected: (usize, usize, Option<usize>)| {
            let ours = Agreement::new(stated, Variant::Iii, &run);
            assert_eq!((ours.set, ours.call, ours.host), expected, "{stated:?}");
        };
        check(&stated(1, &[21], Destination::Aquario), (1, 0, None));
        check(&stated(1, &[22], Destination::Host(2)), (1, 1, Some(0)));
        check(&stated(1, &[23], Destination::Host(4)), (1, 0, Some(1)));
        check(&stated(1, &[24], Destination::Host(4)), (0, 0, Some(0)));
        check(
            &stated(2, &[21, 22, 23, 24], Destination::Aquario),
            (2, 1, None),
        );
        let statements = [(1, vec![21]), (2, vec![22, 23, 24])].map(|(count, candidates)| {
            let stated = stated(count, &candidates, Destination::Aquario);
            StatedReport::new(&stated, &[(Variant::Iii, &run)])
        });
        let total = AgreementTotal::new(&statements, Variant::Iii).unwrap();
        assert_eq!(
            (total.stated, total.set, total.call, total.named),
            (3, 3, 1, 0)
        );
        assert!(AgreementTotal::new(&statements, Variant::ReceiveTime).is_none());
    }
}
