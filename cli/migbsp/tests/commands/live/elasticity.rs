//! Runs that nodes join and leave.

use serde_json::{Value, json};

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::recovery::{LONG, attach, led, read, readable, run, simulate, three, told};
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
