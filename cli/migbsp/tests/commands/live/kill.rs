//! Nodes that are killed once a superstep is over.

use std::fs;

use crate::invocation::Folder;
use crate::live::cluster::HEAT;
use crate::live::play;
use crate::live::under_way::UnderWay;

#[test]
fn a_node_is_killed_once_the_superstep_is_over_and_the_error_says_so() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = ["up", "--local", "2", "--kill", "2@30", "--kill", "1@900000"];
    let run = ["--", "run", "heat.toml", "--out", "runs"];
    let long = ["--no-recovery", "--set", "application.supersteps=900000"];
    let ended =
        UnderWay::start(&mut folder.command(&[&up[..], &run, &long].concat())).ends_within(15);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(5), ""),
        "{ended:?}"
    );
    let note = "\n  note: node-2 was killed after superstep 30, as --kill says\n";
    assert!(ended.stderr.ends_with(note), "{ended:?}");
    assert_eq!(ended.stderr.matches("note:").count(), 1, "{ended:?}");
    let events = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    assert!(events.contains("\"index\":30,"), "{events}");
}

#[test]
fn all_nodes_of_a_played_platform_are_killed() {
    let folder = play::folder();
    let up = ["up", "--play", "--kill", "all@5", "--", "run", "heat.toml"];
    let ended = UnderWay::start(&mut folder.command(&up)).ends_within(15);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(5), ""),
        "{ended:?}"
    );
    let note =
        "\n  note: left-1, left-2 and right-1 were killed after superstep 5, as --kill says\n";
    assert!(ended.stderr.ends_with(note), "{ended:?}");
    let up = ["up", "--play", "--kill", "4@5", "--", "run", "heat.toml"];
    folder.fails(&up, 2, "--kill 4@5: there are only 3 nodes");
}

#[test]
fn a_run_that_ends_before_succeeds_with_a_warning() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let up = [
        "up", "--local", "2", "--kill", "1@900", "--kill", "all@7000",
    ];
    let ended = folder.run(&[&up[..], &["--", "run", "heat.toml"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let warning = "WARN --kill 1@900, all@7000: the run ended before this superstep was over\n";
    assert_eq!(ended.stderr.trim_start(), warning);
}

#[test]
fn kills_that_cannot_be_are_refused_before_nodes_start() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let run = &["--", "run", "heat.toml"][..];
    let expected = "must be NODE@SUPERSTEP, such as 3@200 or all@200; nodes are counted from 1";
    let no_run = "--kill: there is no run whose supersteps could be over: add `-- run FILE`";
    for (kill, action, problem) in [
        ("0@5", run, expected),
        ("2", run, expected),
        ("2@", run, expected),
        ("some@5", run, expected),
        ("2@-5", run, expected),
        ("2@soon", run, expected),
        ("3@5", run, "--kill 3@5: there are only 2 nodes"),
        ("2@5", &["--", "status"], no_run),
        ("2@5", &["--", "bench", "superstep"], no_run),
        ("2@5", &[], no_run),
    ] {
        let up = ["up", "--local", "2", "--kill", kill];
        let ended = folder.run(&[&up, action].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{kill}: {ended:?}"
        );
        assert!(ended.stderr.contains(problem), "{kill}: {ended:?}");
    }
}
