//! Tables 1 to 6 of the papers, cell by cell, from the experiments in `conf/paper/`.
//!
//! What our runs say is written to `docs/tables.md`, misses included; the test fails when that page is
//! not what the runs say. `MIGBSP_UPDATE=1 cargo test -p migbsp-cli paper` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;

/// Cells that contradict other cells of the papers: table, supersteps, interval, scenario. They count
/// in the means all the same.
const CONTRADICTORY: [(u32, u64, Option<u32>, &str); 7] = [
    (1, 2000, None, "ii"),
    (2, 10, Some(8), "ii"),
    (3, 100, Some(8), "ii"),
    (4, 2000, Some(8), "ii"),
    (4, 2000, Some(16), "ii"),
    (5, 2000, None, "i"),
    (5, 500, None, "iii"),
];

/// One cell of Tables 1 to 5.
#[derive(Clone, Debug)]
struct Cell {
    table: u32,
    supersteps: u64,
    processes: u32,
    /// α; the application alone has none.
    interval: Option<u32>,
    scenario: String,
    paper: f64,
}

/// Processes, supersteps, interval: what one command runs, in all three scenarios.
type Key = (u32, u64, u32);

impl Cell {
    fn key(&self) -> Key {
        (self.processes, self.supersteps, self.interval.unwrap_or(4))
    }

    fn is_contradictory(&self) -> bool {
        let later = self.scenario == "iii" && self.supersteps == 2000 && 1 < self.table;
        let listed = CONTRADICTORY
            .iter()
            .any(|(table, supersteps, interval, scenario)| {
                self.table == *table
                    && self.supersteps == *supersteps
                    && (interval.is_none() || self.interval == *interval)
                    && self.scenario == *scenario
            });
        later || listed
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for table in 1..=5 {
        let path = root().join(format!("integration-tests/data/tables/table{table}.csv"));
        for record in csv::Reader::from_path(path).unwrap().records() {
            let record = record.unwrap();
            cells.push(Cell {
                table,
                supersteps: record[1].parse().unwrap(),
                processes: record[2].parse().unwrap(),
                interval: record[3].parse().ok(),
                scenario: record[4].to_owned(),
                paper: record[5].parse().unwrap(),
            });
        }
    }
    assert_eq!(cells.len(), 210);
    cells
}

/// What the command prints for one experiment.
fn simulate((processes, supersteps, interval): Key) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_migbsp"))
        .current_dir(root())
        .args([
            "simulate",
            &format!("conf/paper/lbm-{processes}.toml"),
            "--format",
            "json",
        ])
        .args(["--set", &format!("application.supersteps={supersteps}")])
        .args(["--set", &format!("scheduler.interval={interval}")])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// All experiments of the cells, two at a time.
fn reports(cells: &[Cell]) -> BTreeMap<Key, Value> {
    let mut keys: Vec<Key> = cells.iter().map(Cell::key).collect();
    keys.sort_unstable();
    keys.dedup();
    let left = Mutex::new(keys);
    let reports = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(key) = left.lock().unwrap().pop() else {
                        break;
                    };
                    let report = simulate(key);
                    reports.lock().unwrap().insert(key, report);
                }
            });
        }
    });
    reports.into_inner().unwrap()
}

fn run<'a>(report: &'a Value, scenario: &str) -> &'a Value {
    let runs = report["runs"].as_array().unwrap();
    runs.iter().find(|run| run["scenario"] == scenario).unwrap()
}

fn seconds(report: &Value, scenario: &str) -> f64 {
    run(report, scenario)["seconds"].as_f64().unwrap()
}

/// Supersteps after which calls were held.
fn calls(report: &Value, scenario: &str) -> Vec<u64> {
    let calls = run(report, scenario)["calls"].as_array().unwrap();
    calls
        .iter()
        .map(|call| call["superstep"].as_u64().unwrap())
        .collect()
}

/// Moves as `superstep process -> host`.
fn moves(report: &Value) -> Vec<String> {
    let calls = run(report, "iii")["calls"].as_array().unwrap();
    let of_call = |call: &Value| {
        let superstep = call["superstep"].clone();
        let migrations = call["migrations"].as_array().unwrap().clone();
        migrations.into_iter().map(move |migration| {
            let word = |key: &str| migration[key].as_str().unwrap().to_owned();
            format!("{superstep} {} -> {}", word("process"), word("to"))
        })
    };
    calls.iter().flat_map(of_call).collect()
}

/// Mean absolute relative error of a scenario, over all cells of the tables given.
fn mean_error(errors: &[(Cell, f64)], scenario: &str, table: Option<u32>) -> f64 {
    let of_scenario = errors.iter().filter(|(cell, _)| {
        cell.scenario == scenario && table.is_none_or(|table| table == cell.table)
    });
    let errors: Vec<f64> = of_scenario.map(|(_, error)| error.abs()).collect();
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn tables_1_to_6() {
    let cells = cells();
    let reports = reports(&cells);
    let errors: Vec<(Cell, f64)> = cells
        .iter()
        .map(|cell| {
            let ours = seconds(&reports[&cell.key()], &cell.scenario);
            (cell.clone(), ours / cell.paper - 1.0)
        })
        .collect();
    for (scenario, limit) in [("i", 0.01), ("ii", 0.015), ("iii", 0.04)] {
        let error = mean_error(&errors, scenario, None);
        assert!(
            error <= limit,
            "scenario {scenario}: {:.2} %",
            error * 100.0
        );
    }
    check_calls(&reports);
    check_moves(&reports);
    check_table_6(&reports);
    compare_page(&page(&errors, &reports));
}

/// Supersteps of the calls, as the papers' intervals double while the system is balanced.
fn check_calls(reports: &BTreeMap<Key, Value>) {
    for processes in [10, 25, 50, 100] {
        for (interval, expected) in [
            (4, vec![4, 12, 28, 60, 124, 252, 508, 1020]),
            (8, vec![8, 24, 56, 120, 248, 504, 1016]),
            (16, vec![16, 48, 112, 240, 496, 1008]),
        ] {
            for scenario in ["ii", "iii"] {
                let held = calls(&reports[&(processes, 2000, interval)], scenario);
                assert_eq!(held, expected, "{processes} processes, interval {interval}");
            }
        }
    }
    // Unbalanced until the tolerance has grown after three idle calls.
    let held = calls(&reports[&(200, 2000, 4)], "ii");
    assert_eq!(held[..6], [4, 8, 12, 16, 24, 40]);
}

/// Who moves where, with ties by rank.
fn check_moves(reports: &BTreeMap<Key, Value>) {
    assert_eq!(moves(&reports[&(10, 2000, 4)]), [""; 0]);
    let expected = [
        "4 p21 -> aquario-1",
        "12 p22 -> aquario-2",
        "28 p23 -> aquario-3",
        "60 p24 -> aquario-4",
        "124 p25 -> aquario-5",
    ];
    assert_eq!(moves(&reports[&(25, 2000, 4)]), expected);
    let expected = [
        "4 p37 -> aquario-1",
        "12 p38 -> aquario-2",
        "28 p39 -> aquario-3",
        "60 p40 -> aquario-4",
        "124 p41 -> aquario-5",
        "252 p42 -> aquario-6",
        "508 p21 -> aquario-7",
        "1020 p22 -> aquario-8",
    ];
    for processes in [50, 100] {
        assert_eq!(
            moves(&reports[&(processes, 2000, 4)]),
            expected,
            "{processes} processes"
        );
    }
    let moved = moves(&reports[&(200, 2000, 4)]);
    let who: Vec<&str> = moved
        .iter()
        .map(|text| text.split(' ').nth(1).unwrap())
        .collect();
    let expected = [
        "p21", "p22", "p23", "p24", "p25", "p26", "p37", "p38", "p39", "p40", "p41", "p42",
    ];
    assert_eq!(who[..12], expected);
}

/// The barrier's time on p1 is what its superstep takes beyond its computation, and with ten processes,
/// of which none moves, the same in scenarios i and iii.
fn check_table_6(reports: &BTreeMap<Key, Value>) {
    const PAPER: f64 = 0.005380;
    let report = &reports[&(10, 2000, 4)];
    let computation = 1e9 / 1.5e9;
    let alone = seconds(report, "i") / 2000.0 - computation;
    assert!(
        (alone / PAPER - 1.0).abs() < 0.02,
        "{alone} s, not {PAPER} s"
    );
    // Nobody moves, so that scenario iii is scenario ii.
    assert_eq!(run(report, "ii")["seconds"], run(report, "iii")["seconds"]);
}

/// The page of residuals.
fn page(errors: &[(Cell, f64)], reports: &BTreeMap<Key, Value>) -> String {
    let mut page = String::from(PREFACE);
    page.push_str("| table | processes | i | ii | iii |\n|---|---|---|---|---|\n");
    let percent = |scenario, table| format!("{:.2} %", mean_error(errors, scenario, table) * 100.0);
    for (table, processes) in [(1, 10), (2, 25), (3, 50), (4, 100), (5, 200)] {
        let of = |scenario| percent(scenario, Some(table));
        let (i, ii, iii) = (of("i"), of("ii"), of("iii"));
        writeln!(page, "| {table} | {processes} | {i} | {ii} | {iii} |").unwrap();
    }
    let (i, ii, iii) = (
        percent("i", None),
        percent("ii", None),
        percent("iii", None),
    );
    writeln!(page, "| all | | **{i}** | **{ii}** | **{iii}** |").unwrap();
    for table in 1..=5 {
        let of_table = |cell: &&(Cell, f64)| cell.0.table == table;
        let processes = errors.iter().find(of_table).unwrap().0.processes;
        write!(page, "\n## Table {table}: {processes} processes\n\n").unwrap();
        page.push_str("| supersteps | α | scenario | paper (s) | ours (s) | error | |\n");
        page.push_str("|---|---|---|---|---|---|---|\n");
        for (cell, error) in errors.iter().filter(of_table) {
            let ours = seconds(&reports[&cell.key()], &cell.scenario);
            writeln!(
                page,
                "| {} | {} | {} | {:.2} | {ours:.2} | {:+.2} % | {} |",
                cell.supersteps,
                cell.interval
                    .map_or_else(|| "-".to_owned(), |interval| interval.to_string()),
                cell.scenario,
                cell.paper,
                error * 100.0,
                if cell.is_contradictory() {
                    "contradicts other cells"
                } else {
                    ""
                },
            )
            .unwrap();
        }
    }
    page.push_str("\n## Who moves\n\nWith α = 4 and 2000 supersteps, ties by rank.\n\n");
    for processes in [10, 25, 50, 100, 200] {
        let moves = moves(&reports[&(processes, 2000, 4)]);
        let list = if moves.is_empty() {
            "nobody".to_owned()
        } else {
            moves.join(", ")
        };
        writeln!(page, "* {processes} processes: {list}").unwrap();
    }
    page
}

fn compare_page(page: &str) {
    let path = root().join("docs/tables.md");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        std::fs::write(&path, page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (is, should)) in written.lines().zip(page.lines()).enumerate() {
        assert_eq!(is, should, "docs/tables.md:{}", number + 1);
    }
    assert_eq!(
        written.len(),
        page.len(),
        "docs/tables.md is too short or too long"
    );
}

const PREFACE: &str = "\
# The papers' tables and ours

Lattice Boltzmann on the papers' testbed, `conf/paper/lbm-*.toml`. Written by a test that runs all cells
(`cli/tests/commands/paper.rs`) and fails when this page is not what they say.

Only the network of `conf/platforms/testbed.toml` is fitted, and only to the thirty cells of scenario i (the
application alone): `cargo run --release -p integration-tests --example fit`. Nothing looks at the cells of scenarios ii
and iii. Cells that contradict other cells of the papers are marked; they count in the means all the same.

Known misses:

* **200 processes, scenario iii, up to 500 supersteps: 15 to 27 % too fast.** In the papers the supersteps stay unbalanced
  until twelve processes have moved, so that a call, which costs about a second, follows every fourth superstep. Ours count as
  balanced once the six pairs of processes that shared Corisco's hosts are broken up, and calls become rarer.
* **200 processes: who moves.** The papers break up the pairs by moving p195 to p200, we by moving p21 to p26, which compute as long
  on the same hosts and have the lower rank. Two more processes move late.
* **50 and 100 processes, scenario iii: 2 to 8 % too fast.** The papers' runs gain less from the first moves than their own tables of
  scenario i would allow.

Mean absolute relative errors over all cells:

";
