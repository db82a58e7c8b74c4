//! Programs in other languages in simulations: executed once, in each, or not at all.

use std::fs;

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::external::folder;

/// The events of the three scenarios in a record, one after the other.
fn events(folder: &Folder, record: &str) -> Vec<u8> {
    let read = |scenario| {
        let path = format!("{record}/{scenario}/events.jsonl");
        fs::read(folder.path().join(path)).unwrap()
    };
    ["i", "ii", "iii"].map(read).concat()
}

#[test]
fn what_is_replayed_is_what_the_program_does() {
    let Some(folder) = folder() else {
        return;
    };
    let policy = [
        "--policy",
        "adaptive",
        "--set",
        "checkpoint.interval=7superstep",
    ];
    let mut outputs = Vec::new();
    for execution in ["once", "each"] {
        let set = format!("application.external.execution={execution}");
        let file = format!("{execution}.json");
        let simulate = ["simulate", "ring.toml", "--set", &set, "--out", execution];
        folder.stdout(&[&simulate[..], &["--outputs", &file], &policy].concat());
        outputs.push(fs::read(folder.path().join(&file)).unwrap());
    }
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(events(&folder, "once"), events(&folder, "each"));
    let said = folder.stdout(&["record", "ring.toml", "-o", "ring.trace"]);
    assert!(
        said.contains("ring, 41 supersteps of 6 processes"),
        "{said}"
    );
    // Without the program.
    fs::remove_file(folder.path().join("executor.py")).unwrap();
    let recorded = "[application]\nworkload = \"recorded\"\nprocesses = 6\nrecorded.file = \"ring.trace\"\n\
                    [platform]\nfile = \"platform.toml\"\n";
    let folder = folder.with("recorded.toml", recorded);
    let simulate = ["simulate", "recorded.toml", "--out", "recorded"];
    folder.stdout(&[&simulate[..], &["--outputs", "recorded.json"], &policy].concat());
    assert_eq!(events(&folder, "recorded"), events(&folder, "each"));
    assert_eq!(
        fs::read(folder.path().join("recorded.json")).unwrap(),
        outputs[0]
    );
    let fails = |words: &[&str], code: i32, message: &str| {
        let ended = folder.run(words);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(message), "{ended:?}");
    };
    let other = ["simulate", "recorded.toml", "-n", "5"];
    fails(&other, 2, "must be 6, as many as were recorded");
    let wrong = [
        "simulate",
        "recorded.toml",
        "--set",
        "application.recorded.file=ring.toml",
    ];
    fails(&wrong, 4, "is no program trace");
    let gone = ["simulate", "ring.toml"];
    fails(&gone, 4, "executor.py");
}

#[test]
fn outputs_have_the_values_that_the_program_gave() {
    let Some(folder) = folder() else {
        return;
    };
    // Each process adds up what its neighbour sends in 40 supersteps; the sum of the last one is that of all.
    for ending in ["json", "csv", "npy", "msgpack"] {
        let file = format!("outputs.{ending}");
        folder.stdout(&["simulate", "ring.toml", "--outputs", &file]);
        assert!(fs::metadata(folder.path().join(&file)).unwrap().len() > 0);
    }
    let json = fs::read_to_string(folder.path().join("outputs.json")).unwrap();
    let values: Value = serde_json::from_str(&json).unwrap();
    let expected: Vec<Value> = (0..6u64)
        .map(|rank| serde_json::json!([40 * ((rank + 5) % 6), 15.0 + 6.0 * 39.0]))
        .collect();
    assert_eq!(values, Value::from(expected));
}

#[test]
fn a_program_is_held_to_the_laws() {
    let Some(folder) = folder() else {
        return;
    };
    let said = folder.stdout(&["check", "ring.toml", "-n", "3"]);
    assert!(said.contains("3 processes, 41 supersteps"), "{said}");
    assert!(said.contains("moved 123 times"), "{said}");
    let offender = "application.external.parameters.mode=\"forget\"";
    let broken = ["check", "ring.toml", "--set", offender];
    let problem = "with every process moved before every superstep: p1's state before superstep 3 is another; a field that is \
                   skipped has to be rebuilt from the others";
    folder.fails(&broken, 3, problem);
}
