//! A limited link between the Sets of a local cluster.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::under_way::{UnderWay, is_alive};

const TWO_SETS: [&str; 5] = ["up", "--local", "2", "--sets", "2"];
const RUN: [&str; 6] = ["--", "run", "heat.toml", "--format", "json", "--out"];

/// Runs the experiment with these options of `up`: the result, and the seconds for a byte to the other Set that the
/// Manager of the first one measures.
fn run(folder: &Folder, options: &[&str], out: &str) -> (Value, f64) {
    let live = folder.stdout(&[&TWO_SETS[..], options, &RUN, &[out]].concat());
    folder.stdout(&["verify", &format!("{out}/iii")]);
    let live: Value = serde_json::from_str(&live).unwrap();
    let events = fs::read_to_string(folder.path().join(out).join("iii/events.jsonl")).unwrap();
    let mut events = events.lines();
    let first = events.find(|line| line.contains("\"transfer_rates\""));
    let first: Value = serde_json::from_str(first.unwrap()).unwrap();
    (live, first["transfer_rates"][1].as_f64().unwrap())
}

fn folder() -> Folder {
    let policy = "\n[scheduler]\npolicy = \"migbsp\"\ninterval = 4\n";
    Folder::new().with("heat.toml", format!("{HEAT}{policy}"))
}

#[test]
fn a_limited_link_is_measured_and_changes_no_result() {
    let folder = folder();
    let (free, rate) = run(&folder, &[], "free");
    assert!(rate < 1e-7, "{rate}");
    let (limited, rate) = run(&folder, &["--between", "5MBps,1ms"], "limited");
    // 2e-7 seconds a byte.
    assert!((1e-7..4e-7).contains(&rate), "{rate}");
    let level = ["--between", "5MBps", "--level", "0.2"];
    let (part, rate) = run(&folder, &level, "part");
    assert!((5e-7..2e-6).contains(&rate), "{rate}");
    for limited in [limited, part] {
        let digest = &limited["run"]["outputs_sha256"];
        assert!(digest.is_string(), "{limited}");
        assert_eq!(digest, &free["run"]["outputs_sha256"]);
    }
}

#[test]
fn levels_of_a_file_hold_and_drawn_ones_run() {
    let folder = folder().with("levels.csv", "seconds,level\n0,0.2\n1000,1\n");
    let file = ["--between", "5MBps", "--level", "levels.csv"];
    let (_, rate) = run(&folder, &file, "file");
    assert!((5e-7..2e-6).contains(&rate), "{rate}");
    let drawn = [
        "--between",
        "20MBps",
        "--level",
        "0.4..0.6",
        "--dwell",
        "50ms",
        "--seed",
        "7",
    ];
    let (_, rate) = run(&folder, &drawn, "drawn");
    // From 8 to 12 MB/s.
    assert!((5e-8..2.5e-7).contains(&rate), "{rate}");
}

#[test]
fn status_shows_the_nodes_themselves() {
    let folder = Folder::new();
    let words = [&TWO_SETS[..], &["--between", "1MBps", "--", "status"]].concat();
    let table = folder.stdout(&words);
    let rows = table.lines().filter(|line| line.contains("127.0.0.1:"));
    assert_eq!(rows.count(), 2, "{table}");
}

#[test]
fn no_process_outlives_up_with_a_link() {
    let folder = Folder::new().with("heat.toml", HEAT);
    for (kind, code) in [("INT", Some(130)), ("KILL", None)] {
        let link = ["--between", "5MBps", "--"];
        let run = ["run", "heat.toml", "--set", "application.supersteps=900000"];
        let words = [&TWO_SETS[..], &link, &run, &["--out", kind]].concat();
        let up = UnderWay::start(&mut folder.command(&words));
        let record = folder.path().join(kind).join("iii/events.jsonl");
        while fs::metadata(&record).map_or(0, |data| data.len()) == 0 {
            assert!(!up.is_over(), "{:?}", up.ends_within(0));
        }
        let nodes = up.children();
        assert_eq!(nodes.len(), 2);
        up.signal(kind);
        assert_eq!(up.ends_within(10).code, code);
        let began = Instant::now();
        while nodes.iter().any(|pid| is_alive(*pid)) {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "{kind}: {nodes:?}"
            );
        }
    }
}

#[test]
fn links_that_cannot_be_are_refused() {
    let folder = Folder::new().with("zero.csv", "seconds,level\n0,1\n5,0\n");
    let problem = |options: &[&str], code| {
        let words = [&["up", "--local", "2"], options, &["--", "status"]].concat();
        let ended = folder.run(&words);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{ended:?}"
        );
        ended.stderr
    };
    let one_set = problem(&["--between", "5MBps"], 2);
    let expected = "error: --between: there is one Set, so no link between Sets: add --sets 2\n";
    assert_eq!(one_set, expected);
    for (link, expected) in REFUSED {
        let found = problem(&[&["--sets", "2", "--between"], *link].concat(), 2);
        assert!(found.contains(expected), "{link:?}: {found}");
    }
    problem(&["--sets", "2", "--level", "0.5"], 2);
    let invalid = problem(
        &["--sets", "2", "--between", "5MBps", "--level", "zero.csv"],
        4,
    );
    let expected =
        "error: invalid value `0` for `level`: must be above 0 and at most 1\n  --> zero.csv:3\n";
    assert_eq!(invalid, expected);
}

/// Values of `--between` with other options, and a part of the error.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["5"],
        "'--between <RATE[,LATENCY]>': `5` has no unit: must be a bandwidth such as 11.8MBps or 10Mbps",
    ),
    (&["0MBps"], "RATE: must be positive"),
    (&["-5MBps"], "RATE: must be positive"),
    (
        &["nan"],
        "RATE: must be a bandwidth such as `12.5 MBps` or `100 Mbps`",
    ),
    (&["5MB"], "RATE: unknown unit `MB`"),
    (
        &["5MBps,2"],
        "LATENCY: `2` has no unit: must be a time such as 2ms",
    ),
    (&["5MBps,0ms"], "LATENCY: must be above 0"),
    (&["5MBps,-2ms"], "LATENCY: must be at least 0"),
    (&["5MBps,3s"], "LATENCY: must be at most 0.5 s"),
    (&["5MBps", "--level", "0"], "must be above 0 and at most 1"),
    (
        &["5MBps", "--level", "-0.5"],
        "must be above 0 and at most 1",
    ),
    (
        &["5MBps", "--level", "nan"],
        "must be above 0 and at most 1",
    ),
    (
        &["5MBps", "--level", "0..1"],
        "must be A..B with 0 < A <= B <= 1, such as 0.2..0.8",
    ),
    (
        &["5MBps", "--level", "none.csv"],
        "--level none.csv: no such file: must be a level such as 0.5",
    ),
    (
        &["5MBps", "--level", "0.5", "--seed", "1"],
        "--seed: only drawn levels have it",
    ),
    (
        &["5MBps", "--level", "0.1..1", "--dwell", "0s"],
        "must be above 0",
    ),
    (
        &["5MBps", "--level", "0.1..1", "--dwell", "-1s"],
        "must be at least 0",
    ),
    (
        &["5MBps", "--level", "0.1..1", "--dwell", "2"],
        "`2` has no unit: must be a time such as 2ms",
    ),
];
