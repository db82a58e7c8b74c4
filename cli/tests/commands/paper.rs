//! The papers' tables, as `migbsp reproduce` sets them beside ours.
//!
//! What it says is written to `docs/tables.md`, misses included; a test fails when that page is not what
//! the command says. `MIGBSP_UPDATE=1 cargo test -p migbsp-commands paper` writes it anew.

mod page;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use analysis::reproduce::{Part, Variant, page as draw, reproduce, summary};
use analysis::text::Layout;
use experiments::batch::{Batch, Silent};
use experiments::{Attributed, Provenance, Registry};
use serde_json::Value;

use crate::charts::check_page;
use crate::invocation::{BINARY, Folder, root, rows};

/// What the binary prints for `arguments` in the sources' folder.
fn output(arguments: &[&str]) -> String {
    let output = Command::new(BINARY)
        .current_dir(root())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The results of all parts: as JSON, as a page, and their summary.
struct Everything {
    report: Value,
    page: String,
    summary: String,
}

/// All parts, run once for all tests.
fn results() -> &'static Everything {
    static EVERYTHING: OnceLock<Everything> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let ties = [Variant::Iii, Variant::ReceiveTime];
        let batch = Batch {
            jobs: None,
            progress: &Silent,
        };
        let report = reproduce(Part::All, &ties, batch).unwrap();
        let provenance = Provenance::of_program(&Registry::shipped()).unwrap();
        Everything {
            report: serde_json::to_value(Attributed::new(&provenance, &report)).unwrap(),
            page: draw(&report),
            summary: summary(&report, Layout::default()),
        }
    })
}

fn everything() -> &'static Value {
    &results().report
}

/// Mean absolute relative error of a scenario.
fn mean(report: &Value, over: &str, scenario: &str) -> f64 {
    let means = report["means"].as_array().unwrap();
    let found = means
        .iter()
        .find(|mean| mean["over"] == over && mean["scenario"] == scenario);
    found.unwrap()["error"].as_f64().unwrap()
}

#[test]
fn the_results_of_all_parts_are_as_their_schema_says() {
    let text = everything().to_string();
    assert_eq!(crate::schemas::check(&text, "reproduce"), "reproduce");
}

#[test]
fn errors_stay_within_their_limits() {
    let report = everything();
    assert_eq!(report["schema"], "migbsp.reproduce/1");
    for (over, limits) in [
        ("tables1-5", [0.01, 0.015, 0.04]),
        ("table7", [0.01, 0.015, 0.04]),
        ("all", [0.01, 0.015, 0.04]),
    ] {
        for (scenario, limit) in ["i", "ii", "iii"].into_iter().zip(limits) {
            let error = mean(report, over, scenario);
            assert!(error <= limit, "{over}, scenario {scenario}: {error}");
        }
    }
    // With ten processes no process moves, so the barrier is the same with and without rescheduling.
    let waiting = report["cells"].as_array().unwrap().iter();
    let waiting = waiting.filter(|cell| cell["table"] == "table6" && cell["processes"] == 10);
    for cell in waiting {
        assert!(cell["error"].as_f64().unwrap().abs() < 0.02, "{cell}");
    }
    let gain = &report["gains"][0];
    assert_eq!(
        (&gain["application"], &gain["processes"]),
        (&"lbm".into(), &25.into())
    );
    let ours = gain["ours"].as_f64().unwrap();
    assert!((0.13..0.16).contains(&ours), "{gain}");
}

#[test]
fn the_page_of_tables_is_what_the_command_says() {
    let page = page::page(everything(), &results().summary);
    let path = root().join("docs/tables.md");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
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

#[test]
fn every_cell_of_the_papers_is_there_and_compared() {
    let cells = everything()["cells"].as_array().unwrap();
    let count = |scenario: &str| {
        let cells = cells.iter().filter(|cell| cell["table"] != "table6");
        cells.filter(|cell| cell["scenario"] == scenario).count()
    };
    assert_eq!(
        ["i", "ii", "iii", "iii-receive-time"].map(count),
        [49, 122, 124, 124]
    );
    assert!(90 < count("iii-forced"));
    let flagged = cells.iter().filter(|cell| cell["flagged"] == true);
    assert!(0 < flagged.count());
    for cell in cells {
        let number = |key: &str| cell[key].as_f64().unwrap();
        let error = number("ours") / number("paper") - 1.0;
        assert!((error - number("error")).abs() < 1e-12, "{cell}");
    }
}

#[test]
fn a_cell_is_what_simulate_says_of_its_experiment() {
    let simulated = |file: &str, assignments: &[&str]| {
        let mut arguments = vec!["simulate", file, "--format", "json"];
        for assignment in assignments {
            arguments.extend(["--set", assignment]);
        }
        let report: Value = serde_json::from_str(&output(&arguments)).unwrap();
        report["runs"][0]["seconds"].as_f64().unwrap()
    };
    let cells = everything()["cells"].as_array().unwrap();
    let cell = |table: &str, row: u64, processes: u64, alpha: Option<u64>, scenario: &str| {
        let found = cells.iter().find(|cell| {
            (cell["table"] == table && cell["row"] == row && cell["processes"] == processes)
                && cell["alpha"].as_u64() == alpha
                && cell["scenario"] == scenario
        });
        found.unwrap()["ours"].as_f64().unwrap()
    };
    for (ours, file, assignments) in [
        (
            cell("table2", 100, 25, Some(8), "iii"),
            "conf/paper/lbm-25.toml",
            &[
                "application.supersteps=100",
                "scheduler.interval=8",
                "scheduler.scenario=iii",
            ][..],
        ),
        (
            cell("table7", 25, 25, Some(2), "ii"),
            "conf/paper/sw-25.toml",
            &[
                "scheduler.delta=0.01",
                "scheduler.interval=2",
                "scheduler.scenario=ii",
            ],
        ),
        (
            cell("table9", 500, 50, None, "i"),
            "conf/paper/lu-50.toml",
            &["application.lu.order=500", "scheduler.scenario=i"],
        ),
        (
            cell("table3", 10, 50, Some(4), "iii-receive-time"),
            "conf/paper/lbm-50.toml",
            &[
                "application.supersteps=10",
                "scheduler.tie_break=receive-time",
                "scheduler.scenario=iii",
            ],
        ),
    ] {
        let seconds = simulated(file, assignments);
        assert_eq!(ours.to_bits(), seconds.to_bits(), "{file} {assignments:?}");
    }
}

#[test]
fn everything_is_drawn_on_one_page() {
    let Everything { report, page, .. } = results();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.trim_end().ends_with("</html>"), "{page}");
    let cells = report["cells"].as_array().unwrap().iter();
    let tables: BTreeSet<_> = cells.map(|cell| cell["table"].as_str().unwrap()).collect();
    assert!(tables.len() <= page.matches("<svg").count());
    check_page(page);
}

#[test]
fn one_part_is_run_alone_wherever_the_binary_is() {
    // Neither files nor variables are asked.
    let folder = Folder::new().with_variable("MIGBSP__SCHEDULER__INTERVAL", "2");
    let run = |arguments: &[&str]| {
        let ended = folder.run(arguments);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
        ended.stdout
    };
    let text = run(&["reproduce", "table1", "--ties", "rank"]);
    assert!(
        text.starts_with("Table 1: Lattice Boltzmann on 10 processes"),
        "{text}"
    );
    assert!(text.contains("contradicts other cells"), "{text}");
    assert!(!text.contains("receive-time"), "{text}");
    let csv = run(&[
        "reproduce",
        "table1",
        "--format",
        "csv",
        "--html",
        "page.html",
    ]);
    let head = "table,row,processes,alpha,scenario,paper,ours,error,flagged,migrations";
    let csv = rows(&csv);
    assert_eq!(csv.lines().next(), Some(head));
    // Six cells of scenario i, 18 of ii, 18 of iii in three ways.
    assert_eq!(csv.lines().count(), 1 + 6 + 18 + 3 * 18);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert_eq!(
        page.matches("<svg").count(),
        3,
        "one chart for each interval"
    );
    let summary = run(&["reproduce", "table1", "--summary"]);
    assert!(summary.starts_with("Mean"), "{summary}");
    // Links lead to sections of the page.
    let page = page.replace("href=\"#", "");
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let folder = Folder::new();
    let ended = folder.run(&["reproduce", "table8"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("table7, table9, fig16"),
        "{}",
        ended.stderr
    );
    folder.fails(
        &["reproduce", "table1", "--summary", "--format", "csv"],
        2,
        "--summary cannot be used with --format",
    );
    let ended = folder.run(&["reproduce", "table1", "--html", "no/such/folder.html"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stderr
            .contains("no/such/folder.html: cannot be written"),
        "{}",
        ended.stderr
    );
}

/// What the command prints for the longest run of Lattice Boltzmann.
fn longest(processes: u32, interval: u32) -> Value {
    let text = output(&[
        "simulate",
        &format!("conf/paper/lbm-{processes}.toml"),
        "--format",
        "json",
        "--set",
        &format!("scheduler.interval={interval}"),
    ]);
    serde_json::from_str(&text).unwrap()
}

fn calls<'a>(report: &'a Value, scenario: &str) -> &'a [Value] {
    let runs = report["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["scenario"] == scenario).unwrap();
    run["calls"].as_array().unwrap()
}

#[test]
fn intervals_double_while_the_system_is_balanced() {
    for processes in [10, 25, 50, 100] {
        for (interval, expected) in [
            (4, vec![4, 12, 28, 60, 124, 252, 508, 1020]),
            (8, vec![8, 24, 56, 120, 248, 504, 1016]),
            (16, vec![16, 48, 112, 240, 496, 1008]),
        ] {
            let report = longest(processes, interval);
            for scenario in ["ii", "iii"] {
                let calls = calls(&report, scenario).iter();
                let held: Vec<u64> = calls
                    .map(|call| call["superstep"].as_u64().unwrap())
                    .collect();
                assert_eq!(held, expected, "{processes} processes, interval {interval}");
            }
        }
    }
    // Unbalanced until the tolerance has grown after three idle calls.
    let report = longest(200, 4);
    let held = calls(&report, "ii")
        .iter()
        .map(|call| call["superstep"].as_u64().unwrap());
    assert_eq!(held.take(6).collect::<Vec<_>>(), [4, 8, 12, 16, 24, 40]);
}

#[test]
fn processes_of_the_slowest_clusters_move_first() {
    let check = |processes: u32, expected: &str| {
        let report = longest(processes, 4);
        let moves: Vec<String> = calls(&report, "iii")
            .iter()
            .flat_map(|call| {
                let migrations = call["migrations"].as_array().unwrap();
                migrations.iter().map(|moved| {
                    let word = |key: &str| moved[key].as_str().unwrap().to_owned();
                    format!("{} {} {}", call["superstep"], word("process"), word("to"))
                })
            })
            .collect();
        assert_eq!(moves.join(", "), expected, "{processes} processes");
    };
    check(10, "");
    check(
        25,
        "4 p21 aquario-1, 12 p22 aquario-2, 28 p23 aquario-3, 60 p24 aquario-4, 124 p25 aquario-5",
    );
    let eight = "4 p37 aquario-1, 12 p38 aquario-2, 28 p39 aquario-3, 60 p40 aquario-4, \
                 124 p41 aquario-5, 252 p42 aquario-6, 508 p21 aquario-7, 1020 p22 aquario-8";
    check(50, eight);
    check(100, eight);
}
