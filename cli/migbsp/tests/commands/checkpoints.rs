//! `[checkpoint]`: what saving states takes, in results, answers and records.

use std::fs;

use serde_json::Value;

use crate::invocation::Folder;
use crate::schemas;

const SIMULATE: [&str; 2] = ["simulate", "e.toml"];

/// The arguments of a simulation with checkpoints after every second superstep, and these.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let set = ["--set", "checkpoint.interval=2 supersteps"];
    [&SIMULATE[..], &set, more].concat()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_summary_says_what_checkpoints_took() {
    let folder = Folder::new();
    let text = folder.stdout(&with(&[]));
    assert!(text.contains("9 checkpoints saved "), "{text}");
    assert!(text.contains("One failure would have lost "), "{text}");
    let found = folder.stdout(&with(&["--format", "json"]));
    schemas::check(&found, "simulate");
    let run = &json(&found)["runs"][0];
    let saved = &run["checkpoints"];
    let number = |key: &str| saved[key].as_f64().unwrap();
    assert_eq!(saved["number"], 9);
    assert_eq!(saved["bytes"], saved["sent_bytes"]);
    // Four processes declare 100 kB each; they have inboxes and agents in addition.
    assert!(9.0 * 4e5 < number("bytes"), "{saved}");
    let part = number("stall_seconds") / run["seconds"].as_f64().unwrap();
    assert!((number("stall_part") - part).abs() < 1e-12);
    let sized = ["--set", "checkpoint.bytes=50 kB", "--format", "json"];
    let sized = json(&folder.stdout(&with(&sized)));
    assert_eq!(sized["runs"][0]["checkpoints"]["bytes"], 9 * 4 * 50_000);
    let without = json(&folder.stdout(&[&SIMULATE[..], &["--format", "json"]].concat()));
    assert!(without["runs"][0].get("checkpoints").is_none());
}

#[test]
fn without_a_checkpoint_that_became_complete_there_is_a_warning() {
    let folder = Folder::new();
    let arguments = [&SIMULATE[..], &["--set", "checkpoint.interval=10min"]].concat();
    let ended = folder.run(&arguments);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("no checkpoint became complete"),
        "{ended:?}"
    );
}

#[test]
fn answers_say_what_they_cost_and_which_interval_loses_least() {
    let folder = Folder::new();
    folder.stdout(&with(&["--out", "saved"]));
    let text = folder.stdout(&["explain", "saved/iii"]);
    assert!(
        text.contains("if each of 4 nodes fails in 30.00 days on average"),
        "{text}"
    );
    let answer = folder.stdout(&["explain", "saved/iii", "--format", "json"]);
    let saved = &json(&answer)["checkpoints"];
    let number = |key: &str| saved[key].as_f64().unwrap();
    let optimal = (2.0 * number("cost_seconds") * number("mtbf_seconds") / 4.0).sqrt();
    let optimal = optimal.clamp(1.0, 600.0);
    assert!(
        (number("optimal_seconds") - optimal).abs() < 1e-9,
        "{saved}"
    );
}

/// A checkpoint that is left out, begins too early, or is there without being configured.
#[test]
fn records_are_held_to_the_interval() {
    let folder = Folder::new();
    folder.stdout(&with(&["--out", "saved"]));
    let verify = ["verify", "saved/iii"];
    let text = folder.stdout(&verify);
    assert!(
        text.contains("9 checkpoints held to the interval"),
        "{text}"
    );
    let path = folder.path().join("saved/iii/events.jsonl");
    let events = fs::read_to_string(&path).unwrap();
    let of = |superstep: u64| format!("\"checkpoint\",\"superstep\":{superstep},");
    let without: String = events
        .split_inclusive('\n')
        .filter(|line| !line.contains(&of(4)))
        .collect();
    let early = events.replace(&of(4), &of(3));
    for (changed, problem) in [(without, "left_out"), (early, "interval_is_over")] {
        assert_ne!(changed, events);
        fs::write(&path, changed).unwrap();
        let ended = folder.run(&verify);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(ended.stdout.contains(problem), "{problem}: {ended:?}");
    }
    fs::write(&path, &events).unwrap();
    let path = folder.path().join("saved/iii/run.json");
    let run = fs::read_to_string(&path).unwrap();
    fs::write(&path, run.replace("\"2 supersteps\"", "\"never\"")).unwrap();
    let ended = folder.run(&verify);
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

#[test]
fn invalid_values_end_with_a_remedy() {
    let folder = Folder::new();
    for (set, problem) in [
        (
            "checkpoint.interval=soon",
            "must be a time above 0 s such as \"10 s\"",
        ),
        ("checkpoint.interval=0 s", "must be a time above 0 s"),
        ("checkpoint.mtbf=0 s", "must be above 0 s"),
        ("checkpoint.change=2", "must be a number from 0 to 1"),
        ("checkpoint.every=10s", "unknown key `checkpoint.every`"),
    ] {
        let ended = folder.run(&[&SIMULATE[..], &["--set", set]].concat());
        assert_eq!(ended.code, Some(2), "{set}: {ended:?}");
        assert!(ended.stderr.contains(problem), "{set}: {ended:?}");
    }
    let alone = "[[set]]\nname = 'a'\nhosts = 1\nspeed = '1 Gf'\nlink = { bandwidth = '1 Gbps' }\n";
    let folder = folder.with("one.toml", alone);
    let ended = folder.run(&with(&["--set", "platform.file=one.toml"]));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.contains("set `checkpoint.copies = false`"),
        "{ended:?}"
    );
    folder.stdout(&with(&[
        "--set",
        "platform.file=one.toml",
        "--set",
        "checkpoint.copies=false",
    ]));
}
