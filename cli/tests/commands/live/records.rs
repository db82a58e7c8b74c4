//! Records of runs on nodes that did not start or did not end.

use std::fs;

use crate::charts::check_page;
use crate::live::cluster::Cluster;

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
        explained.contains("The run did not end, or goes on: "),
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
    let verified = cluster.folder.stdout(&["verify", "runs"]);
    assert!(!verified.contains("did not end"), "{verified}");
    let drawn = cluster.folder.stdout(&drawn);
    assert!(drawn.starts_with("runs: scenario iii, "), "{drawn}");
    let page = fs::read_to_string(cluster.folder.path().join("run.html")).unwrap();
    assert!(!page.contains("Not the whole run"), "{page}");
    check_page(&page);
}
