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
    let folder = folder
        .with("recorded.toml", recorded)
        .with("later.trace", "migbsp program trace 2\n\0");
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
    let later = [
        "simulate",
        "recorded.toml",
        "--set",
        "application.recorded.file=later.trace",
    ];
    fails(&later, 4, "is a program trace of another version");
    let gone = ["simulate", "ring.toml"];
    fails(&gone, 4, "executor.py");
}

#[test]
fn all_scenarios_and_policies_execute_a_program_once() {
    let Some(folder) = folder() else {
        return;
    };
    let log = "application.external.parameters.log=\"log\"";
    let one = ["--set", "application.external.per_executor=6", "--set", log];
    folder.stdout(&[&["simulate", "ring.toml"][..], &one].concat());
    let executors = || {
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        log.lines().count()
    };
    // And one that is asked whether the outputs are right.
    let simulated = executors();
    let policies = [
        "--policy", "none", "--policy", "migbsp", "--policy", "adaptive",
    ];
    let compare = ["compare", "ring.toml", "--seeds", "1"];
    folder.stdout(&[&compare[..], &policies, &one].concat());
    assert!(simulated <= 4, "{simulated}");
    assert!(executors() <= simulated + 4, "{}", executors());
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

#[test]
fn a_trace_of_simgrid_is_simulated_without_its_program() {
    const RECORDED: &str = "[application]\nworkload = \"recorded\"\nprocesses = 4\nrecorded.file = \"run.txt\"\n\
                            [platform]\nfile = \"two.xml\"\n";
    // An exchange with both neighbours, a computation and a reduction, ten times.
    let trace = |rank: u64| {
        let (before, after) = ((rank + 3) % 4, (rank + 1) % 4);
        let iteration = [
            format!("{rank} irecv {before} 1 1000 0\n{rank} irecv {after} 2 1000 0\n"),
            format!("{rank} isend {after} 1 1000 0\n{rank} isend {before} 2 1000 0\n"),
            format!("{rank} waitall 4\n{rank} compute 1e7\n{rank} allreduce 1 0 0\n"),
        ];
        format!(
            "{rank} init\n{}{rank} finalize\n",
            iteration.concat().repeat(10)
        )
    };
    let list: String = (0..4)
        .map(|rank| format!("run.txt_files/{rank}.txt\n"))
        .collect();
    let mut folder = Folder::new()
        .with("recorded.toml", RECORDED)
        .with("run.txt", list);
    for rank in 0..4 {
        folder = folder.with(&format!("run.txt_files/{rank}.txt"), trace(rank));
    }
    folder.stdout(&["simulate", "recorded.toml", "--out", "listed"]);
    let text = String::from_utf8(events(&folder, "listed")).unwrap();
    let parsed = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let messages: Vec<Value> = parsed
        .filter(|event| event["event"] == "superstep")
        .map(|event| event["messages"].clone())
        .collect();
    // A superstep for each exchange and one for each reduction, in each of three scenarios.
    assert_eq!(messages, [8, 0].repeat(30));
    // One file for all processes says the same.
    let all: String = (0..4).map(trace).collect();
    let folder = folder.with("run.txt", all);
    folder.stdout(&["simulate", "recorded.toml", "--out", "single"]);
    assert_eq!(events(&folder, "single"), events(&folder, "listed"));
    let other = folder.run(&["simulate", "recorded.toml", "-n", "5"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    let folder = folder.with("run.txt", "0 init\n0 recv -555 0 8\n");
    let refused = folder.run(&["simulate", "recorded.toml"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let place = "run.txt:2: `recv` receives from any source";
    assert!(refused.stderr.contains(place), "{refused:?}");
}
