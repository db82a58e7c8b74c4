//! `advise`: advice about a farm holds when it is tried, and what cannot be judged is refused.

use std::fs;

use serde_json::Value;

use crate::invocation::{Folder, root};

/// Six machines of Santana and Souza without joins, and a small product.
const FARM: &str = r#"[application]
workload = "task-farm"
processes = 6

[application.task-farm]
tasks = 300
instructions = 180000
shared = 720000
task = 2400
outcome = 2400

[application.task-farm.dealing]
kind = "block-cyclic"
block = 32

[platform]
file = "PLATFORM"
model = "ideal"

[barrier]
shape = "ideal"

[scheduler]
policy = "none"
"#;

fn farm() -> Folder {
    let platform = root()
        .join("conf/platforms/hnow.toml")
        .canonicalize()
        .unwrap();
    let text = FARM.replace("PLATFORM", platform.to_str().unwrap());
    let folder = Folder::new().with("farm.toml", text);
    folder.stdout(&["simulate", "farm.toml", "--out", "run"]);
    folder
}

fn object(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["advise"], arguments, &["--format", "json"]].concat();
    serde_json::from_str(&folder.stdout(&all)).unwrap()
}

#[test]
fn advice_about_a_farm_holds_when_it_is_tried() {
    let folder = farm();
    let advised = object(&folder, &["run", "--try", "--jobs", "1"]);
    let all = advised["recommendations"].as_array().unwrap();
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(
        all[0]["set"][0],
        "application.task-farm.dealing.kind=weighted"
    );
    assert_eq!(all[0]["replaces"], "application.task-farm.dealing");
    assert_eq!(
        all[1]["keys"][0]["key"],
        "application.task-farm.dealing.block"
    );
    for one in all {
        let predicted = one["predicted_gain"].as_f64().unwrap();
        let measured = one["measured"]["gain"].as_f64().unwrap();
        assert!(0.2 < measured, "{one}");
        assert!((predicted - measured).abs() < 0.05, "{one}");
    }
    // The options that the text shows give the run that was tried.
    let set = all[1]["set"].as_array().unwrap().iter();
    let set: Vec<&str> = set
        .flat_map(|one| ["--set", one.as_str().unwrap()])
        .collect();
    let simulated = ["simulate", "farm.toml", "--out", "better"];
    folder.stdout(&[&simulated[..], &set].concat());
    let better = object(&folder, &["better"]);
    assert_eq!(better["seconds"], all[1]["measured"]["seconds"]);
    let text = folder.stdout(&["advise", "run"]);
    let shown = format!("\n   {}\n", set.join(" "));
    assert!(text.contains(&shown), "{text}");
    assert!(text.contains("\n   kind = \"weighted\"\n"), "{text}");
    let rows = folder.csv(&["advise", "run"]);
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let folder = farm();
    folder.stdout(&["simulate", "e.toml", "--policy", "none", "--out", "alone"]);
    let calls = "has neither interactions of a task farm nor calls, so there is nothing to assess\n  help: run the \
                 experiment with a policy, as `--policy adaptive`, that holds calls before it ends";
    folder.fails(&["advise", "alone"], 4, &format!("alone/i: {calls}"));
    folder.fails(
        &["advise", "."],
        4,
        ".: holds no record; one is made by `simulate FILE --out DIR`",
    );
    let timeless = "application.task-farm.instructions=0";
    folder.stdout(&[
        "simulate",
        "farm.toml",
        "--set",
        timeless,
        "--out",
        "timeless",
    ]);
    let ended = folder.run(&["advise", "timeless"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let rates = "no interaction has the time of a worker, so no rates are known";
    assert!(ended.stderr.contains(rates), "{ended:?}");
    let run = folder.path().join("run/i/run.json");
    let text = fs::read_to_string(&run).unwrap();
    fs::write(&run, text.replace("hnow.toml", "gone.toml")).unwrap();
    let ended = folder.run(&["advise", "run", "--try"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("gone.toml"), "{ended:?}");
    assert!(ended.stderr.contains("`--file FILE`"), "{ended:?}");
    let real = text.replacen("\"results\": {", "\"results\": {\"builds\": [{}],", 1);
    fs::write(&run, real).unwrap();
    let ended = folder.run(&["advise", "run", "--try"]);
    assert!(ended.stderr.contains("on real hosts"), "{ended:?}");
    fs::rename(&run, folder.path().join("run/i/run.json.partial")).unwrap();
    let ended = folder.run(&["advise", "run"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("there is no run.json"), "{ended:?}");
}

#[test]
fn a_program_with_calls_is_advised_by_what_it_lost() {
    let folder = Folder::new();
    let file = root().join("conf/synthetic.toml");
    folder.stdout(&["simulate", file.to_str().unwrap(), "--out", "run"]);
    let advised = object(&folder, &["run"]);
    assert_eq!(advised["scenario"], "iii");
    let first = &advised["recommendations"][0];
    assert_eq!(first["set"][0], "scheduler.policy=adaptive");
    assert_eq!(first["is_bound"], true);
    let losses = advised["losses"].as_array().unwrap().iter();
    let losses: f64 = losses.map(|loss| loss["seconds"].as_f64().unwrap()).sum();
    let ideal = advised["ideal_seconds"].as_f64().unwrap();
    let seconds = advised["seconds"].as_f64().unwrap();
    assert!((ideal + losses - seconds).abs() < 1e-9 * seconds);
    // Scenario ii moves no process, so no policy is judged.
    let watched = object(&folder, &["run/ii"]);
    assert_eq!(watched["recommendations"], Value::Array(Vec::new()));
}
