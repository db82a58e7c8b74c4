//! An executor that is no library of ours: its processes run, move, fail and end.

#![cfg(test)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bsp::reference::{self, Limit};
use bsp::{Rank, testing};
use external::{Executors, External, Recipe, Value, World};

fn recipe(mode: &str, processes: u32, per_executor: Option<u32>) -> Recipe {
    Recipe {
        name: "ring".to_owned(),
        command: vec!["python3".to_owned(), "executor.py".to_owned()],
        connect: None,
        wrapper: Vec::new(),
        folder: Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")),
        memory: None,
        threads: 1,
        parameters: format!("{{\"mode\": \"{mode}\"}}"),
        processes,
        seed: 1,
        supersteps: None,
        world: World::Simulation,
        per_executor,
        start_timeout: Duration::from_secs(30),
        superstep_timeout: None,
        measured: None,
    }
}

fn begin(recipe: &Recipe) -> (Arc<Executors>, Vec<External>) {
    let executors = Executors::of(recipe.clone()).unwrap();
    let ranks = (0..recipe.processes).map(Rank);
    let processes = ranks.map(|rank| External::new(&executors, rank).unwrap());
    let processes = processes.collect();
    (executors, processes)
}

/// Whether there is a Python; elsewhere tests say so and do nothing.
fn has_python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: no python3 here");
    }
    found
}

/// Each process heard that before it four times; ranks and supersteps are summed.
fn expected(size: u32) -> Vec<Value> {
    let ranks: u32 = (0..size).sum();
    let total = f64::from(ranks + 3 * size);
    let heard = |rank: u32| u64::from(4 * ((rank + size - 1) % size));
    let value = |rank| Value::List(vec![Value::Unsigned(heard(rank)), Value::Float(total)]);
    (0..size).map(value).collect()
}

#[test]
fn processes_in_one_executor_and_in_one_each_compute_the_same_wherever_they_are() {
    if !has_python() {
        return;
    }
    for per_executor in [None, Some(1), Some(2)] {
        let recipe = recipe("ring", 3, per_executor);
        let (executors, processes) = begin(&recipe);
        let run = reference::run(processes, Limit::default()).unwrap();
        let outputs: Vec<Value> = run.outputs.iter().map(|it| it.value().unwrap()).collect();
        assert_eq!(outputs, expected(3));
        assert_eq!(run.supersteps, 5);
        assert_eq!(
            run.notes[0].1.get("rank").unwrap().sum.to_bits(),
            3f64.to_bits()
        );
        let wanted = per_executor.map_or(1, |most| 3_usize.div_ceil(bsp::numbers::index(most)));
        assert!(executors.processes().len() <= wanted, "{executors:?}");
        let build = || begin(&recipe).1;
        let checked = testing::verify(build, Limit::default()).unwrap();
        assert_eq!(checked.moves, 15);
        assert_eq!(checked.run.outputs, run.outputs);
    }
}

#[track_caller]
fn fails(mode: &str, expect: &[&str]) {
    let began = Instant::now();
    let recipe = Recipe {
        superstep_timeout: Some(Duration::from_secs(2)),
        ..recipe(mode, 2, Some(1))
    };
    let (executors, processes) = begin(&recipe);
    let error = reference::run(processes, Limit::default()).unwrap_err();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    for part in expect {
        assert!(text.contains(part), "{mode}: {text}");
    }
    drop(executors);
    assert!(began.elapsed() < Duration::from_secs(20), "{mode}");
}

#[test]
fn each_way_to_fail_is_told_with_process_and_superstep() {
    if !has_python() {
        return;
    }
    fails(
        "raise",
        &["p2", "superstep 2", "no such plate", "Traceback: line 7"],
    );
    fails(
        "crash",
        &[
            "p2",
            "superstep 2",
            "was killed by signal 11",
            "about to crash",
        ],
    );
    fails("exit", &["ended with exit code 3"]);
    fails("hang", &["did not answer in 2 s and was killed"]);
    fails(
        "garbage",
        &["it wrote \"Hello from a lib\", which is no frame"],
    );
    fails("contradiction", &["its reply contradicts itself"]);
}

#[test]
fn a_program_that_does_not_start_says_why() {
    if !has_python() {
        return;
    }
    let fails = |recipe: Recipe| {
        let executors = Executors::of(recipe).unwrap();
        External::new(&executors, Rank(0)).unwrap_err().to_string()
    };
    let text = fails(recipe("refuse", 1, None));
    assert!(text.contains("no module named numpy"), "{text}");
    let command = vec!["no-such-program".to_owned()];
    let text = fails(Recipe {
        command,
        ..recipe("absent", 1, None)
    });
    assert!(text.contains("no-such-program cannot be started"), "{text}");
    let command = ["python3", "-c", "import sys; sys.exit('no plate here')"];
    let text = fails(Recipe {
        command: command.map(str::to_owned).to_vec(),
        ..recipe("ends", 1, None)
    });
    assert!(
        text.contains("exit code 1") && text.contains("no plate here"),
        "{text}"
    );
    let command = ["sh", "-c", "sleep 100"].map(str::to_owned).to_vec();
    let text = fails(Recipe {
        command,
        start_timeout: Duration::from_millis(300),
        ..recipe("silent", 1, None)
    });
    assert!(text.contains("did not answer in 0.3 s"), "{text}");
}

#[test]
fn a_process_that_cannot_be_saved_says_so() {
    if !has_python() {
        return;
    }
    let (_executors, processes) = begin(&recipe("nosave", 1, None));
    let error = rmp_serde::to_vec(&processes[0]).unwrap_err().to_string();
    assert!(error.contains("ring has no functions that save"), "{error}");
}

#[test]
fn executors_end_with_the_last_guard_even_in_a_superstep() {
    if !has_python() {
        return;
    }
    // Another seed: executors of the same program are shared.
    let recipe = Recipe {
        seed: 2,
        ..recipe("hang", 2, Some(1))
    };
    let (executors, processes) = begin(&recipe);
    let guard = executors.guard(2);
    let other = executors.guard(2);
    let running = std::thread::spawn(move || reference::run(processes, Limit::default()).is_err());
    std::thread::sleep(Duration::from_millis(500));
    drop(other);
    assert!(!running.is_finished());
    drop(guard);
    assert!(running.join().unwrap());
    let began = Instant::now();
    while !executors.processes().is_empty() && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(executors.processes(), [0; 0]);
}

#[test]
fn an_executor_that_waits_at_a_socket_is_connected_to() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    // What a notebook does: it listens, and serves in a process of its own.
    let listens = "import os, socket, sys\n\
                   s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n\
                   c, _ = s.accept(); os.dup2(c.fileno(), 0)\n\
                   exec(open('executor.py').read())";
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut listener = std::process::Command::new("python3")
        .args(["-c", listens, socket.to_str().unwrap()])
        .current_dir(tests)
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !socket.exists() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let recipe = Recipe {
        connect: Some(socket),
        command: Vec::new(),
        ..recipe("ring", 4, None)
    };
    let (executors, processes) = begin(&recipe);
    let run = reference::run(processes, Limit::default()).unwrap();
    let outputs: Vec<Value> = run.outputs.iter().map(|it| it.value().unwrap()).collect();
    assert_eq!(outputs, expected(4));
    assert_eq!(executors.processes(), [0; 0]);
    drop(executors);
    assert!(listener.wait().unwrap().success());
}

#[test]
fn a_state_of_another_version_of_the_program_is_refused() {
    if !has_python() {
        return;
    }
    let of_version = |version: &str| {
        let command = [
            "env",
            &format!("RING_VERSION={version}"),
            "python3",
            "executor.py",
        ];
        Recipe {
            command: command.map(str::to_owned).to_vec(),
            seed: 3,
            ..recipe("ring", 1, None)
        }
    };
    let (executors, processes) = begin(&of_version("01"));
    let state = rmp_serde::to_vec(&processes[0]).unwrap();
    drop((executors, processes));
    for (version, is_same) in [("01", true), ("02", false)] {
        let _executors = Executors::of(of_version(version)).unwrap();
        let process: External = rmp_serde::from_slice(&state).unwrap();
        let run = reference::run(vec![process], Limit::default());
        assert_eq!(run.is_ok(), is_same, "{run:?}");
        if let Err(error) = run {
            assert!(
                error.to_string().contains("another version of ring"),
                "{error}"
            );
        }
    }
}

#[test]
fn what_is_printed_harms_nothing() {
    if !has_python() {
        return;
    }
    let command = ["env", "RING_PRINTS=1", "python3", "executor.py"];
    let (_executors, processes) = begin(&Recipe {
        command: command.map(str::to_owned).to_vec(),
        seed: 4,
        ..recipe("ring", 3, None)
    });
    let run = reference::run(processes, Limit::default()).unwrap();
    assert_eq!(run.outputs[0].value().unwrap(), expected(3)[0]);
}
