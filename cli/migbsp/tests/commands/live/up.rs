//! A cluster for as long as a command takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::invocation::{BINARY, Folder, root};
use crate::live::cluster::{Cluster, HEAT};
use crate::live::identity_of;
use crate::live::under_way::{UnderWay, is_alive, signal};
use crate::schemas;

/// The plate that ships, for a shorter time. On a busy machine the first calls take longer than what they may take of a run
/// that is so short, and show nothing yet: calls may take half of it.
const PLATE: [&str; 6] = [
    "--set",
    "application.supersteps=300",
    "--set",
    "scheduler.planning.overhead=0.5",
    "--format",
    "json",
];

#[test]
fn processes_leave_a_slow_node_and_compute_what_a_simulation_does() {
    let folder = Folder::new();
    let file = root().join("conf/heat-local.toml");
    let file = file.to_str().unwrap();
    // So slow that it pays to leave it, whatever else runs here.
    let up = ["up", "--local", "4", "--sets", "2", "--slow", "4:0.1", "--"];
    let run = ["run", file, "--out", "runs"];
    let live = folder.stdout(&[&up[..], &run, &PLATE].concat());
    let live: Value = serde_json::from_str(&live).unwrap();
    assert_eq!(live["schema"], "migbsp.live/1");
    assert!(live["run"]["verified"].is_string(), "{live}");
    let calls = live["run"]["calls"].as_array().unwrap().iter();
    let mut moves = calls.flat_map(|call| call["migrations"].as_array().unwrap());
    let leaves = |of: &Value| of["from"] == "node-4" && of["to"] != "node-4";
    assert!(moves.any(leaves), "{live}");
    // Whether the moves pay for themselves depends on what else runs on this machine.
    let payback = &live["payback"];
    assert!(payback["migrations"].as_u64() > Some(0), "{payback}");
    folder.stdout(&["verify", "runs/iii"]);
    // All commands judge moves by one rule.
    let explained = folder.stdout(&["explain", "runs/iii", "--format", "json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    assert_eq!(&explained["balance"], payback);
    let sentences = explained["sentences"].as_array().unwrap().iter();
    let sentences: Vec<&str> = sentences
        .map(|sentence| sentence.as_str().unwrap())
        .collect();
    let migrations = payback["migrations"].as_u64().unwrap();
    let beginning = match migrations {
        1 => "1 migration: the calls cost ".to_owned(),
        _ => format!("{migrations} migrations: the calls cost "),
    };
    let judged = sentences
        .iter()
        .find(|sentence| sentence.starts_with(&beginning));
    let judged = judged.unwrap_or_else(|| panic!("{sentences:?}"));
    folder.stdout(&["report", "runs/iii", "-o", "report.html"]);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains(judged), "{judged}");
    // Nodes have built the plate, and the bytes of the outputs came back.
    let transfers = &live["run"]["transfers"];
    assert_eq!(transfers["sent_bytes"], 0, "{transfers}");
    assert!(
        transfers["sending_seconds"].as_f64() > Some(0.0),
        "{transfers}"
    );
    assert!(
        transfers["received_bytes"].as_u64() > Some(0),
        "{transfers}"
    );
    let simulated = folder.stdout(
        &[
            &["simulate", file, "--set", "scheduler.scenario=iii"],
            &PLATE[..],
        ]
        .concat(),
    );
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    let digest = &live["run"]["outputs_sha256"];
    assert!(digest.is_string());
    assert_eq!(digest, &simulated["runs"][0]["outputs_sha256"]);
}

#[test]
fn nodes_say_how_they_are() {
    let folder = Folder::new();
    let status = ["up", "--local", "3", "--", "status"];
    let table = folder.stdout(&status);
    let rows = table.lines().filter(|line| line.contains("127.0.0.1:"));
    assert_eq!(rows.count(), 3, "{table}");
    let shown = folder.stdout(&[&status[..], &["--format", "json"]].concat());
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["schema"], "migbsp.status/1");
    assert_eq!(shown["nodes"].as_array().unwrap().len(), 3);
    for node in shown["nodes"].as_array().unwrap() {
        let build = &node["build"];
        assert_eq!(build, &shown["build"]);
        assert_eq!(build["program"], "migbsp");
        assert_eq!(build["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(build["sha256"], identity_of(&fs::read(BINARY).unwrap()));
        assert_eq!((&node["jobs"], &node["client"]), (&0.into(), &().into()));
    }
}

#[test]
fn no_node_process_outlives_up() {
    let folder = Folder::new().with("heat.toml", HEAT);
    for kind in ["KILL", "INT"] {
        let run = ["run", "heat.toml", "--set", "application.supersteps=900000"];
        let out = ["--out", kind];
        let up = [&["up", "--local", "2", "--"], &run[..], &out].concat();
        let up = UnderWay::start(&mut folder.command(&up));
        let nodes = begun(&up, &folder.path().join(kind));
        assert_eq!(nodes.len(), 2);
        up.signal(kind);
        let code = up.ends_within(10).code;
        assert_eq!(code, (kind == "INT").then_some(130));
        let began = std::time::Instant::now();
        while nodes.iter().any(|pid| is_alive(*pid)) {
            assert!(began.elapsed().as_secs() < 10, "{kind}: {nodes:?}");
        }
    }
}

#[test]
fn a_stopped_node_does_not_block_the_end() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let run = ["run", "heat.toml", "--set", "application.supersteps=900000"];
    let up = [
        &["up", "--local", "2", "--"],
        &run[..],
        &["--no-recovery", "--out", "runs"],
    ]
    .concat();
    let up = UnderWay::start(&mut folder.command(&up));
    let nodes = begun(&up, &folder.path().join("runs"));
    signal(nodes[1], "STOP");
    let ended = up.ends_within(15);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("node-2"), "{ended:?}");
    assert!(!nodes.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn the_end_of_a_node_process_is_told_as_far_as_the_system_tells_it() {
    for (kind, end) in [
        ("KILL", "note: node-2 was killed (SIGKILL)"),
        (
            "ABRT",
            "note: node-2 aborted (SIGABRT), as a program does when an allocation fails",
        ),
    ] {
        let folder = Folder::new().with("heat.toml", HEAT);
        let run = ["run", "heat.toml", "--set", "application.supersteps=900000"];
        let up = [
            &["up", "--local", "2", "--"],
            &run[..],
            &["--no-recovery", "--out", "runs"],
        ]
        .concat();
        let up = UnderWay::start(&mut folder.command(&up));
        let nodes = begun(&up, &folder.path().join("runs"));
        signal(nodes[1], kind);
        let ended = up.ends_within(15);
        assert_eq!(ended.code, Some(5), "{ended:?}");
        assert!(ended.stderr.contains(end), "{kind}: {ended:?}");
    }
}

#[test]
fn a_killed_up_leaves_a_folder_that_the_next_one_removes() {
    let folder = Folder::new();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let folder = folder.with_variable("TMPDIR", temporary.to_str().unwrap());
    let folders = || -> Vec<PathBuf> {
        let entries = fs::read_dir(&temporary).unwrap();
        let folders = entries.map(|entry| entry.unwrap().path());
        folders.filter(|path| path.is_dir()).collect()
    };
    let up = UnderWay::start(&mut folder.command(&["up", "--local", "1"]));
    while folders().is_empty() || !folders()[0].join("hosts").exists() {
        assert!(!up.is_over(), "{:?}", up.ends_within(0));
    }
    let used = folders();
    // It has to be older than the moment between the making of a folder and its lock.
    let age = |path: &Path| {
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        fs::File::open(path)
            .unwrap()
            .set_modified(hour_ago)
            .unwrap();
    };
    age(&used[0]);
    folder.stdout(&["up", "--local", "1", "--", "status"]);
    assert_eq!(folders(), used);
    up.signal("KILL");
    up.ends_within(10);
    age(&used[0]);
    folder.stdout(&["up", "--local", "1", "--", "status"]);
    assert_eq!(folders(), Vec::<PathBuf>::new());
}

/// The nodes of a run that computes: there is something to be recorded.
pub(super) fn begun(up: &UnderWay, folder: &Path) -> Vec<u32> {
    let record = folder.join("iii/events.jsonl");
    while fs::metadata(&record).map_or(0, |data| data.len()) == 0 {
        assert!(!up.is_over(), "{:?}", up.ends_within(0));
    }
    up.children()
}

#[test]
fn policies_are_compared_in_repetitions_each_of_which_has_all_runs_in_an_order_that_is_drawn() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = ["up", "--local", "2", "--sets", "2", "--"];
    let compare = [
        "compare",
        "heat.toml",
        "--live",
        "3",
        "--policy",
        "none",
        "--policy",
        "adaptive",
        "--set",
        "application.supersteps=5",
        "--format",
        "json",
    ];
    let printed = folder.stdout(&[&up[..], &compare].concat());
    assert_eq!(schemas::check(&printed, "compare --live"), "compare");
    let report: Value = serde_json::from_str(&printed).unwrap();
    let live = &report["live"];
    assert_eq!(
        (&live["hosts"], &live["sets"]),
        (&Value::from(2), &Value::from(2))
    );
    let named = |run: &Value, repetition: &str| {
        let policy = run["policy"].as_str().unwrap().to_owned();
        (run[repetition].as_u64().unwrap(), policy)
    };
    let order = live["order"].as_array().unwrap().iter();
    let order: Vec<(u64, String)> = order.map(|run| named(run, "repetition")).collect();
    let firsts: BTreeSet<&String> = order.iter().step_by(2).map(|(_, policy)| policy).collect();
    assert_eq!(firsts.len(), 2, "{order:?}");
    let runs = report["runs"].as_array().unwrap();
    let made: BTreeSet<(u64, String)> = runs.iter().map(|run| named(run, "seed")).collect();
    assert_eq!((runs.len(), made), (6, order.into_iter().collect()));
    for run in runs {
        assert!(run["seconds"].as_f64() > Some(0.0), "{run}");
        assert_eq!(run["supersteps"], 5);
        // What another mapping would have computed is not known.
        assert!(run["imbalance_seconds"].is_null(), "{run}");
        assert_eq!(run["calls"] == 0, run["policy"] == "none", "{run}");
    }
    let digests: BTreeSet<&str> = runs
        .iter()
        .map(|run| run["run_sha256"].as_str().unwrap())
        .collect();
    assert_eq!(digests.len(), 6);
    let pair = &report["pairs"][0];
    assert_eq!(pair["seeds"], 3, "{pair}");
    assert!(pair["ratio_low"].is_number(), "{pair}");
}

#[test]
fn what_repetitions_on_nodes_have_no_use_for_is_refused() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let check = |arguments: &str, message: &str| {
        let words: Vec<&str> = arguments.split(' ').collect();
        let ended = folder.run(&words);
        let is_refused = ended.code == Some(2) && ended.stderr.contains(message);
        assert!(is_refused, "{arguments}: {ended:?}");
    };
    for option in [
        "--seeds 1..2",
        "--jobs 2",
        "--out runs",
        "--retry --out runs",
    ] {
        check(
            &format!("compare heat.toml --live 2 {option}"),
            "the argument '--live <N>' cannot be used with",
        );
    }
    check(
        "compare --from runs --live 2",
        "the argument '--from <DIR>' cannot be used with '--live <N>'",
    );
    check(
        "compare heat.toml --cluster hosts",
        "--cluster, --identity and --as are for runs on hosts: add --live N",
    );
    check(
        "up --local 2 -- compare heat.toml",
        "compare: on the nodes of `up` it needs --live N",
    );
    check(
        "up --local 2 -- compare heat.toml --live 2 --cluster hosts",
        "are for another cluster than the one that is up",
    );
    check("compare heat.toml --live 0", "0 is not in 1..=10000");
    check(
        "compare heat.toml --live 2",
        "--cluster FILE is missing, and this is no job of Slurm, PBS or OAR",
    );
}

#[test]
fn a_comparison_that_is_interrupted_shows_the_repetitions_that_are_done() {
    let cluster = Cluster::start(&[2]);
    let words = ["compare", "heat.toml", "--live", "10000"];
    let policy = ["--policy", "none", "--order-seed", "3"];
    let mut command = cluster.command("hosts", &[&words[..], &policy].concat());
    let comparison = UnderWay::start(&mut command);
    for _ in 0..4 {
        cluster.logged("node-2", "a job begins");
    }
    comparison.signal("INT");
    let ended = comparison.ends_within(20);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let done = "shown are the repetitions that are done under all policies";
    assert!(ended.stderr.contains("error: interrupted: "), "{ended:?}");
    assert!(ended.stderr.contains(done), "{ended:?}");
    assert!(ended.stdout.contains(" repetitions\n"), "{ended:?}");
    cluster.is_free_within(20, "hosts");
}
