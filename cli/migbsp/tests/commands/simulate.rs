//! `simulate`: the results of runs, and their records.

use std::fs;

use serde_json::Value;

use crate::invocation::{Folder, without};

const JSON: [&str; 4] = ["simulate", "e.toml", "--format", "json"];

#[test]
fn the_object_has_the_promised_shape() {
    let json: Value = serde_json::from_str(&Folder::new().stdout(&JSON)).unwrap();
    assert_eq!(json["schema"], "migbsp.simulate/1");
    let runs = json["runs"].as_array().unwrap();
    let scenarios: Vec<&Value> = runs.iter().map(|run| &run["scenario"]).collect();
    assert_eq!(scenarios, ["i", "ii", "iii"]);
    for run in runs {
        assert_eq!(run["supersteps"], 20);
        assert!(0.0 < run["seconds"].as_f64().unwrap());
    }
    assert_eq!(runs[0]["calls"], Value::Array(Vec::new()));
    let calls = runs[2]["calls"].as_array().unwrap();
    assert_eq!(calls[0]["superstep"], 4);
    // Four processes on the slow cluster, and a fast one that is idle.
    let migration = &calls[0]["migrations"][0];
    assert_eq!(
        (&migration["process"], &migration["from"]),
        (&"p1".into(), &"slow-1".into())
    );
    assert_eq!(migration["to"], "fast-1");
    assert!(migration["t1"].as_f64().unwrap() < migration["t2"].as_f64().unwrap());
    for key in ["potential", "cost_seconds"] {
        assert!(migration[key].is_f64(), "{key}");
    }
    for run in &runs[1..] {
        assert_eq!(run["outputs_sha256"], runs[0]["outputs_sha256"]);
    }
}

#[test]
fn options_stand_for_values_of_the_experiment() {
    let folder = Folder::new();
    let json = |arguments: &[&str]| folder.stdout(&[&JSON[..], arguments].concat());
    let short = json(&[
        "-n",
        "3",
        "--seed",
        "7",
        "--policy",
        "adaptive:planning.horizon=20",
    ]);
    let long = json(&[
        "--set",
        "application.processes=3",
        "--set",
        "run.seed=7",
        "--set",
        "scheduler.policy=adaptive",
        "--set",
        "scheduler.planning.horizon=20",
    ]);
    let result = |text: &str| without(text, &["overrides"]);
    assert_eq!(result(&short), result(&long));
    let value: Value = serde_json::from_str(&short).unwrap();
    assert_eq!(
        (&value["seed"], &value["processes"]),
        (&7.into(), &3.into())
    );
    assert_eq!(value["runs"].as_array().unwrap().len(), 3, "all scenarios");
    let none: Value = serde_json::from_str(&json(&["--policy", "none"])).unwrap();
    assert_eq!(none["runs"].as_array().unwrap().len(), 1);
    let ended = folder.run(&["simulate", "e.toml", "--policy", "migbps"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("did you mean `migbsp`?"), "{ended:?}");
    folder.stdout(&["simulate", "e.toml", "-o", "runs"]);
    folder.stdout(&["verify", "runs"]);
}

#[test]
fn a_run_that_saves_little_of_much_names_the_comparison() {
    let folder = Folder::new();
    let text = |arguments: &[&str]| folder.stdout(&[&["simulate", "e.toml"], arguments].concat());
    // No call is held: all of the possible saving is left.
    let hint = "\nOther policies may save more: `migbsp compare e.toml --set scheduler.interval=50` compares them.\n";
    let late = text(&["--set", "scheduler.interval=50"]);
    assert!(late.ends_with(hint), "{late}");
    let comparison = ["compare", "e.toml", "--set", "scheduler.interval=50"];
    folder.stdout(&comparison);
    let saving = text(&[
        "--set",
        "application.supersteps=400",
        "--policy",
        "adaptive",
    ]);
    assert!(!saving.contains("Other policies"), "{saving}");
}

#[test]
fn a_policy_of_none_is_the_application_alone() {
    let arguments = [&JSON[..], &["--set", "scheduler.policy=none"]].concat();
    let json: Value = serde_json::from_str(&Folder::new().stdout(&arguments)).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 1);
    assert_eq!(json["runs"][0]["scenario"], "i");
}

#[test]
fn the_text_shows_the_gain_of_rescheduling() {
    let folder = Folder::new();
    let long = ["simulate", "e.toml", "--set", "application.supersteps=200"];
    let text = folder.stdout(&long);
    assert!(
        text.starts_with("4 processes of synthetic on two.xml"),
        "{text}"
    );
    assert!(text.contains("Rescheduling saved "), "{text}");
    let csv = folder.csv(&["simulate", "e.toml"]);
    assert!(
        csv.starts_with("scenario,seconds,supersteps,calls,migrations,"),
        "{csv}"
    );
}

#[test]
fn the_same_experiment_leaves_the_same_record() {
    let folder = Folder::new();
    let results = [("one", "1"), ("two", "1"), ("three", "3")]
        .map(|(name, jobs)| folder.stdout(&[&JSON[..], &["--out", name, "--jobs", jobs]].concat()));
    assert!(results[1..].iter().all(|others| *others == results[0]));
    for scenario in ["i", "ii", "iii"] {
        for file in ["events.jsonl", "run.json"] {
            let read =
                |name: &str| fs::read(folder.path().join(name).join(scenario).join(file)).unwrap();
            assert!(read("one") == read("two"), "{scenario}/{file}");
            assert!(read("one") == read("three"), "{scenario}/{file}");
        }
    }
    let run = fs::read_to_string(folder.path().join("one/iii/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["configuration"]["scheduler"]["interval"], 4);
    assert_eq!(run["seed"], 1);
}

#[test]
fn a_complete_record_is_only_written_over_on_demand() {
    let folder = Folder::new().with("kept/iii/run.json", "mine");
    // Before anything is run: scenario i leaves nothing behind.
    folder.fails(
        &[&JSON[..], &["--out", "kept"]].concat(),
        2,
        "--out: kept/iii holds a complete record; name another directory, or replace it with --force",
    );
    assert!(!folder.path().join("kept/i").exists());
}

#[test]
fn a_run_that_is_killed_leaves_no_record_that_looks_complete() {
    let folder = Folder::new();
    let long = ["--set", "application.supersteps=1000000", "--out", "kept"];
    let mut child = folder
        .command(&[&JSON[..], &long].concat())
        .spawn()
        .unwrap();
    let events = folder.path().join("kept/i/events.jsonl");
    while fs::metadata(&events).map_or(0, |events| events.len()) == 0 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("kept/i/run.json").exists());
    let explained = folder.stdout(&["explain", "kept/i"]);
    assert!(explained.contains("The run did not end"), "{explained}");
    folder.stdout(&[&JSON[..], &["--out", "kept"]].concat());
}

#[test]
fn a_run_too_short_for_a_call_says_so() {
    let folder = Folder::new();
    let text = folder.stdout(&["simulate", "e.toml", "--set", "application.supersteps=2"]);
    assert!(text.contains("No call was held"), "{text}");
    assert!(!text.contains("0 calls"), "{text}");
}

/// Two hosts, busy with something else for ever.
const STUCK: &str = r#"
[[set]]
name = "a"
hosts = 2
speed = "1 Gf"
link = { bandwidth = "1 MBps" }

[[load]]
hosts = "*"
points = [["0 s", 1.0]]
"#;

#[test]
fn a_run_that_fails_before_the_first_superstep_leaves_no_record() {
    let folder = Folder::new().with("stuck.toml", STUCK);
    let stuck = ["--set", "platform.file=stuck.toml", "--out", "kept"];
    folder.fails(
        &[&JSON[..], &stuck].concat(),
        4,
        "nothing happens any more at 0 s: 4 processes wait for ever; a host is fully loaded or a link has no bandwidth left",
    );
    assert!(!folder.path().join("kept").exists());
}
