//! Runs that lose nodes and go on.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{Ended, Folder};
use crate::live::cluster::{Cluster, HEAT};
use crate::live::under_way::{UnderWay, signal};
use crate::live::up::begun;

/// A run that takes checkpoints early, and long enough that there is one before a node is lost.
pub(super) const LONG: [&str; 4] = [
    "--set",
    "application.supersteps=3500",
    "--set",
    "checkpoint.first=0.1s",
];

/// The JSON of a run with these options of `up` and `run`, which has to succeed, and what it said on stderr.
pub(super) fn run(folder: &Folder, up: &[&str], run: &[&str]) -> (Value, String) {
    let up = [&["up"], up, &["--", "run", "heat.toml", "--format", "json"]].concat();
    let arguments = [&up[..], &LONG, run].concat();
    let ended = UnderWay::start(&mut folder.command(&arguments)).ends_within(300);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

/// Writes the outputs of a run that loses nothing to `whole.json`: a simulation has the same.
pub(crate) fn simulate(folder: &Folder, options: &[&str]) {
    let platform = "[[set]]\nname = \"s\"\nhosts = 2\ncores = 1\nspeed = \"1 Gf\"\n\
                    link = { bandwidth = \"125 MBps\", latency = \"50 us\" }\n";
    fs::write(folder.path().join("platform.toml"), platform).unwrap();
    let simulate = ["simulate", "heat.toml", "--outputs", "whole.json"];
    let there = ["--set", "platform.file=platform.toml"];
    let ended = folder.run(&[&simulate[..], &there, &LONG, options].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Waits until there are events in the record of a run.
pub(crate) fn begun_on(run: &UnderWay, record: &Path) {
    while fs::metadata(record).map_or(0, |data| data.len()) == 0 {
        assert!(!run.is_over(), "{:?}", run.ends_within(0));
        thread::sleep(Duration::from_millis(5));
    }
}

/// The bytes of a file.
pub(super) fn read(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap()
}

/// The records in a folder are accepted and explained, the newest one by the name of the folder.
pub(super) fn readable(folder: &Folder, out: &str, views: &[Value]) {
    for view in views {
        let record = view["record"].as_str().unwrap();
        let path = Path::new(out).join(record);
        let path = path.to_str().unwrap();
        for command in ["verify", "explain"] {
            let ended = folder.run(&[command, path]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
    let explained = folder.run(&["explain", out]);
    assert!(
        explained.stdout.contains("the job goes on"),
        "{explained:?}"
    );
}

#[test]
fn a_run_goes_on_without_any_of_its_nodes() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let two = ["--local", "2"];
    simulate(&folder, &[]);
    for (number, node) in ["1", "2"].into_iter().enumerate() {
        let (out, outputs) = (format!("runs{node}"), format!("outputs{node}.json"));
        let kill = format!("{node}@1500");
        let up = [&two[..], &["--kill", &kill]].concat();
        let (lost, stderr) = run(&folder, &up, &["--out", &out, "--outputs", &outputs]);
        assert_eq!(read(&folder, &outputs), read(&folder, "whole.json"));
        let views = lost["views"].as_array().unwrap();
        assert_eq!(views.len(), 2, "{lost}");
        let [first, second] = &views[..] else {
            unreachable!()
        };
        assert_eq!(first["reason"], "start");
        let remaining = ["node-2", "node-1"][number];
        assert_eq!(second["hosts"], serde_json::json!([remaining]));
        assert_eq!(second["lost"][0]["host"], format!("node-{node}"));
        let (begun, repeated) = (&second["superstep"], &second["repeated_supersteps"]);
        // It went on from a checkpoint, and the record of the first view has what was complete.
        assert!(0 < begun.as_u64().unwrap(), "{lost}");
        let complete = begun.as_u64().unwrap() + repeated.as_u64().unwrap();
        assert!((1501..3500).contains(&complete), "{lost}");
        assert!(second["detected_seconds"].as_f64().unwrap() < 2.8, "{lost}");
        let said = format!("the job goes on from superstep {begun} on 1 node (view 2)");
        assert!(stderr.contains(&said), "{stderr}");
        readable(&folder, &out, views);
    }
}

#[test]
fn a_run_goes_on_without_a_set_and_without_two_nodes_one_after_the_other() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let four = ["--local", "4", "--sets", "2"];
    simulate(&folder, &[]);
    for (name, kills, views) in [
        ("set", &["--kill", "3@1500", "--kill", "4@1500"][..], 2),
        ("two", &["--kill", "4@300", "--kill", "1@2200"], 3),
    ] {
        let up = [&four[..], kills].concat();
        let outputs = format!("{name}.json");
        let (lost, _) = run(&folder, &up, &["--out", name, "--outputs", &outputs]);
        assert_eq!(read(&folder, &outputs), read(&folder, "whole.json"));
        let found = lost["views"].as_array().unwrap();
        assert_eq!(found.len(), views, "{lost}");
        assert_eq!(found[views - 1]["hosts"].as_array().unwrap().len(), 2);
        readable(&folder, name, found);
    }
    // The next record in the folder is of a run of one view.
    let short = [
        "--out",
        "two",
        "--force",
        "--set",
        "application.supersteps=100",
    ];
    let replaced = run(&folder, &four, &short);
    assert_eq!(replaced.0["views"].as_array().unwrap().len(), 1);
    assert!(!folder.path().join("two/iii-view2/run.json").exists());
    let explained = folder.run(&["explain", "two"]);
    assert!(
        !explained.stdout.contains("the job goes on"),
        "{explained:?}"
    );
}

#[test]
fn a_loss_before_the_first_checkpoint_begins_again_and_without_recovery_ends_the_run() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let two = ["--local", "2", "--kill", "2@100"];
    simulate(&folder, &[]);
    let late = ["--set", "checkpoint.first=100s", "--outputs", "late.json"];
    let (late, stderr) = run(&folder, &two, &late);
    assert_eq!(read(&folder, "late.json"), read(&folder, "whole.json"));
    assert_eq!(late["views"][1]["superstep"], 0);
    let again = "the job goes on again from its beginning on 1 node (view 2)";
    assert!(stderr.contains(again), "{stderr}");
    for off in [&["--no-recovery"][..], &["--set", "recovery.enabled=false"]] {
        let up = [&["up"], &two[..], &["--", "run", "heat.toml"], &LONG, off].concat();
        let ended = UnderWay::start(&mut folder.command(&up)).ends_within(15);
        assert_eq!(ended.code, Some(5), "{ended:?}");
        let note = "\n  note: node-2 was killed after superstep 100, as --kill says\n";
        assert!(ended.stderr.ends_with(note), "{ended:?}");
    }
}

#[test]
fn a_run_goes_on_without_a_node_that_is_told_to_end_or_stands_still() {
    let folder = Folder::new().with("heat.toml", HEAT);
    simulate(&folder, &[]);
    for (kind, reason) in [
        ("TERM", "node-2 has been told to leave"),
        ("STOP", "node-2 at 127.0.0.1:"),
    ] {
        let outputs = format!("{kind}.json");
        let up = [
            "up",
            "--local",
            "3",
            "--",
            "run",
            "heat.toml",
            "--format",
            "json",
        ];
        let kept = ["--out", kind, "--outputs", &outputs];
        let mut command = folder.command(&[&up[..], &LONG, &kept].concat());
        let up = UnderWay::start(&mut command);
        let nodes = begun(&up, &folder.path().join(kind));
        signal(nodes[1], kind);
        let ended = up.ends_within(300);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(read(&folder, &outputs), read(&folder, "whole.json"));
        let lost: Value = serde_json::from_str(&ended.stdout).unwrap();
        let lost = &lost["views"][1]["lost"];
        assert_eq!(lost[0]["host"], "node-2");
        assert!(
            lost[0]["reason"].as_str().unwrap().contains(reason),
            "{lost}"
        );
    }
}

/// It stands still for longer than the others wait for it. When it goes on, it learns that the job does so without it, and is free: so
/// it is taken again.
#[test]
fn a_node_that_goes_on_too_late_is_back_and_nothing_is_repeated_for_that() {
    let folder = Folder::new().with("heat.toml", HEAT);
    // It lasts several seconds on one node, and no process leaves the other one again.
    let long = [
        "--set",
        "application.supersteps=20000",
        "--set",
        "application.heat.width=200",
        "--set",
        "application.heat.height=200",
        "--set",
        "scheduler.policy=none",
    ];
    simulate(&folder, &long);
    let up = ["--local", "2", "--stop", "2@300:3"];
    let options = [&["--out", "runs", "--outputs", "stopped.json"], &long[..]].concat();
    let (stopped, stderr) = run(&folder, &up, &options);
    assert_eq!(read(&folder, "stopped.json"), read(&folder, "whole.json"));
    let views = stopped["views"].as_array().unwrap();
    assert_eq!(views.len(), 3, "{stopped}");
    let (lost, back) = (&views[1], &views[2]);
    assert_eq!(lost["hosts"], serde_json::json!(["node-1"]));
    assert_eq!(lost["lost"][0]["host"], "node-2");
    assert_eq!(
        (&back["reason"], &back["joined"]),
        (&"joined".into(), &serde_json::json!(["node-2"]))
    );
    assert_eq!(back["hosts"], serde_json::json!(["node-1", "node-2"]));
    assert_eq!(back["repeated_supersteps"], 0, "{back}");
    let said = format!(
        "node-2 takes part; the job goes on from superstep {} on 2 nodes (view 3)",
        back["superstep"]
    );
    assert!(stderr.contains(&said), "{stderr}");
    // It has processes.
    let placement = stopped["placement"].as_array().unwrap();
    assert!(placement.contains(&"node-2".into()), "{stopped}");
    readable(&folder, "runs", views);
}

#[test]
fn states_that_are_too_large_for_the_memory_are_not_saved() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let little = ["--set", "recovery.memory=0"];
    let (_, stderr) = run(&folder, &["--local", "2"], &little);
    assert!(
        stderr.contains("processes are not saved while they run: node-1 has "),
        "{stderr}"
    );
}

/// Three nodes of a Set, each of which may lead.
pub(super) fn three() -> Cluster {
    let hosts = [(); 3].map(|()| ("set-manager", "set=s0".to_owned()));
    Cluster::of(&hosts)
}

/// A command for the three nodes, which ends in time.
pub(super) fn told(cluster: &Cluster, words: &[&str]) -> Ended {
    UnderWay::start(&mut cluster.command("hosts", words)).ends_within(300)
}

/// The command that follows a job, and writes its record and its outputs there.
pub(super) const fn attach<'a>(job: &'a str, out: &'a str, outputs: &'a str) -> [&'a str; 8] {
    [
        "attach",
        job,
        "--out",
        out,
        "--outputs",
        outputs,
        "--format",
        "json",
    ]
}

/// The number of the job of the nodes and the name of its leader, once it has one.
pub(super) fn led(cluster: &Cluster) -> (String, String) {
    let began = Instant::now();
    loop {
        let nodes = cluster.status("hosts");
        let leaders = nodes.iter().filter_map(|node| {
            let leader = node["leader"].as_str()?;
            Some((node["job"].as_str()?.to_owned(), leader.to_owned()))
        });
        let is_node = |(_, leader): &(String, String)| leader.starts_with("node-");
        if let Some(found) = leaders.into_iter().find(is_node) {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{nodes:?}");
    }
}

#[test]
fn a_job_whose_client_is_killed_goes_on_and_is_fetched_by_its_client_alone() {
    let cluster = three();
    let folder = &cluster.folder;
    let run = [&["run", "heat.toml"], &LONG[..]].concat();
    simulate(folder, &[]);
    let kept = ["--out", "runs", "--outputs", "none.json"];
    let killed = UnderWay::start(&mut cluster.command("hosts", &[&run[..], &kept].concat()));
    begun_on(&killed, &folder.path().join("runs/iii/events.jsonl"));
    killed.signal("KILL");
    let (job, leader) = led(&cluster);
    // One that follows it is killed as well.
    let dead = UnderWay::start(&mut cluster.command("hosts", &attach(&job, "dead", "none.json")));
    begun_on(&dead, &folder.path().join("dead/iii-view2/events.jsonl"));
    dead.signal("KILL");
    // While it goes on, and after its end.
    for (out, outputs) in [("runs", "once.json"), ("again", "twice.json")] {
        let attach = [&attach(&job, out, outputs)[..], &["--as", "laptop"]].concat();
        let attached = told(&cluster, &attach);
        assert_eq!(attached.code, Some(0), "{attached:?}");
        assert_eq!(read(folder, outputs), read(folder, "whole.json"));
        let shown: Value = serde_json::from_str(&attached.stdout).unwrap();
        let view = &shown["views"][0];
        assert_eq!(
            (&view["number"], &view["reason"]),
            (&2.into(), &"leader".into()),
            "{shown}"
        );
        assert_eq!(view["leader"], leader.as_str());
        let verified = folder.run(&["verify", out]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    cluster.issue("client", "other");
    let other = told(&cluster, &["attach", &job, "--as", "other"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.stderr.contains("is not of this client"), "{other:?}");
    for command in ["attach", "end"] {
        let unknown = told(&cluster, &[command, "00000000000000a1", "--as", "laptop"]);
        assert_eq!(unknown.code, Some(4), "{unknown:?}");
        let said = "no node of the list has job 00000000000000a1";
        assert!(unknown.stderr.contains(said), "{unknown:?}");
    }
}

#[test]
fn a_job_that_is_left_goes_on_without_the_node_that_leads_it() {
    let cluster = three();
    let folder = &cluster.folder;
    let run = [&["run", "heat.toml"], &LONG[..]].concat();
    simulate(folder, &[]);
    let left = told(
        &cluster,
        &[&run[..], &["--detach", "--format", "json"]].concat(),
    );
    assert_eq!(left.code, Some(0), "{left:?}");
    let left: Value = serde_json::from_str(&left.stdout).unwrap();
    let (job, leader) = (
        left["job"].as_str().unwrap(),
        left["leader"].as_str().unwrap(),
    );
    assert_eq!(led(&cluster), (job.to_owned(), leader.to_owned()));
    cluster.signal(leader, "KILL");
    let attached = told(&cluster, &attach(job, "runs", "left.json"));
    assert_eq!(attached.code, Some(0), "{attached:?}");
    assert_eq!(read(folder, "left.json"), read(folder, "whole.json"));
    let shown: Value = serde_json::from_str(&attached.stdout).unwrap();
    let last = shown["views"].as_array().unwrap().last().unwrap();
    assert_eq!(last["hosts"].as_array().unwrap().len(), 2);
    assert_eq!(last["lost"][0]["host"], leader);
    assert!(last["restored_seconds"].as_f64().unwrap() < 4.0, "{last}");
    let explained = folder.run(&["explain", "runs"]);
    assert_eq!(explained.code, Some(0), "{explained:?}");
}

#[test]
fn a_job_that_is_left_is_ended_by_its_client_alone() {
    let cluster = three();
    let long = [
        "run",
        "heat.toml",
        "--set",
        "application.supersteps=900000",
        "--detach",
    ];
    let left = told(&cluster, &long);
    assert_eq!(left.code, Some(0), "{left:?}");
    let (job, _) = led(&cluster);
    cluster.issue("client", "other");
    let other = told(&cluster, &["end", &job, "--as", "other"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    let ended = told(&cluster, &["end", &job, "--as", "laptop"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let next = told(&cluster, &["run", "heat.toml", "--as", "laptop"]);
    assert_eq!(next.code, Some(0), "the nodes are free: {next:?}");
    let attached = told(&cluster, &["attach", &job, "--as", "laptop"]);
    assert_eq!(attached.code, Some(5), "{attached:?}");
    assert!(
        attached.stderr.contains("has ended the job"),
        "{attached:?}"
    );
}

/// One of three is not more than half.
#[test]
fn a_node_that_is_left_alone_waits_says_for_whom_and_is_free_then() {
    let cluster = three();
    let long = [
        "run",
        "heat.toml",
        "--detach",
        "--set",
        "application.supersteps=900000",
        "--set",
        "recovery.wait=8s",
    ];
    let left = told(&cluster, &long);
    assert_eq!(left.code, Some(0), "{left:?}");
    let (job, _) = led(&cluster);
    for node in ["node-1", "node-3"] {
        cluster.signal(node, "KILL");
    }
    let began = Instant::now();
    let said = format!(
        "node-2: job {job} has no leader since view 2: it waits for more than half of its 3 nodes, without node-1, node-3"
    );
    let is_said = || {
        let status = told(&cluster, &["status"]);
        assert_eq!(status.code, Some(5), "{status:?}");
        (status.stdout.contains(&said), status)
    };
    loop {
        let (is_said, status) = is_said();
        if is_said {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(8), "{status:?}");
    }
    while cluster
        .status("hosts")
        .iter()
        .any(|node| node["job"].is_string())
    {
        assert!(began.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(100));
    }
}

/// Each loss comes before the first checkpoint of the view.
#[cfg(feature = "long-tests")]
#[test]
fn three_views_without_a_newer_checkpoint_end_the_run_with_all_that_was_lost() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = ["up", "--local", "6", "--kill", "6@20", "--kill", "5@1000"];
    let later = ["--kill", "4@2000", "--kill", "3@3000"];
    let run = ["--", "run", "heat.toml", "--set", "checkpoint.first=100s"];
    let long = ["--set", "application.supersteps=900000"];
    let run = [&up[..], &later, &run, &long].concat();
    let ended = UnderWay::start(&mut folder.command(&run)).ends_within(300);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    for node in ["node-3", "node-4", "node-5", "node-6"] {
        assert!(ended.stderr.contains(node), "{ended:?}");
    }
}
