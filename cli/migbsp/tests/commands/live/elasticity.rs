//! Runs that nodes join and leave.

use serde_json::{Value, json};

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::recovery::{
    LONG, attach, begun_on, led, read, readable, run, simulate, three, told,
};
use crate::live::under_way::UnderWay;

/// Supersteps that take longer than their messages, and no process leaves a node again.
const WIDE: [&str; 8] = [
    "--set",
    "application.supersteps=4000",
    "--set",
    "application.heat.width=300",
    "--set",
    "application.heat.height=300",
    "--set",
    "scheduler.policy=none",
];

#[test]
fn a_run_goes_on_with_a_node_that_joins_and_without_one_that_leaves_and_repeats_nothing() {
    let folder = Folder::new().with("heat.toml", HEAT);
    simulate(&folder, &WIDE);
    for (name, change, key, hosts) in [
        (
            "join",
            ["--join", "1@300"],
            "joined",
            json!(["node-1", "node-2", "node-3"]),
        ),
        ("drain", ["--drain", "1@300"], "lost", json!(["node-2"])),
    ] {
        let up = [&["--local", "2"], &change[..]].concat();
        let outputs = format!("{name}.json");
        let options = [&["--out", name, "--outputs", &outputs], &WIDE[..]].concat();
        let (shown, _) = run(&folder, &up, &options);
        assert_eq!(read(&folder, &outputs), read(&folder, "whole.json"));
        let views = shown["views"].as_array().unwrap();
        let [_, second] = &views[..] else {
            panic!("{shown}")
        };
        assert_eq!((&second["reason"], &second["hosts"]), (&key.into(), &hosts));
        assert_eq!(second["repeated_supersteps"], 0, "{second}");
        assert!(300 <= second["superstep"].as_u64().unwrap(), "{second}");
        let placement = shown["placement"].as_array().unwrap();
        for host in hosts.as_array().unwrap() {
            assert!(placement.contains(host), "{shown}");
        }
        readable(&folder, name, views);
    }
}

/// Nodes lead the job: its client has left. Its leader is drained, and a node joins that no list of hosts has.
#[test]
fn a_job_that_nodes_lead_goes_on_when_its_leader_is_drained_and_another_one_joins() {
    let mut cluster = three();
    let supersteps = [&WIDE[..], &["--set", "application.supersteps=6000"]].concat();
    simulate(&cluster.folder, &supersteps);
    let long = [
        &["run", "heat.toml", "--detach", "--format", "json"],
        &LONG[..],
    ]
    .concat();
    let long = [&long[..], &supersteps].concat();
    let left = told(&cluster, &long);
    assert_eq!(left.code, Some(0), "{left:?}");
    let (job, leader) = led(&cluster);
    let attach = attach(&job, "runs", "left.json");
    let attached = UnderWay::start(&mut cluster.command("hosts", &attach));
    let drained = told(&cluster, &["drain", &leader]);
    assert_eq!(drained.code, Some(0), "{drained:?}");
    assert_eq!(drained.stdout, format!("{leader} has ended\n"));
    assert_eq!(cluster.exit_of(&leader), Some(0));
    let other = ["node-1", "node-2"]
        .into_iter()
        .find(|name| *name != leader);
    cluster.offer(other.unwrap());
    let attached = attached.ends_within(90);
    assert_eq!(attached.code, Some(0), "{attached:?}");
    assert_eq!(
        read(&cluster.folder, "left.json"),
        read(&cluster.folder, "whole.json")
    );
    let shown: Value = serde_json::from_str(&attached.stdout).unwrap();
    let views = shown["views"].as_array().unwrap();
    let last = views.last().unwrap();
    assert_eq!(
        (&last["reason"], &last["joined"]),
        (&"joined".into(), &json!(["node-4"]))
    );
    assert_eq!(last["hosts"].as_array().unwrap().len(), 3, "{shown}");
    for view in views.iter().skip(1) {
        assert_eq!(view["repeated_supersteps"], 0, "{shown}");
    }
}

/// One node is in the pool of the list, another one in no list. Another run waits for all of them.
#[test]
fn a_run_takes_nodes_of_its_pool_and_those_that_are_added_and_another_run_waits() {
    let mut cluster = three();
    let long = [&WIDE[..], &["--set", "application.supersteps=6000"]].concat();
    simulate(&cluster.folder, &long);
    let pooled = cluster
        .list_without(&[])
        .replace("node-3 ", "node-3 pool=yes ");
    cluster.write("pooled", &pooled);
    let kept = ["--outputs", "pooled.json", "--format", "json"];
    let run = [
        &["run", "heat.toml", "--out", "runs"],
        &kept[..],
        &LONG,
        &long,
    ]
    .concat();
    let run = UnderWay::start(&mut cluster.command("pooled", &run));
    begun_on(&run, &cluster.folder.path().join("runs/i/events.jsonl"));
    let busy = told(&cluster, &["run", "heat.toml", "--wait", "1s"]);
    assert_eq!(busy.code, Some(5), "{busy:?}");
    let said = "node-1 runs a job of client laptop";
    assert!(busy.stderr.contains(said), "{busy:?}");
    assert!(busy.stderr.contains("waited 1 s"), "{busy:?}");
    cluster.serve(&[], &[]);
    let lines = cluster.list_without(&[]);
    let (_, address) = lines.trim_end().rsplit_once("addr=").unwrap();
    let node = format!("node-4={address}");
    let added = told(&cluster, &["add", &node]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(
        added.stdout.starts_with("node-4 takes part in job "),
        "{added:?}"
    );
    let again = told(&cluster, &["add", &node]);
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(again.stderr.contains("runs a job of"), "{again:?}");
    let waiting = ["run", "heat.toml", "--wait", "60s"];
    let waiting = UnderWay::start(&mut cluster.command("hosts", &waiting));
    let ended = run.ends_within(90);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        read(&cluster.folder, "pooled.json"),
        read(&cluster.folder, "whole.json")
    );
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    let views = shown["views"].as_array().unwrap();
    assert_eq!(views[0]["hosts"], json!(["node-1", "node-2"]));
    let joined: Vec<&Value> = views
        .iter()
        .flat_map(|view| view["joined"].as_array().unwrap())
        .collect();
    assert_eq!(joined, ["node-3", "node-4"], "{shown}");
    for view in views {
        assert_eq!(view["repeated_supersteps"], 0, "{shown}");
    }
    let waited = waiting.ends_within(60);
    assert_eq!(waited.code, Some(0), "{waited:?}");
    assert!(waited.stderr.contains("waits: node-"), "{waited:?}");
}

#[test]
fn nodes_that_cannot_join_or_leave_are_refused() {
    let folder = Folder::new().with("heat.toml", HEAT);
    for (options, problem) in [
        (
            &["--join", "0@5"][..],
            "must be COUNT@SUPERSTEP, such as 1@100",
        ),
        (&["--join", "1"], "must be COUNT@SUPERSTEP, such as 1@100"),
        (&["--drain", "3@5"], "--drain 3@5: there are only 2 nodes"),
        (&["--join", "1@5", "--play"], "cannot be used with"),
    ] {
        let up = [
            &["up", "--local", "2"],
            options,
            &["--", "run", "heat.toml"],
        ]
        .concat();
        let refused = folder.run(&up);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(problem), "{refused:?}");
    }
    let idle = folder.run(&["up", "--local", "2", "--join", "1@5"]);
    assert_eq!(idle.code, Some(2), "{idle:?}");
    assert!(idle.stderr.contains("--join: there is no run"), "{idle:?}");
    let cluster = three();
    let unknown = told(&cluster, &["drain", "node-9"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(
        unknown
            .stderr
            .contains("node-9: the list of hosts has no such node"),
        "{unknown:?}"
    );
}
