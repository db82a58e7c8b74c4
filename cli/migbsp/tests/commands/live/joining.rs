//! `[elasticity]` on real hosts: hosts that join when the experiment says so, if that pays.

use std::fs;

use serde_json::{Value, json};

use crate::invocation::{Folder, root};
use crate::live::under_way::UnderWay;

/// Four nodes, of which two that compute from the beginning and the one that joins leave each other processors.
const FOUR: [&str; 9] = [
    "up", "--local", "4", "--slow", "2:0.4", "--slow", "3:0.4", "--slow", "4:0.4",
];

/// The farm that ships, as a file of the folder.
fn farm() -> Folder {
    let text = fs::read_to_string(root().join("conf/elastic-farm.toml")).unwrap();
    let platform = fs::read_to_string(root().join("conf/platforms/four-nodes.toml")).unwrap();
    let folder = Folder::new().with("farm.toml", text);
    fs::create_dir(folder.path().join("platforms")).unwrap();
    folder.with("platforms/four-nodes.toml", platform)
}

/// The JSON of a run of the farm on four nodes with these options, and what it said on stderr.
fn run(folder: &Folder, options: &[&str]) -> (Value, String) {
    let run = ["--", "run", "farm.toml", "--format", "json"];
    let arguments = [&FOUR[..], &run, options].concat();
    let ended = UnderWay::start(&mut folder.command(&arguments)).ends_within(90);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (serde_json::from_str(&ended.stdout).unwrap(), ended.stderr)
}

/// To how many workers tasks were dealt each time, as the record in a folder says.
fn workers(folder: &Folder, record: &str) -> Vec<u64> {
    let events = folder.path().join(record).join("events.jsonl");
    let events = fs::read_to_string(events).unwrap();
    let events = events.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["notes"]["tasks dealt"].clone()
    });
    let dealt = events.filter(|dealt| !dealt.is_null());
    dealt
        .map(|dealt| dealt["count"].as_u64().unwrap_or(1))
        .collect()
}

/// What `explain` says of the record in a folder, which `verify` accepts.
fn explained(folder: &Folder, record: &str) -> String {
    folder.stdout(&["verify", record]);
    folder.stdout(&["explain", record])
}

#[test]
fn a_host_joins_a_farm_when_its_part_is_done_and_its_worker_moves_home_and_gets_tasks() {
    let folder = farm();
    let large = [
        "--set",
        "application.matrix-product.order=2000",
        "--set",
        "checkpoint.interval=1000000supersteps",
    ];
    let simulated = ["simulate", "farm.toml", "--format", "json"];
    let simulated = folder.stdout(&[&simulated[..], &large].concat());
    let simulated: Value = serde_json::from_str(&simulated).unwrap();
    let (shown, _) = run(&folder, &[&["--out", "runs"], &large[..]].concat());
    assert_eq!(
        shown["run"]["outputs_sha256"],
        simulated["runs"][0]["outputs_sha256"]
    );
    let views = shown["views"].as_array().unwrap();
    let [first, second] = &views[..] else {
        panic!("{shown}")
    };
    assert_eq!(first["hosts"], json!(["node-1", "node-2", "node-3"]));
    assert_eq!(
        (&second["joined"], &second["repeated_supersteps"]),
        (&json!(["node-4"]), &json!(0))
    );
    let join = &shown["run"]["joins"][0];
    assert_eq!(
        (&join["host"], &join["joined"], &join["processes"]),
        (&json!("node-4"), &json!(true), &json!(["p4"]))
    );
    assert_eq!(join["superstep"], second["superstep"]);
    let number = |key: &str| join[key].as_f64().unwrap();
    assert!(0.0 < number("saves_seconds"), "{join}");
    assert!(
        number("saves_seconds") < number("remaining_seconds"),
        "{join}"
    );
    assert!(0.0 < number("waited_seconds"), "{join}");
    // The worker on standby gets no tasks, and then all do.
    assert!(workers(&folder, "runs/i").iter().all(|count| *count <= 2));
    assert!(workers(&folder, "runs/i-view2").contains(&3));
    let said = explained(&folder, "runs/i-view2");
    assert!(said.contains("node-4 joined after superstep"), "{said}");
    assert!(said.contains("p4 moved to it"), "{said}");
    explained(&folder, "runs/i");
}

#[test]
fn a_host_does_not_join_if_that_does_not_pay_any_more() {
    let folder = farm();
    let late = [
        "--set",
        "elasticity.part=0.9",
        "--set",
        "application.matrix-product.order=1000",
    ];
    let (shown, stderr) = run(&folder, &[&["--out", "runs"], &late[..]].concat());
    assert_eq!(shown["views"].as_array().unwrap().len(), 1, "{shown}");
    let join = &shown["run"]["joins"][0];
    assert_eq!(
        (&join["host"], &join["joined"], &join["processes"]),
        (&json!("node-4"), &json!(false), &json!([]))
    );
    assert!(join["saves_seconds"].as_f64().unwrap() < 0.0, "{join}");
    assert!(!stderr.contains("has not joined"), "{stderr}");
    let said = explained(&folder, "runs/i");
    let expected = "because it does not pay: preparing it takes";
    assert!(said.contains("node-4 did not join at"), "{said}");
    assert!(said.contains(expected), "{said}");
    assert!(workers(&folder, "runs/i").iter().all(|count| *count <= 2));
}

#[test]
fn a_run_says_which_hosts_have_not_joined_before_its_end() {
    let text = fs::read_to_string(root().join("conf/elastic-farm.toml")).unwrap();
    let never = text.replace("part = 0.1", "superstep = 1000000");
    let small = ["--set", "application.matrix-product.order=200"];
    let (shown, stderr) = run(&farm().with("farm.toml", never), &small);
    assert!(shown["run"]["joins"].is_null(), "{shown}");
    let said = "node-4 has not joined: the run ended before it was ready";
    assert!(stderr.contains(said), "{stderr}");
}

#[test]
fn what_no_real_host_can_do_is_refused_with_what_would_do() {
    let folder = farm();
    for (up, run, problem) in [
        (
            &["--local", "4"][..],
            &["--set", "elasticity.creation=[3]"][..],
            "invalid value `3` for `elasticity.creation`: needs a simulated platform: on real hosts, preparing a host takes what it takes",
        ),
        (
            &["--local", "4"],
            &["--set", "elasticity.preparation=blocking"],
            "invalid value `\"blocking\"` for `elasticity.preparation`: needs a simulated platform",
        ),
        (
            &["--local", "3"],
            &[],
            "`elasticity.pool[0]`: the platform has no host \"node-4\"",
        ),
        (
            &["--local", "4"],
            &["--set", "elasticity.pool=[\"node-1\"]"],
            "node-1 is there already: p1 starts on it",
        ),
        (
            &["--local", "4"],
            &["--no-recovery"],
            "for `elasticity.pool`: needs a job that goes on when a node is lost",
        ),
        (
            &["--play"],
            &[],
            "for `elasticity.pool`: needs a simulation, or `run` without `--play`",
        ),
    ] {
        let arguments = [&["up"], up, &["--", "run", "farm.toml"], run].concat();
        let refused = folder.run(&arguments);
        assert_ne!(refused.code, Some(0), "{refused:?}");
        assert!(refused.stderr.contains(problem), "{refused:?}");
    }
}
