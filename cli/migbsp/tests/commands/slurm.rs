//! Jobs of a real Slurm: `integration-tests/slurm/lab.sh` starts one on hosts in network namespaces.
//!
//! Needs the right to make namespaces (root), and Slurm; where one of them is missing, the tests say so and do nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::invocation::{BINARY, Folder, root};
use crate::live::cluster::HEAT;
use crate::live::recovery::simulate;
use crate::live::under_way::{is_alive, signal};
use crate::namespaces::does;

/// A Slurm with three hosts of four processors, which ends when this is dropped.
struct Lab {
    directory: TempDir,
    folder: Folder,
}

/// What a test says that needs Slurm where there is none.
const SKIPPED: &str =
    "SKIPPED: no Slurm here; it takes root, and the packages slurm-wlm, munge and iproute2";

/// The states of a job that is not over.
const GOING_ON: [&str; 7] = [
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "REQUEUED",
    "REQUEUE_HOLD",
];

impl Lab {
    /// `None`, with the reason on stderr, where there is no Slurm.
    fn up() -> Option<Self> {
        let programs = ["slurmctld", "slurmd", "munged", "ip"];
        let has = |program: &&str| does(&format!("which {program}"));
        if !does("test -w /etc/shadow") || !programs.iter().all(has) {
            return None;
        }
        let lab = Self {
            directory: TempDir::new().unwrap(),
            folder: Folder::new().with("heat.toml", HEAT),
        };
        let output = lab.script(&["up"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(lab)
    }

    fn script(&self, words: &[&str]) -> Command {
        let mut command = Command::new(root().join("integration-tests/slurm/lab.sh"));
        command
            .args(words)
            .env("LAB", self.directory.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Executes a command on a host, which has to succeed; its stdout.
    #[track_caller]
    fn on(&self, host: &str, words: &[&str]) -> String {
        let output: Output = self
            .script(&[&["on", host], words].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Submits a job script called `name`, whose last line is `slurm` with these arguments. Its output is in NAME.json and NAME.log.
    #[track_caller]
    fn submit(&self, name: &str, directives: &[&str], arguments: &[&str]) -> String {
        let mut script = "#!/bin/bash\n".to_owned();
        for directive in directives {
            script += &format!("#SBATCH {directive}\n");
        }
        let line = arguments.join(" ");
        let cluster = "export RUST_LOG=warn NO_COLOR=1";
        script += &format!(
            "{cluster}\nexec {BINARY} slurm heat.toml --format json {line} > {name}.json\n"
        );
        let file = format!("{name}.sh");
        fs::write(self.path(&file), script).unwrap();
        let log = format!("--error={name}.log");
        let submit = [
            "sbatch",
            "--parsable",
            &log,
            "--output=/dev/null",
            "--open-mode=append",
        ];
        let told = self.on("login", &[&submit[..], &[&file]].concat());
        told.trim().split(';').next().unwrap().to_owned()
    }

    /// The value of `key` of a job, as Slurm tells it.
    #[track_caller]
    fn told(&self, job: &str, key: &str) -> String {
        let told = self.on("login", &["scontrol", "show", "job", "--oneliner", job]);
        let start = format!("{key}=");
        let mut words = told.split_whitespace();
        let word = words.find_map(|word| word.strip_prefix(&start));
        word.unwrap_or_else(|| panic!("{key}: {told}")).to_owned()
    }

    /// The state in which a job ends.
    #[track_caller]
    fn ends(&self, name: &str, job: &str, seconds: u64) -> String {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        loop {
            let state = self.told(job, "JobState");
            if !GOING_ON.contains(&state.as_str()) {
                return state;
            }
            if deadline < Instant::now() {
                let (log, told) = (
                    self.text(&format!("{name}.log")),
                    self.on("login", &["scontrol", "show", "job", job]),
                );
                panic!("{state} after {seconds} s\n{log}\n{told}");
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The result of a job that has to be complete.
    #[track_caller]
    fn result(&self, name: &str, job: &str, seconds: u64) -> Value {
        let state = self.ends(name, job, seconds);
        let log = self.text(&format!("{name}.log"));
        assert_eq!(state, "COMPLETED", "{log}");
        let json = self.text(&format!("{name}.json"));
        let value: Value = serde_json::from_str(&json).unwrap_or_else(|error| {
            panic!("{error}: {json}\n{log}");
        });
        assert!(value["run"]["verified"].is_string(), "{value}");
        value
    }

    /// The processes of nodes on these hosts, by their numbers.
    fn nodes(&self, hosts: &[&str]) -> Vec<u32> {
        let mut found = Vec::new();
        for host in hosts {
            // All namespaces of processes are one: what is on a host is known by its name.
            let listed = self.on(
                host,
                &["bash", "-c", "ip netns pids $(ip netns identify $$)"],
            );
            found.extend(
                listed
                    .lines()
                    .filter_map(|pid| pid.trim().parse::<u32>().ok()),
            );
        }
        let is_node = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            let own = BINARY.as_bytes();
            words.first() == Some(&own) && words.iter().any(|word| *word == b"--stdin")
        };
        found.retain(|pid| is_node(pid) && is_alive(*pid));
        found
    }

    /// Waits until a file has something.
    #[track_caller]
    fn begun(&self, name: &str, file: &str, seconds: u64) {
        let deadline = Instant::now() + Duration::from_secs(seconds);
        while fs::metadata(self.path(file)).map_or(0, |data| data.len()) == 0 {
            assert!(
                Instant::now() < deadline,
                "{file}\n{}",
                self.text(&format!("{name}.log"))
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Checks that nothing of a job is left: no node, and no key.
    #[track_caller]
    fn is_clean(&self) {
        let deadline = Instant::now() + Duration::from_secs(15);
        while !self.nodes(&["n1", "n2", "n3"]).is_empty() {
            assert!(
                Instant::now() < deadline,
                "{:?}",
                self.nodes(&["n1", "n2", "n3"])
            );
            thread::sleep(Duration::from_millis(100));
        }
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.to_string_lossy().into_owned();
                    assert!(!name.ends_with(".key") && !name.ends_with(".pem"), "{name}");
                }
            }
        }
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let down = self.script(&["down"]).output();
        if !thread::panicking() {
            assert!(down.is_ok_and(|output| output.status.success()));
        }
    }
}

/// A run of some seconds.
const SECONDS: [&str; 4] = [
    "--set application.supersteps=3500",
    "--set checkpoint.first=0.2s",
    "--set scheduler.policy=none",
    "-n 4",
];

/// The names in all lists at `key` of the views of a run.
fn names(result: &Value, key: &str) -> BTreeSet<String> {
    let views = result["views"].as_array().unwrap();
    let all = views.iter().flat_map(|view| view[key].as_array().unwrap());
    let name = |host: &Value| {
        let host = host.as_str().or_else(|| host["host"].as_str());
        host.unwrap().to_owned()
    };
    all.map(name).collect()
}

#[test]
fn jobs_of_one_line_compute_what_a_simulation_does_and_leave_nothing() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    simulate(&lab.folder, &["-n", "4", "--set", "scheduler.policy=none"]);
    // Two jobs at once on the same hosts, and one that loses a node.
    let half = ["--nodes=2", "--nodelist=n1,n2", "--cpus-per-task=2"];
    let arguments = |more: &[&'static str]| [&SECONDS[..], more].concat();
    let one = lab.submit("one", &half, &arguments(&["--outputs one.json.out.json"]));
    let two = lab.submit(
        "two",
        &half,
        &arguments(&["--out runs/two --outputs two.out.json"]),
    );
    lab.begun("two", "runs/two/i/events.jsonl", 20);
    assert_eq!(
        lab.told(&one, "JobState"),
        "RUNNING",
        "{}",
        lab.text("one.log")
    );
    assert_eq!(lab.nodes(&["n1"]).len(), 2, "a node of each job");
    for (name, job) in [("one", &one), ("two", &two)] {
        let result = lab.result(name, job, 40);
        assert_eq!(result["hosts"].as_array().unwrap().len(), 2, "{result}");
        assert_eq!(result["sets"], 1, "{result}");
    }
    for outputs in ["one.json.out.json", "two.out.json"] {
        assert_eq!(lab.bytes(outputs), lab.bytes("whole.json"), "{outputs}");
    }
    lab.is_clean();
    let options = arguments(&["--out runs/lost --outputs lost.out.json"]);
    let lost = lab.submit("lost", &["--nodes=3 --no-kill"], &options);
    lab.begun("lost", "runs/lost/i/events.jsonl", 20);
    thread::sleep(Duration::from_millis(700));
    let [node] = lab.nodes(&["n2"])[..] else {
        panic!("{}", lab.text("lost.log"));
    };
    signal(node, "KILL");
    let result = lab.result("lost", &lost, 60);
    assert_eq!(
        names(&result, "lost"),
        BTreeSet::from(["n2".to_owned()]),
        "{result}"
    );
    assert_eq!(lab.bytes("lost.out.json"), lab.bytes("whole.json"));
    lab.is_clean();
}

#[test]
fn the_components_of_a_heterogeneous_job_are_sets_and_a_job_that_is_cancelled_leaves_nothing() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    let both = [
        "--nodes=2 --cpus-per-task=1",
        "hetjob",
        "--nodes=1 --cpus-per-task=2",
    ];
    let short = ["--set application.supersteps=40", "-n 4"];
    let job = lab.submit("het", &both, &short);
    let result = lab.result("het", &job, 40);
    assert_eq!(result["sets"], 2, "{result}");
    assert_eq!(result["hosts"].as_array().unwrap().len(), 3, "{result}");
    lab.is_clean();
    let long = [
        "--set application.supersteps=900000",
        "-n 4",
        "--checkpoint saved",
        "--out runs/ended",
    ];
    let job = lab.submit("ended", &["--nodes=3"], &long);
    lab.begun("ended", "runs/ended/iii/events.jsonl", 20);
    lab.on("login", &["scancel", &job]);
    assert_eq!(lab.ends("ended", &job, 40), "CANCELLED");
    lab.is_clean();
    let log = lab.text("ended.log");
    assert!(
        log.contains("the newest checkpoint is of superstep"),
        "{log}"
    );
    assert_eq!(lab.told(&job, "Restarts"), "0");
}

#[test]
fn a_job_that_is_told_that_its_time_is_over_saves_is_requeued_and_goes_on() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    simulate(&lab.folder, &["-n", "4", "--set", "scheduler.policy=none"]);
    let options = [
        &SECONDS[..],
        &[
            "--checkpoint saved",
            "--every 1000supersteps",
            "--requeue",
            "--out runs",
            "--outputs out.json",
        ],
    ]
    .concat();
    let job = lab.submit("told", &["--nodes=3 --requeue"], &options);
    lab.begun("told", "runs/i/events.jsonl", 20);
    thread::sleep(Duration::from_millis(500));
    // As `--signal=USR1@...` of sbatch does: all nodes receive it, and the script does not.
    lab.on("login", &["scancel", "--signal=USR1", &job]);
    let result = lab.result("told", &job, 200);
    let log = lab.text("told.log");
    assert_eq!(lab.told(&job, "Restarts"), "1", "{log}");
    assert!(log.contains("the job is requeued"), "{log}");
    assert!(
        0 < result["resumed"]["superstep"].as_u64().unwrap(),
        "{result}"
    );
    assert_eq!(lab.bytes("out.json"), lab.bytes("whole.json"));
    // The record of the first attempt is kept, up to the last checkpoint.
    let first = lab.text("runs/i.1/run.json.partial");
    assert!(first.contains("interrupted"), "{first}");
    lab.folder.stdout(&["verify", "runs/i"]);
    lab.is_clean();
}

#[test]
fn an_interactive_job_has_all_its_hosts_in_its_shell_and_in_a_step_which_says_so() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    simulate(&lab.folder, &["-n", "4", "--set", "scheduler.policy=none"]);
    let options = SECONDS.join(" ");
    let line = |name: &str| {
        format!(
            "{BINARY} slurm heat.toml {options} --format json --outputs {name}.out.json > {name}.json 2> {name}.log"
        )
    };
    // The shell of `salloc` without a command is a step on the first host, wants a terminal, and is the one of the user.
    fs::write(
        lab.path("typed"),
        format!("hostname > shell.host\n{}\nexit\n", line("shell")),
    )
    .unwrap();
    let typed = "SHELL=/bin/bash timeout 60 script -qec 'salloc --quiet --nodes=3 --cpus-per-task=1' /dev/null < typed";
    lab.on("login", &["bash", "-c", typed]);
    assert_eq!(lab.text("shell.host"), "n1\n");
    fs::write(lab.path("inside"), line("step")).unwrap();
    let inside = "srun --nodes=1 --ntasks=1 --nodelist=n2 --overlap bash inside";
    let command = ["salloc", "--quiet", "--nodes=3", "--cpus-per-task=1"];
    lab.on("login", &[&command[..], &["bash", "-c", inside]].concat());
    for name in ["shell", "step"] {
        let (log, json) = (
            lab.text(&format!("{name}.log")),
            lab.text(&format!("{name}.json")),
        );
        let result: Value = serde_json::from_str(&json).unwrap_or_else(|error| {
            panic!("{error}: {json}\n{log}");
        });
        assert_eq!(result["hosts"].as_array().unwrap().len(), 3, "{result}");
        assert_eq!(
            lab.bytes(&format!("{name}.out.json")),
            lab.bytes("whole.json")
        );
        let said =
            log.contains("takes all hosts of the job, n[1-3], and not those of this step, n2;");
        assert_eq!(said, name == "step", "{log}");
    }
    lab.is_clean();
}

#[test]
fn a_sweep_is_an_array_and_a_job_that_depends_on_it_merges_its_parts() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    // The script and the commands are those of the documentation, but for the size of the sweep.
    let documented = fs::read_to_string(root().join("docs/guide/slurm.md")).unwrap();
    let (_, sweeps) = documented.split_once("\n## Sweeps\n").unwrap();
    let mut blocks = sweeps.split("```text\n").skip(1);
    let mut block = || {
        blocks
            .next()
            .unwrap()
            .split("```")
            .next()
            .unwrap()
            .to_owned()
    };
    let (mut script, submit) = (block(), block());
    for (long, short) in [
        (
            "--array=1-16 --cpus-per-task=8",
            "--array=1-3 --cpus-per-task=2",
        ),
        ("$SLURM_ARRAY_TASK_ID/16", "$SLURM_ARRAY_TASK_ID/3"),
        ("conf/dynamic/drift.toml", "small.toml"),
        (
            "scheduler.interval=1..16 --seeds 1..30",
            "scheduler.interval=2..5 --seeds 1..2",
        ),
    ] {
        assert!(script.contains(long), "{script}");
        script = script.replace(long, short);
    }
    fs::write(lab.path("sweep.sh"), script).unwrap();
    simulate(&lab.folder, &[]);
    let small = format!("{HEAT}\n[platform]\nfile = \"platform.toml\"\n");
    fs::write(lab.path("small.toml"), small).unwrap();
    let sweep = "sweep small.toml --set scheduler.interval=2..5 --seeds 1..2 --out whole";
    lab.folder.stdout(&sweep.split(' ').collect::<Vec<_>>());
    let path = PathBuf::from(BINARY);
    let path = path.parent().unwrap().display();
    let told = lab.on(
        "login",
        &[
            "bash",
            "-c",
            &format!("export PATH={path}:$PATH\n{submit}echo $array"),
        ],
    );
    let words: Vec<&str> = told.split_whitespace().collect();
    let ["Submitted", "batch", "job", merge, array] = words[..] else {
        panic!("{told}");
    };
    assert_eq!(lab.ends("sweep", merge, 120), "COMPLETED", "{told}");
    let dependency = lab.told(merge, "Dependency");
    assert_eq!(dependency, "(null)", "it has waited for {array}");
    let merged = lab.text("results/all/runs.csv");
    let rows = |text: &str| {
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(1 < rows(&merged).len(), "{merged}");
    assert_eq!(rows(&merged), rows(&lab.text("whole/runs.csv")));
    for part in 1..=3 {
        let log = lab.text(&format!("sweep-{array}_{part}.out"));
        assert!(log.contains("runs"), "{log}");
    }
}

#[cfg(feature = "long-tests")]
#[test]
fn a_job_that_is_longer_than_its_time_limit_is_requeued_until_it_is_complete() {
    let Some(lab) = Lab::up() else {
        eprintln!("{SKIPPED}");
        return;
    };
    let long = ["--set", "application.supersteps=30000"];
    let alone = ["-n", "4", "--set", "scheduler.policy=none"];
    simulate(&lab.folder, &[&alone[..], &long].concat());
    let options = [
        "--set application.supersteps=30000",
        "--set scheduler.policy=none",
        "-n 4",
        "--checkpoint saved",
        "--every 1000s",
        "--requeue",
        "--out runs",
        "--outputs out.json",
    ];
    // The script is told some 20 s after it has begun.
    let directives = ["--nodes=3 --requeue --time=1 --signal=B:USR1@40"];
    let job = lab.submit("long", &directives, &options);
    lab.result("long", &job, 1200);
    let log = lab.text("long.log");
    let restarts: u32 = lab.told(&job, "Restarts").parse().unwrap();
    assert!(0 < restarts, "{log}");
    assert_eq!(lab.bytes("out.json"), lab.bytes("whole.json"));
    lab.is_clean();
}
