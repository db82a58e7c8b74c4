//! What is simulated and what runs on real processes comes out the same, and is decided by the same rules.

use serde_json::Value;

use crate::invocation::{Folder, root};

/// Runs the shipped experiment `name` live and simulated, and compares the results; the number of
/// live migrations.
fn check(name: &str, changes: &[&str]) -> usize {
    let folder = Folder::new();
    let file = root().join("conf").join(name).display().to_string();
    let set = changes.iter().flat_map(|change| ["--set", *change]);
    let set: Vec<&str> = set.chain(["--format", "json"]).collect();
    let alone = [
        &["simulate", &file, "--set", "scheduler.scenario=i"][..],
        &set,
    ]
    .concat();
    let alone: Value = serde_json::from_str(&folder.stdout(&alone)).unwrap();
    let up = ["up", "--local", "3", "--sets", "2", "--slow", "3:0.4", "--"];
    let live = [
        "run",
        &file,
        "--out",
        "record",
        "--set",
        "placement.offset=0",
    ];
    let barrier = ["--set", "barrier.shape=hierarchical"];
    let live = [&up[..], &live, &barrier, &set].concat();
    let live: Value = serde_json::from_str(&folder.stdout(&live)).unwrap();
    let outputs = |run: &Value| run["outputs_sha256"].as_str().unwrap().to_owned();
    assert_eq!(outputs(&live["run"]), outputs(&alone["runs"][0]), "{name}");
    assert_eq!(
        live["run"]["verified"], alone["runs"][0]["verified"],
        "{name}"
    );
    // Decided again from what was observed, everything is as recorded.
    let verified: Value =
        serde_json::from_str(&folder.stdout(&["verify", "record", "--format", "json"])).unwrap();
    assert!(
        verified["calls"]
            .as_array()
            .is_some_and(|calls| !calls.is_empty()),
        "{verified}"
    );
    let calls = live["run"]["calls"].as_array().unwrap().iter();
    calls
        .map(|call| call["migrations"].as_array().unwrap().len())
        .sum()
}

#[test]
fn a_lattice_is_the_same_on_real_processes() {
    let changes = ["application.supersteps=60", "scheduler.interval=2"];
    for policy in ["scheduler.policy=migbsp", "scheduler.policy=adaptive"] {
        check("lbm-cavity.toml", &[&changes[..], &[policy]].concat());
    }
}

#[test]
fn an_alignment_is_the_same_on_real_processes() {
    check("smith-waterman-kernel.toml", &[]);
}

#[test]
fn a_factorisation_is_the_same_on_real_processes() {
    check("lu-kernel.toml", &["scheduler.policy=fixed+greedy-refine"]);
}
