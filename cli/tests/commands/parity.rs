//! What is simulated and what runs on real processes comes out the same, and is decided by the same rules.

use std::path::Path;

use serde_json::Value;

use crate::invocation::Folder;

/// Runs the shipped experiment `name` live and simulated, and holds the one against the other; how often somebody
/// moved live.
fn check(name: &str, changes: &[&str]) -> usize {
    let folder = Folder::new();
    let conf = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../conf"));
    let file = conf.join(name).display().to_string();
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

#[test]
fn processes_leave_a_slow_node_that_is_real_and_that_pays() {
    let folder = Folder::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../conf/heat-local.toml");
    let up = [
        "up", "--local", "4", "--sets", "2", "--slow", "4:0.4", "--", "run", file,
    ];
    let short = ["--set", "application.supersteps=150", "--format", "json"];
    let live: Value = serde_json::from_str(&folder.stdout(&[&up[..], &short].concat())).unwrap();
    let calls = live["run"]["calls"].as_array().unwrap().iter();
    let moves: Vec<&Value> = calls
        .flat_map(|call| call["migrations"].as_array().unwrap())
        .collect();
    let leaves = |migration: &&&Value| migration["from"] == "node-4" && migration["to"] != "node-4";
    assert!(moves.iter().any(|migration| leaves(&migration)), "{live}");
    assert!(
        live["payback"]["paid_after"].is_u64(),
        "{}",
        live["payback"]
    );
}
