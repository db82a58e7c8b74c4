//! Records of runs on nodes that did not start or did not end.

use std::fs;

use crate::charts::check_page;
use crate::invocation::{Folder, root, rows};
use crate::live::cluster::{Cluster, HEAT};

#[test]
fn a_run_that_never_started_leaves_nothing() {
    let cluster = Cluster::start(&[2]);
    let heat = ["run", "heat.toml", "--out", "runs"];
    cluster.write(
        "lost",
        &cluster.list_without(&[]).replace("node-2 ", "node-9 "),
    );
    let out = cluster.folder.path().join("runs");
    let unreachable = cluster.command("lost", &heat).output().unwrap();
    assert_eq!(unreachable.status.code(), Some(5), "{unreachable:?}");
    assert!(!out.exists());
    let again = cluster.command("hosts", &heat).output().unwrap();
    assert!(again.status.success(), "{again:?}");
    assert!(out.join("iii/run.json").exists());
}

#[test]
fn a_run_that_was_interrupted_is_explained_and_its_folder_used_again() {
    let cluster = Cluster::start(&[2]);
    let long = cluster.begin(&["--out", "runs"]);
    let events = cluster.folder.path().join("runs/iii/events.jsonl");
    let lines = || fs::read_to_string(&events).map_or(0, |text| text.matches('\n').count());
    while lines() < 30 {
        assert!(!long.is_over(), "{:?}", long.ends_within(0));
    }
    long.signal("INT");
    assert_eq!(long.ends_within(15).code, Some(130));
    let explained = cluster.folder.stdout(&["explain", "runs"]);
    assert!(
        explained.contains("The run was interrupted after ") && explained.contains(" (SIGINT)."),
        "{explained}"
    );
    cluster.folder.stdout(&["verify", "runs"]);
    let drawn = ["report", "runs", "-o", "run.html"];
    cluster.folder.stdout(&drawn);
    let page = fs::read_to_string(cluster.folder.path().join("run.html")).unwrap();
    assert!(
        page.contains("<strong>Not the whole run. </strong>"),
        "{page}"
    );
    cluster.is_free_within(15, "hosts");
    let again = ["run", "heat.toml", "--out", "runs"];
    let again = cluster.command("hosts", &again).output().unwrap();
    assert!(again.status.success(), "{again:?}");
    let before = cluster.folder.stdout(&["explain", "runs/iii.1"]);
    assert!(
        before.contains("The run was interrupted after "),
        "{before}"
    );
    let verified = cluster.folder.stdout(&["verify", "runs"]);
    assert!(!verified.contains("did not end"), "{verified}");
    let drawn = cluster.folder.stdout(&drawn);
    assert!(drawn.starts_with("runs: scenario iii, "), "{drawn}");
    let page = fs::read_to_string(cluster.folder.path().join("run.html")).unwrap();
    assert!(!page.contains("Not the whole run"), "{page}");
    check_page(&page);
}

#[test]
fn a_traced_run_has_a_row_for_each_process_and_superstep() {
    let folder = Folder::new().with("heat.toml", HEAT);
    let run = ["run", "heat.toml", "--out", "runs", "--trace"];
    folder.stdout(&[&["up", "--local", "2", "--"], &run[..]].concat());
    let table = ["--format", "csv", "--table", "traces", "-o", "t.csv"];
    folder.stdout(&[&["export", "runs"], &table[..]].concat());
    let text = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let rows = rows(&text);
    assert_eq!(rows.lines().count(), 1 + 6 * 30, "{rows}");
    let sent = rows.lines().skip(1).map(|row| {
        let sent = row.split(',').nth(7);
        sent.unwrap().parse::<u64>().unwrap()
    });
    let events = fs::read_to_string(folder.path().join("runs/iii/events.jsonl")).unwrap();
    let bytes = format!("\"bytes\":{},\"moved\"", sent.sum::<u64>());
    assert!(events.contains(&bytes), "{bytes} {events}");
    folder.stdout(&["verify", "runs"]);
}

#[test]
fn a_run_that_failed_has_a_record_of_all_supersteps_and_the_reason() {
    let folder = Folder::new();
    let lu = root().join("conf/lu-kernel.toml");
    let run = [
        "run",
        lu.to_str().unwrap(),
        "--out",
        "runs",
        "--set",
        "run.superstep_limit=61",
    ];
    let up = ["up", "--local", "3", "--sets", "2", "--"];
    let ended = folder.run(&[&up[..], &run].concat());
    let reason = "p1 had not halted after 61 supersteps; if it needs more, raise the limit (in experiments \
                  `run.superstep_limit`)";
    assert_eq!(ended.code, Some(1), "{ended:?}");
    // Nodes do not repeat what the client says.
    assert_eq!(ended.stderr, format!("error: {reason}\n"));
    let explained = folder.stdout(&["explain", "runs"]);
    let said = format!("The run failed after 61 supersteps: {reason}.");
    assert!(explained.contains(&said), "{explained}");
    folder.stdout(&["verify", "runs"]);
}
