//! The example as its users meet it.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod invocation;
mod live;
mod snapshots;

use serde_json::Value;

use crate::invocation::{folder, life, stdout};

#[test]
fn the_glider_returns_and_migration_pays() {
    let folder = folder();
    let json = stdout(
        folder.path(),
        &["simulate", "life.toml", "--format", "json"],
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let [alone, _, migrating] = &json["runs"].as_array().unwrap()[..] else {
        panic!("three scenarios: {json}");
    };
    for run in [alone, migrating] {
        assert_eq!(
            run["verified"],
            "the glider has gone 64 cells down and to the right"
        );
    }
    let [before, after] = [alone, migrating].map(|run| run["seconds"].as_f64().unwrap());
    assert!(after < 0.7 * before, "{after} s after {before} s");
}

#[test]
fn it_has_the_commands_and_the_shipped_workloads() {
    let folder = folder();
    let folder = folder.path();
    let few = ["--set", "application.supersteps=21"];
    let simulate = ["simulate", "life.toml", "--out", "record"];
    stdout(folder, &[&simulate[..], &few].concat());
    let text = stdout(folder, &["explain", "record"]);
    assert!(text.contains("12 processes, 21 supersteps"), "{text}");
    let compare = [
        "compare",
        "life.toml",
        "--policy",
        "none",
        "--policy",
        "adaptive",
    ];
    let text = stdout(folder, &[&compare[..], &few].concat());
    assert!(text.contains("adaptive"), "{text}");
    let text = stdout(folder, &["simulate", "life.toml", "--print-config"]);
    assert!(text.contains("[application.life]"), "{text}");
    let text = stdout(folder, &["simulate", "--help"]);
    for workload in ["life  ", "heat  ", "synthetic  "] {
        assert!(text.contains(workload), "{text}");
    }
}

#[test]
fn bad_parameters_are_named() {
    let folder = folder();
    let check = |set: &str, expected: &str| {
        let output = life(folder.path(), &["simulate", "life.toml", "--set", set]);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr, format!("error: {expected}\n"));
    };
    check(
        "application.life.size=11",
        "invalid value `11` for `application.life.size`: must be at least 12, a row for each process and room for a \
         glider\n  --> --set",
    );
    check(
        "application.life.sise=11",
        "unknown key `application.life.sise`\n  --> --set\n  help: did you mean `size`?",
    );
}
