//! Clocks that differ by an hour make no difference.
//!
//! The clock that never goes back is another one in a namespace of its own, which takes the right to make one
//! (root); the time of day is changed by libfaketime, as Debian installs it. What is missing is said, and not tested.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::live::cluster::Cluster;

/// Starts a command with a monotonic clock that is an hour ahead.
const SINCE_BOOT: [&str; 7] = [
    "unshare",
    "--time",
    "--fork",
    "--kill-child",
    "--monotonic=3600",
    "--boottime=3600",
    "--",
];
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

fn works(command: &[&str]) -> bool {
    let ended = Command::new(command[0])
        .args(&command[1..])
        .arg("true")
        .output();
    ended.is_ok_and(|ended| ended.status.success())
}

#[test]
fn nodes_whose_clocks_differ_by_an_hour_work_together() {
    let preload = format!("LD_PRELOAD={FAKETIME}");
    let of_day = |offset| ["env", &preload, offset, "FAKETIME_DONT_FAKE_MONOTONIC=1"];
    let (ahead, behind) = (of_day("FAKETIME=+1h"), of_day("FAKETIME=-1h"));
    let mut starters: Vec<&[&str]> = Vec::new();
    for (what, starter, is_there) in [
        ("time namespaces", &SINCE_BOOT[..], works(&SINCE_BOOT)),
        ("libfaketime, ahead", &ahead, Path::new(FAKETIME).exists()),
        ("libfaketime, behind", &behind, Path::new(FAKETIME).exists()),
    ] {
        if is_there {
            starters.push(starter);
        } else {
            eprintln!("not tested, because it is not possible here: {what}");
        }
    }
    let mut cluster = Cluster::start(&[1]);
    for starter in starters {
        cluster.join(starter, "s0");
    }
    let run = [
        "run",
        "heat.toml",
        "--out",
        "record",
        "--set",
        "scheduler.policy=migbsp",
        "--set",
        "scheduler.interval=4",
    ];
    let ended = cluster.command("hosts", &run).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    cluster.folder.stdout(&["verify", "record"]);
    let events =
        std::fs::read_to_string(cluster.folder.path().join("record/iii/events.jsonl")).unwrap();
    let mut times = Vec::new();
    for line in events.lines() {
        times_in(&serde_json::from_str(line).unwrap(), &mut times);
    }
    assert!(times.len() > 4, "{events}");
    assert!(
        times.iter().all(|time| (0.0..60.0).contains(time)),
        "{times:?}"
    );
}

/// All that are called times in a line of a record, and what was received.
fn times_in(value: &Value, times: &mut Vec<f64>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_f64() {
                    Some(time) if ["time", "took", "at", "ended"].contains(&name.as_str()) => {
                        times.push(time);
                    }
                    _ => times_in(field, times),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| times_in(value, times)),
        _ => {}
    }
}
