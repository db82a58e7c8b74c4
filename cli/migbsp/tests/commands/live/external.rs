//! Programs in other languages, on nodes. The executor is one of the tests of the crate `external`, which needs nothing but Python.

use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{Ended, Folder, root};
use crate::live::cluster::Cluster;
use crate::live::recovery::{begun_on, read};
use crate::live::under_way::UnderWay;

/// Six processes that pass their numbers round a ring.
const RING: &str = r#"[application]
workload = "external"
processes = 6

[application.external]
command = ["python3", "executor.py"]
parameters = { last = 40 }

[platform]
file = "platform.toml"
"#;

const PLATFORM: &str = "[[set]]\nname = \"s\"\nhosts = 2\ncores = 1\nspeed = \"1 Gf\"\n\
                        link = { bandwidth = \"125 MBps\", latency = \"50 us\" }\n";

/// A folder with the executor and its experiment; `None`, with the reason on stderr, where there is no Python.
pub(crate) fn folder() -> Option<Folder> {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        drop(writeln!(io::stderr(), "SKIPPED: no python3 here"));
        return None;
    }
    let executor = fs::read(root().join("external/tests/executor.py")).unwrap();
    let folder = Folder::new().with("executor.py", executor);
    Some(
        folder
            .with("ring.toml", RING)
            .with("platform.toml", PLATFORM),
    )
}

/// The executors whose folder is `folder`, as processes of the operating system.
fn executors(folder: &Folder) -> Vec<u32> {
    let folder = folder.path().canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let is_there = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_there && String::from_utf8_lossy(&command).contains("executor.py")
    })
    .collect()
}

#[track_caller]
fn has_no_executor_within(time: Duration, folder: &Folder) {
    let began = Instant::now();
    while !executors(folder).is_empty() {
        assert!(began.elapsed() < time, "{:?}", executors(folder));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn set(changes: &[&str]) -> Vec<String> {
    let words = changes.iter().flat_map(|change| ["--set", change]);
    words.map(str::to_owned).collect()
}

/// Runs the ring on nodes that are started for it, with these options and changes.
fn up(folder: &Folder, up: &[&str], run: &[&str], changes: &[&str]) -> Ended {
    let changes = set(changes);
    let mut words = [&["up"][..], up, &["--", "run", "ring.toml"], run].concat();
    words.extend(changes.iter().map(String::as_str));
    UnderWay::start(&mut folder.command(&words)).ends_within(60)
}

fn simulate(folder: &Folder, changes: &[&str]) {
    let changes = set(changes);
    let mut words = vec!["simulate", "ring.toml", "--outputs", "whole.json"];
    words.extend(changes.iter().map(String::as_str));
    folder.stdout(&words);
}

#[test]
fn processes_move_and_compute_what_a_simulation_does() {
    let Some(folder) = folder() else {
        return;
    };
    simulate(&folder, &[]);
    let moves = "scheduler.script=[{ superstep = 4, process = \"p1\", to = \"node-2\" }, \
                 { superstep = 4, process = \"p2\", to = \"node-1\" }, \
                 { superstep = 12, process = \"p1\", to = \"node-1\" }]";
    let options = [
        "--out",
        "record",
        "--outputs",
        "live.json",
        "--format",
        "json",
    ];
    let changes = [moves, "scheduler.interval=4"];
    let ended = up(&folder, &["--local", "2"], &options, &changes);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(read(&folder, "live.json"), read(&folder, "whole.json"));
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    let calls = shown["run"]["calls"].as_array().unwrap();
    let moves = calls
        .iter()
        .flat_map(|call| call["migrations"].as_array().unwrap());
    assert_eq!(moves.count(), 3, "{shown}");
    folder.stdout(&["verify", "record"]);
    has_no_executor_within(Duration::from_secs(1), &folder);
}

#[test]
fn a_run_goes_on_without_a_node_and_resumes() {
    let Some(folder) = folder() else {
        return;
    };
    let long = [
        "application.external.parameters.last=1200",
        "checkpoint.first=0.1s",
    ];
    simulate(&folder, &long);
    let options = ["--outputs", "lost.json", "--format", "json"];
    let nodes = ["--local", "3", "--kill", "2@500"];
    let ended = up(&folder, &nodes, &options, &long);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(read(&folder, "lost.json"), read(&folder, "whole.json"));
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    let views = shown["views"].as_array().unwrap();
    assert_eq!(views.len(), 2, "{shown}");
    assert!(0 < views[1]["superstep"].as_u64().unwrap(), "{shown}");
    // Interrupted once a checkpoint is complete, and resumed on other nodes.
    let changes = set(&long);
    let mut words = vec![
        "up",
        "--local",
        "2",
        "--",
        "run",
        "ring.toml",
        "--checkpoint",
        "saved",
    ];
    words.extend(["--out", "first"]);
    words.extend(changes.iter().map(String::as_str));
    let run = UnderWay::start(&mut folder.command(&words));
    begun_on(&run, &folder.path().join("first/iii/events.jsonl"));
    let saved = folder.path().join("saved");
    let entries = |path: &std::path::Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_complete = || {
        let jobs = entries(&saved).into_iter().flat_map(|job| entries(&job));
        jobs.into_iter()
            .any(|path| path.join("manifest.json").exists())
    };
    while !is_complete() {
        assert!(!run.is_over(), "{:?}", run.ends_within(5));
        std::thread::sleep(Duration::from_millis(5));
    }
    run.signal("INT");
    assert_eq!(run.ends_within(20).code, Some(130));
    let resume = [
        "up",
        "--local",
        "3",
        "--",
        "run",
        "--resume",
        "saved",
        "--outputs",
        "back.json",
    ];
    let resumed = UnderWay::start(&mut folder.command(&resume)).ends_within(60);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(read(&folder, "back.json"), read(&folder, "whole.json"));
}

/// A node that starts any command, and the folder of its cluster with the executor.
fn cluster(conf: &str) -> Option<Cluster> {
    let with = folder()?;
    let mut cluster = Cluster::start(&[]);
    for name in ["executor.py", "ring.toml", "platform.toml"] {
        let text = fs::read_to_string(with.path().join(name)).unwrap();
        cluster.write(name, &text);
    }
    cluster.configured(conf);
    Some(cluster)
}

fn run(cluster: &Cluster, changes: &[&str]) -> UnderWay {
    let changes = set(changes);
    let mut words = vec!["run", "ring.toml", "--set", "scheduler.policy=\"none\""];
    words.extend(changes.iter().map(String::as_str));
    UnderWay::start(&mut cluster.command("hosts", &words))
}

const ANY: &str = "external = \"any\"\n";

#[test]
fn each_way_to_fail_is_told_and_leaves_the_node_free() {
    let Some(cluster) = cluster(ANY) else {
        return;
    };
    for (mode, code, expect) in [
        (
            "raise",
            1,
            "node-1: p2 failed in superstep 2: no such plate\n  Traceback: line 7",
        ),
        (
            "crash",
            1,
            "was killed by signal 11; its last lines:\n  about to crash",
        ),
        ("exit", 1, "ended with exit code 3"),
        ("hang", 1, "did not answer in 1 s and was killed"),
        (
            "garbage",
            1,
            "it wrote \"Hello from a lib\", which is no frame",
        ),
        ("contradiction", 1, "its reply contradicts itself"),
        ("refuse", 4, "no module named numpy"),
        ("nosave", 1, "has no functions that save and load"),
    ] {
        let mode = format!("application.external.parameters.mode=\"{mode}\"");
        let timeout = "application.external.superstep_timeout=1";
        let policy = "scheduler.policy=\"adaptive\"";
        let ended = run(&cluster, &[&mode, timeout, policy]).ends_within(20);
        assert!(ended.stderr.contains(expect), "{mode}: {ended:?}");
        assert_eq!(ended.code, Some(code), "{ended:?}");
        cluster.is_free_within(2, "hosts");
        has_no_executor_within(Duration::from_secs(1), &cluster.folder);
    }
    let ended = run(&cluster, &[]).ends_within(20);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_superstep_that_never_ends_does_not_outlast_its_job() {
    let Some(cluster) = cluster(ANY) else {
        return;
    };
    let mode = "application.external.parameters.mode=\"hang\"";
    let hanging = run(&cluster, &[mode]);
    let began = Instant::now();
    while executors(&cluster.folder).len() < 6 {
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert!(!hanging.is_over(), "{:?}", hanging.ends_within(0));
    hanging.signal("INT");
    assert_eq!(hanging.ends_within(10).code, Some(130));
    cluster.is_free_within(2, "hosts");
    has_no_executor_within(Duration::from_secs(1), &cluster.folder);
}

#[test]
fn no_executor_outlives_its_node() {
    let kills = if cfg!(feature = "long-tests") { 100 } else { 3 };
    for _ in 0..kills {
        let Some(mut cluster) = cluster(ANY) else {
            return;
        };
        let last = "application.external.parameters.last=1000000";
        let endless = run(&cluster, &[last]);
        let began = Instant::now();
        while executors(&cluster.folder).len() < 6 {
            assert!(began.elapsed() < Duration::from_secs(10));
        }
        cluster.signal("node-1", "KILL");
        assert_eq!(cluster.exit_of("node-1"), None);
        has_no_executor_within(Duration::from_secs(1), &cluster.folder);
        endless.signal("KILL");
    }
}

#[test]
fn executors_are_no_load_of_others() {
    let Some(cluster) = cluster(ANY) else {
        return;
    };
    let busy = [
        "application.external.parameters.work=0.02",
        "application.external.parameters.last=1000000",
    ];
    let running = run(&cluster, &busy);
    let began = Instant::now();
    let mut others = Vec::new();
    let mut samples = 0;
    while samples < 3 {
        assert!(began.elapsed() < Duration::from_secs(30), "{others:?}");
        std::thread::sleep(Duration::from_secs(1));
        let nodes = cluster.status("hosts");
        if nodes[0]["superstep"].as_u64().is_none_or(|at| at < 20) {
            continue;
        }
        samples += 1;
        others.extend(nodes[0]["others"].as_array().cloned().unwrap_or_default());
    }
    let pids = executors(&cluster.folder);
    let is_executor = |other: &Value| pids.iter().any(|pid| other["pid"] == *pid);
    assert!(!others.iter().any(is_executor), "{others:?}");
    running.signal("INT");
    assert_eq!(running.ends_within(10).code, Some(130));
}

/// Submissions of a client that wants to have a command executed which the node does not allow.
fn hostile() -> Vec<(String, &'static str)> {
    let commands = [
        r#"["touch", "marker"]"#,
        r#"["sh", "-c", "touch marker"]"#,
        r#"["/bin/sh", "-c", "echo > marker"]"#,
        r#"["env", "touch", "marker"]"#,
        r#"["../../../bin/touch", "marker"]"#,
        r#"["python3", "-c", "open('marker','w')"]"#,
        r#"["python3", "executor.py", "; touch marker"]"#,
        r#"["launch-executor", "1", "0", "0", "touch", "marker"]"#,
    ];
    let names = ["sh", "../ring", "ring ", "RING", "", "launch-executor"];
    let with_command = commands
        .iter()
        .map(|command| format!("application.external.command={command}"));
    let with_name = names
        .iter()
        .map(|name| format!("application.external.program=\"{name}\""));
    let more = [
        "application.external.memory=1",
        "application.external.threads=1000",
        "application.external.per_executor=1000",
        "application.external.start_timeout=0.001",
        "application.external.superstep_timeout=1000000",
        "application.external.parameters.mode=\"crash\"",
    ];
    let all = with_command.chain(with_name).chain(more.map(str::to_owned));
    all.map(|change| (change, "external program")).collect()
}

#[test]
fn nodes_start_only_what_they_allow() {
    for conf in [
        "",
        "external = \"listed\"\n[node.programs.other]\ncommand = [\"true\"]\n",
    ] {
        let Some(cluster) = cluster(conf) else {
            return;
        };
        let hostile = hostile();
        assert_eq!(hostile.len(), 20);
        for (change, expect) in hostile {
            let ended = run(&cluster, &[&change]).ends_within(20);
            assert_eq!(ended.code, Some(4), "{change}: {ended:?}");
            assert!(ended.stderr.contains(expect), "{change}: {ended:?}");
        }
        assert!(!cluster.folder.path().join("marker").exists());
        assert_eq!(executors(&cluster.folder), [0; 0]);
    }
}

#[test]
fn a_listed_program_is_what_the_node_says_whatever_the_client_does() {
    let Some(with) = folder() else {
        return;
    };
    let executor = with.path().join("executor.py");
    let conf = format!(
        "external = \"listed\"\n[node.programs.ring]\ncommand = [\"python3\", \"{}\"]\nmemory = \"500 MB\"\nwrapper = [\"env\", \"WRAPPED=1\"]\n",
        executor.display()
    );
    let Some(cluster) = cluster(&conf) else {
        return;
    };
    for command in [r#"["false"]"#, "[]"] {
        let command = format!("application.external.command={command}");
        let ended = run(
            &cluster,
            &[&command, "application.external.program=\"ring\""],
        )
        .ends_within(20);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert!(!cluster.folder.path().join("marker").exists());
}
