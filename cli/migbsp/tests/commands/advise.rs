//! `advise`: advice holds when it is tried, and what cannot be judged is refused.

use std::fs;

use serde_json::Value;

use crate::invocation::{Folder, root};

/// A run in which calls of `migbsp` leave something to save.
const SIMULATE: [&str; 4] = ["simulate", "e.toml", "--set", "application.supersteps=400"];

fn recorded() -> Folder {
    let folder = Folder::new();
    folder.stdout(&[&SIMULATE[..], &["--out", "run"]].concat());
    folder
}

fn object(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["advise"], arguments, &["--format", "json"]].concat();
    serde_json::from_str(&folder.stdout(&all)).unwrap()
}

#[test]
fn advice_holds_when_it_is_tried() {
    let folder = recorded();
    let advised = object(&folder, &["run", "--try", "--jobs", "1"]);
    let all = advised["recommendations"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{all:?}");
    let first = &all[0];
    assert_eq!(
        (&first["key"], &first["now"], &first["better"]),
        (
            &"scheduler.policy".into(),
            &"migbsp".into(),
            &"adaptive".into()
        )
    );
    let bound = first["predicted_gain"].as_f64().unwrap();
    let measured = first["measured"]["gain"].as_f64().unwrap();
    assert!(0.05 < measured && measured <= bound, "{first}");
    // The option that the text shows gives the run that was tried.
    let set = first["set"].as_str().unwrap();
    folder.stdout(&[&SIMULATE[..], &["--set", set, "--out", "better"]].concat());
    let better = object(&folder, &["better"]);
    assert_eq!(better["seconds"], first["measured"]["seconds"]);
    let text = folder.stdout(&["advise", "run"]);
    let shown = format!("\n   --set {set}\n");
    assert!(text.contains(&shown), "{text}");
    let rows = folder.csv(&["advise", "run"]);
    assert_eq!(rows.lines().count(), 2, "{rows}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let folder = recorded();
    folder.stdout(&["simulate", "e.toml", "--policy", "none", "--out", "alone"]);
    let calls = "has no calls, so there is nothing to assess\n  help: run the experiment with a policy, as `--policy \
                 adaptive`, that holds calls before it ends";
    folder.fails(&["advise", "alone"], 4, &format!("alone/i: {calls}"));
    folder.fails(
        &["advise", "."],
        4,
        ".: holds no record; one is made by `simulate FILE --out DIR`",
    );
    let run = folder.path().join("run/iii/run.json");
    let text = fs::read_to_string(&run).unwrap();
    fs::write(&run, text.replace("two.xml", "gone.xml")).unwrap();
    let ended = folder.run(&["advise", "run", "--try"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("gone.xml"), "{ended:?}");
    assert!(ended.stderr.contains("`--file FILE`"), "{ended:?}");
    let real = text.replacen('{', "{\"measured\": true,", 1);
    fs::write(&run, real).unwrap();
    let ended = folder.run(&["advise", "run", "--try"]);
    assert!(ended.stderr.contains("on real hosts"), "{ended:?}");
    fs::rename(&run, folder.path().join("run/iii/run.json.partial")).unwrap();
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
    assert_eq!(first["set"], "scheduler.policy=adaptive");
    let losses = advised["losses"].as_array().unwrap().iter();
    let losses: f64 = losses.map(|loss| loss["seconds"].as_f64().unwrap()).sum();
    let ideal = advised["ideal_seconds"].as_f64().unwrap();
    let seconds = advised["seconds"].as_f64().unwrap();
    assert!((ideal + losses - seconds).abs() < 1e-9 * seconds);
    // Scenario ii moves no process, so no policy is judged.
    let watched = object(&folder, &["run/ii"]);
    assert_eq!(watched["recommendations"], Value::Array(Vec::new()));
}
