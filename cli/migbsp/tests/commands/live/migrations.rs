//! `bench migration`: what moving states costs, and how near predictions are.

use std::fs;

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::under_way::{UnderWay, is_alive};

/// A link between two nodes, and a bench behind it.
const LIMITED: [&str; 9] = [
    "up",
    "--local",
    "2",
    "--sets",
    "2",
    "--between",
    "11.8MBps",
    "--",
    "bench",
];

fn words<'a>(up: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    [up, &["migration"], options].concat()
}

#[test]
fn states_of_two_kinds_move_and_moves_are_predicted() {
    let folder = Folder::new();
    let files = ["--svg", "moves.svg", "--write", "link.toml"];
    let options = [
        "--moves",
        "8",
        "--kind",
        "linpack,xlintims",
        "--level",
        "0.5",
    ];
    let options = [
        &options[..],
        &files,
        &["--estimator", "all", "--format", "json"],
    ]
    .concat();
    let result: Value = serde_json::from_str(&folder.stdout(&words(&LIMITED, &options))).unwrap();
    assert_eq!(result["schema"], "migbsp.bench-migration/1");
    assert_eq!(result["nodes"], serde_json::json!(["node-1", "node-2"]));
    assert_eq!(result["equal_outputs"], serde_json::json!([2, 2]));
    assert_eq!(result["all"]["moves"], 16);
    let kinds = result["kinds"].as_array().unwrap();
    for kind in kinds {
        assert_eq!(kind["each"].as_array().unwrap().len(), 8);
        // A probe goes before each move that is long, and the link is steady. What else runs here makes moves longer.
        assert!(kind["median_error"].as_f64() < Some(0.5), "{kind}");
        // Bytes take what they take at the rate of the link, but for those that it has room for at once. Of a single move
        // the hosts may know less: not of the time before a busy receiver first looks at its clock.
        let of_least = |each: &Value| {
            let number = |key: &str| each[key].as_f64().unwrap();
            number("frozen_seconds") / ((number("bytes") - 4096.0) / 5.9e6)
        };
        let mut found: Vec<f64> = kind["each"]
            .as_array()
            .unwrap()
            .iter()
            .map(of_least)
            .collect();
        found.sort_by(f64::total_cmp);
        assert!(0.9 < found[0] && 1.0 <= found[4], "{found:?} {kind}");
    }
    let estimators = result["estimators"].as_array().unwrap();
    let names: Vec<_> = estimators.iter().map(|one| &one["estimator"]).collect();
    assert_eq!(names[..4], ["used", "probe", "forecast", "last"]);
    let chart = fs::read_to_string(folder.path().join("moves.svg")).unwrap();
    for text in ["linpack", "xlintims", "as predicted"] {
        assert!(chart.contains(text), "{chart}");
    }
    let shown = folder.stdout(&["platform", "show", "link.toml"]);
    assert!(shown.contains("set-1  set-2"), "{shown}");
}

#[test]
fn without_a_limit_states_move_between_any_nodes() {
    let up = ["up", "--local", "3", "--", "bench"];
    let pair = ["--from", "node-3", "--to", "node-2"];
    let options = [&["--moves", "2", "--kind", "gzip"][..], &pair].concat();
    let table = Folder::new().stdout(&words(&up, &options));
    assert!(table.starts_with("2 moves of 1 kind of state between node-3 and node-2"));
    assert!(table.contains("outputs were equal: 1 of 1"), "{table}");
    let csv = Folder::new().csv(&words(&up, &options));
    assert_eq!(
        csv.lines().filter(|line| line.starts_with("gzip,")).count(),
        2
    );
}

#[test]
fn an_interrupted_bench_shows_what_is_complete_and_leaves_no_process() {
    let folder = Folder::new();
    let options = ["--kind", "gzip,linpack", "--moves", "1", "--format", "csv"];
    // The second kind takes minutes.
    let slow = ["--state", "3MB..4MB", "--level", "0.001"];
    let options = [&options[..], &slow].concat();
    let bench = UnderWay::start(&mut folder.command(&words(&LIMITED, &options)));
    bench.handles_interrupts_within(15);
    let nodes = bench.children();
    assert_eq!(nodes.len(), 2);
    bench.signal("INT");
    let ended = bench.ends_within(15);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted"), "{ended:?}");
    assert!(!nodes.into_iter().any(is_alive));
}

#[test]
fn benches_that_cannot_be_are_refused_before_nodes_start() {
    let folder = Folder::new();
    let local = ["up", "--local", "2", "--", "bench"];
    let alone = ["up", "--local", "1", "--", "bench"];
    let cases: [(&[&str], &[&str], &str); 17] = [
        (&local, &["--level", "0.5"], "there is no link between Sets"),
        (&["bench"], &["--level", "0.5"], "put the bench behind `up"),
        (&LIMITED, &["--level", "0"], "--level"),
        (&LIMITED, &["--level", "-0.5..0.5"], "--level"),
        (&LIMITED, &["--level", "fast"], "--level"),
        (
            &LIMITED,
            &["--level", "0.1..0.9", "--dwell", "10"],
            "--dwell",
        ),
        (
            &LIMITED,
            &["--level", "0.5", "--dwell", "1s"],
            "only drawn levels have it",
        ),
        (&local, &["--from", "node-9"], "--from node-9: no such node"),
        (&local, &["--to", "node-1"], "both node-1"),
        (&alone, &[], "add --local 2"),
        (&local, &["--moves", "0"], "--moves"),
        (&local, &["--kind", "lapack"], "--kind"),
        (&local, &["--state", "1..2"], "units"),
        (
            &local,
            &["--state", "4MB..1MB"],
            "a number from the first one",
        ),
        (&local, &["--state", "0MB..1MB"], "a number from 1 kB"),
        (&local, &["--state", "60GB..64GB"], "not enough memory"),
        (&local, &["--svg", "none/moves.svg"], "none"),
    ];
    for (up, options, message) in cases {
        let ended = folder.run(&words(up, options));
        assert!(
            matches!(ended.code, Some(1 | 2 | 4)),
            "{options:?}: {ended:?}"
        );
        assert!(ended.stderr.contains(message), "{options:?}: {ended:?}");
        assert!(ended.stdout.is_empty(), "{options:?}");
    }
}
