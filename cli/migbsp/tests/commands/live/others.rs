//! Processes of other programs that keep the machine of a node busy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{Folder, rows};
use crate::live::under_way::UnderWay;
use crate::schemas::Schema;

/// After it a node shows a process that computes: nodes look once a second, and half of that is enough.
const SEEN: Duration = Duration::from_secs(2);
/// The limit on a machine whose other programs leave the process less than half a processor for a while.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_busy_process_of_another_program_is_shown_with_its_processor_time_until_it_ends() {
    let up = Up::start("2");
    // The nodes are children of `up`, and this is one of the test.
    let mut busy = Busy::start();
    let first = busy.first_shown(&up);
    let share = busy.processor_time().as_secs_f64() / busy.began.elapsed().as_secs_f64();
    // Without a processor of its own it may not be busy in the first second; nodes that answer late look late.
    assert!(
        share < 0.9 || first.missed < SEEN + first.slowest,
        "{share}: {first:?}"
    );
    for other in first.shown {
        assert_eq!(other["name"], "sh");
        let age = other["processor_seconds"].as_f64().unwrap();
        let possible = busy.began.elapsed().as_secs_f64();
        assert!(0.0 < age && age <= possible, "{other}, {possible}");
    }
    let table = up.status(&[]);
    let header = table.lines().next().unwrap();
    let columns: Vec<_> = header.split_whitespace().collect();
    assert!(
        columns.join(" ").contains(" load others oldest "),
        "{table}"
    );
    // Each of these commands asks again, and it may be busy no more by then.
    let csv = || rows(&up.status(&["--format", "csv"]));
    while !oldest(&csv()).is_some_and(|age| 0.4 < age) {
        assert!(busy.began.elapsed() < PATIENCE, "{}", csv());
    }
    busy.end();
    let ended = Instant::now();
    while !busy.shown_in(&up.json()).iter().all(Option::is_none) {
        assert!(ended.elapsed() < Duration::from_secs(5));
    }
}

/// The processor time of the oldest process on the first node of a table, if there is any.
fn oldest(table: &str) -> Option<f64> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let row = reader.records().next().unwrap().unwrap();
    let of = |name: &str| {
        let at = headers.iter().position(|header| header == name).unwrap();
        row[at].to_owned()
    };
    let is_none = of("others") == "0";
    let rest = ["oldest_name", "oldest_pid", "oldest_processor_seconds"].map(of);
    assert!(
        rest.iter().all(|cell| cell.is_empty() == is_none),
        "{table}"
    );
    rest[2].parse().ok()
}

/// A trial cluster, until this is dropped.
struct Up {
    folder: Folder,
    command: UnderWay,
    /// What other commands need to use its nodes.
    access: PathBuf,
}

impl Up {
    fn start(nodes: &str) -> Self {
        let folder = Folder::new();
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        let folder = folder.with_variable("TMPDIR", temporary.to_str().unwrap());
        let command = UnderWay::start(&mut folder.command(&["up", "--local", nodes]));
        loop {
            if let Some(access) = access(&temporary) {
                return Self {
                    folder,
                    command,
                    access,
                };
            }
            assert!(!command.is_over(), "{:?}", command.ends_within(0));
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.status(&["--format", "json"])).unwrap()
    }

    fn status(&self, options: &[&str]) -> String {
        let (hosts, identity) = (self.access.join("hosts"), &self.access);
        let cluster = ["status", "--cluster", hosts.to_str().unwrap()];
        let identity = ["--identity", identity.to_str().unwrap()];
        self.folder
            .stdout(&[&cluster[..], &identity, options].concat())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.command.signal("TERM");
        if !std::thread::panicking() {
            self.command.ends_within(10);
        }
    }
}

/// The folder with the list of hosts, if it is written.
fn access(temporary: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(temporary).unwrap();
    let mut folders = entries.map(|entry| entry.unwrap().path());
    folders
        .find(|path| fs::read_to_string(path.join("hosts")).is_ok_and(|text| text.ends_with('\n')))
}

/// When all nodes show a process.
#[derive(Debug)]
struct FirstShown {
    /// How each of them does.
    shown: Vec<Value>,
    /// How long it had computed when they were asked last without showing it.
    missed: Duration,
    /// The longest time that it took to ask them.
    slowest: Duration,
}

/// A process that computes until this is dropped.
struct Busy {
    child: Child,
    began: Instant,
}

impl Busy {
    fn start() -> Self {
        let began = Instant::now();
        // Before other processes, if the system permits it: otherwise they may leave it too little to be busy.
        let mut command = Command::new("nice");
        let endless = ["-n", "-10", "sh", "-c", "while :; do :; done"];
        let child = command.args(endless).stderr(Stdio::null()).spawn();
        Self {
            child: child.unwrap(),
            began,
        }
    }

    /// How every node shows it in `status`.
    fn shown_in(&self, status: &Value) -> Vec<Option<Value>> {
        let nodes = status["nodes"].as_array().unwrap().iter();
        nodes
            .map(|node| {
                let mut others = node["others"].as_array().unwrap().iter();
                others
                    .find(|other| other["pid"] == self.child.id())
                    .cloned()
            })
            .collect()
    }

    /// Asks the nodes of `up` until all show it.
    fn first_shown(&self, up: &Up) -> FirstShown {
        let (mut missed, mut slowest) = (Duration::ZERO, Duration::ZERO);
        loop {
            let asked = self.began.elapsed();
            let status = up.json();
            let shown = self.shown_in(&status);
            slowest = slowest.max(self.began.elapsed() - asked);
            if shown.iter().all(Option::is_some) {
                Schema::of(&status).check(&status, "status");
                Schema::of(&status).check_strictness(&status, "status");
                return FirstShown {
                    shown: shown.into_iter().flatten().collect(),
                    missed,
                    slowest,
                };
            }
            missed = asked;
            assert!(asked < PATIENCE);
        }
    }

    /// The processor time that it has consumed, by its scheduler.
    fn processor_time(&self) -> Duration {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.child.id())).unwrap();
        let nanoseconds = text.split(' ').next().unwrap().parse().unwrap();
        Duration::from_nanos(nanoseconds)
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
