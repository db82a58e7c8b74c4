//! Parts of the papers' tables, each run alone, and the courses of their longest runs.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::invocation::{BINARY, Folder, root, rows};

/// What the binary prints for `arguments` in the sources' folder.
pub(crate) fn output(arguments: &[&str]) -> String {
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
