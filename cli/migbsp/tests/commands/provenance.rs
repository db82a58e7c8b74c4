//! What made a result stands at its head, as JSON and as CSV.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::invocation::Folder;

const RUN: [&str; 2] = ["simulate", "e.toml"];

/// The JSON that a command prints.
#[track_caller]
fn object(folder: &Folder, arguments: &[&str]) -> Value {
    let text = folder.stdout(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text).unwrap()
}

/// The comments of the CSV that a command prints, as an object.
#[track_caller]
fn head(folder: &Folder, arguments: &[&str]) -> Value {
    let text = folder.stdout(&[arguments, &["--format", "csv"]].concat());
    let comments = text.lines().map_while(|line| line.strip_prefix("# "));
    let entry = |comment: &str| {
        let (key, value) = comment.split_once(": ").unwrap();
        (key.to_owned(), serde_json::from_str(value).unwrap())
    };
    Value::Object(comments.map(entry).collect())
}

/// Everything that `head` has is in `result`, too.
#[track_caller]
fn agree(head: &Value, result: &Value) {
    let head = head.as_object().unwrap();
    assert!(
        head.contains_key("schema") && head.contains_key("build"),
        "{head:?}"
    );
    for (key, value) in head {
        assert_eq!(value, &result[key], "{key}");
    }
}

/// The digest of the configuration of a record, computed as the documentation says.
fn digest(record: &Value) -> String {
    let text = record["configuration"].to_string();
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn a_result_names_program_configuration_policy_overrides_and_seed() {
    let folder = Folder::new().with_variable("MIGBSP__SCHEDULER__INTERVAL", "6");
    let options = [
        "--seed",
        "9",
        "--policy",
        "adaptive",
        "--set",
        "barrier.message=16 B",
    ];
    let run = [&RUN[..], &options].concat();
    let json = object(&folder, &[&run[..], &["--out", "kept"]].concat());
    assert_eq!(json["schema"], "migbsp.simulate/1");
    assert_eq!(
        json["version"],
        concat!("migbsp ", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(json["build"]["program"], "migbsp");
    assert_eq!(
        (&json["policy"], &json["seed"]),
        (&"adaptive".into(), &9.into())
    );
    let overrides = serde_json::json!([
        {"key": "barrier.message", "value": "16 B", "from": "--set"},
        {"key": "run.seed", "value": 9, "from": "--set"},
        {"key": "scheduler.interval", "value": 6, "from": "environment MIGBSP__SCHEDULER__INTERVAL"},
        {"key": "scheduler.policy", "value": "adaptive", "from": "--set"},
        {"key": "scheduler.script", "value": [], "from": "--set"},
    ]);
    assert_eq!(json["overrides"], overrides);
    agree(&head(&folder, &run), &json);
    let record = fs::read(folder.path().join("kept/iii/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    for key in KEYS {
        assert_eq!(record[key], json[key], "{key}");
    }
    assert_eq!(json["configuration_sha256"], digest(&record));
    let platform = fs::read(folder.path().join("two.xml")).unwrap();
    let platform: String = Sha256::digest(platform)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(json["platform_sha256"], platform);
}

#[test]
fn equal_configurations_have_equal_digests_wherever_they_are_written() {
    let folder = Folder::new();
    let of = |file: &str, changes: &[&str]| {
        object(&folder, &[&["simulate", file], changes].concat())["configuration_sha256"].clone()
    };
    let plain = of("e.toml", &[]);
    assert_eq!(of("e.toml", &["--set", "run.seed=1"]), plain);
    assert_ne!(of("e.toml", &["--set", "run.seed=2"]), plain);
}

#[test]
fn an_answer_about_a_record_names_the_program_that_made_it() {
    let folder = Folder::new();
    let seed = [&RUN[..], &["--seed", "5"]].concat();
    let run = object(&folder, &[&seed[..], &["--out", "kept"]].concat());
    for command in ["explain", "verify"] {
        let json = object(&folder, &[command, "kept"]);
        for key in KEYS {
            assert_eq!(json[key], run[key], "{command}: {key}");
        }
        assert_eq!(json["recorded_by"], run["build"], "{command}");
        agree(&head(&folder, &[command, "kept"]), &json);
    }
}

#[test]
fn every_run_of_a_comparison_has_its_configuration() {
    let folder = Folder::new();
    let compare = [
        "compare",
        "e.toml",
        "--policy",
        "none",
        "--policy",
        "migbsp:interval=6",
    ];
    let compare = [
        &compare[..],
        &["--set", "barrier.message=16", "--seeds", "7"],
    ]
    .concat();
    let json = object(&folder, &[&compare[..], &["--out", "runs"]].concat());
    agree(&head(&folder, &compare), &json);
    let overrides = serde_json::json!([{"key": "barrier.message", "value": 16, "from": "--set"}]);
    assert_eq!(json["overrides"], overrides);
    let set = [
        "--set",
        "barrier.message=16",
        "--set",
        "scheduler.interval=6",
        "--set",
        "scheduler.scenario=iii",
    ];
    let alike = object(
        &folder,
        &[&["simulate", "e.toml", "--seed", "7"], &set[..]].concat(),
    );
    let lines = fs::read_to_string(folder.path().join("runs/runs.jsonl")).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(
            (&line["version"], &line["build"]),
            (&json["version"], &json["build"])
        );
        assert_eq!(line["seed"], 7);
        let is_same = |run: &&Value| run["policy"] == line["policy"];
        let run = json["runs"]
            .as_array()
            .unwrap()
            .iter()
            .find(is_same)
            .unwrap();
        assert_eq!(run["configuration_sha256"], line["configuration_sha256"]);
        assert!(line["overrides"].as_array().unwrap().len() > overrides.as_array().unwrap().len());
        if line["policy"] == "migbsp:interval=6" {
            assert!(alike["configuration_sha256"].is_string());
        }
    }
}

#[test]
fn a_result_without_an_experiment_names_the_program_and_what_it_has() {
    let instance = r#"{"capacities": [1, 1], "cluster": [0, 0], "bandwidth": {"intra": 1, "inter": 1},
        "processes": [[2, 1, 0], [2, 1, 0]], "targets": [2]}"#;
    let folder = Folder::new().with("i.json", instance);
    let solve = ["rebalance", "i.json", "--budget", "10 steps", "--seed", "4"];
    let absent = |json: &Value, keys: &[&str]| {
        for key in keys {
            assert!(json.get(key).is_none(), "{key}: {json}");
        }
    };
    let json = object(&folder, &solve);
    assert_eq!(json["seed"], 4);
    assert!(json["configuration_sha256"].is_string());
    absent(
        &json,
        &["policy", "overrides", "platform_sha256", "recorded_by"],
    );
    let platform = object(&folder, &["platform", "show", "two.xml"]);
    absent(
        &platform,
        &[
            "policy",
            "overrides",
            "configuration_sha256",
            "seed",
            "recorded_by",
        ],
    );
    agree(&head(&folder, &["platform", "show", "two.xml"]), &platform);
    let reproduced = object(
        &folder,
        &["reproduce", "chen2008-table2", "--instances", "1"],
    );
    absent(
        &reproduced,
        &[
            "policy",
            "overrides",
            "configuration_sha256",
            "platform_sha256",
            "seed",
        ],
    );
    agree(
        &head(
            &folder,
            &["reproduce", "chen2008-table2", "--instances", "1"],
        ),
        &reproduced,
    );
}

/// What results and records of one experiment have in common.
const KEYS: [&str; 7] = [
    "version",
    "build",
    "configuration_sha256",
    "platform_sha256",
    "policy",
    "overrides",
    "seed",
];
