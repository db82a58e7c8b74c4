//! Whatever goes wrong ends in a message and an exit code within seconds, and nodes are free again.

use std::process::Command;

use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;

#[test]
fn a_node_that_dies_is_named_and_the_others_are_free() {
    let cluster = Cluster::start(&[2, 1]);
    let run = cluster.begin(&["--no-recovery"]);
    cluster.signal("node-2", "KILL");
    let ended = run.ends_within(15);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("node-2"), "{ended:?}");
    cluster.write("rest", &cluster.list_without(&["node-2"]));
    cluster.is_free_within(5, "rest");
    cluster.works("rest");
}

#[test]
fn a_node_that_stops_is_named_and_is_free_when_it_goes_on() {
    let cluster = Cluster::start(&[2, 1]);
    let run = cluster.begin(&["--no-recovery"]);
    cluster.signal("node-2", "STOP");
    let ended = run.ends_within(15);
    cluster.write("rest", &cluster.list_without(&["node-2"]));
    cluster.works("rest");
    cluster.signal("node-2", "CONT");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.stderr.contains("node-2"), "{ended:?}");
    cluster.is_free_within(5, "hosts");
    cluster.works("hosts");
}

#[test]
fn an_interrupted_run_leaves_the_cluster_free() {
    let cluster = Cluster::start(&[2]);
    let run = cluster.begin(&[]);
    run.signal("INT");
    let ended = run.ends_within(5);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "error: interrupted: the cluster is free again when the superstep under way ends\n"
    );
    cluster.works("hosts");
}

#[test]
fn a_client_that_dies_leaves_the_cluster_free() {
    let cluster = Cluster::start(&[2]);
    let run = cluster.begin(&["--no-recovery"]);
    run.signal("KILL");
    assert_eq!(run.ends_within(5).code, None);
    cluster.is_free_within(15, "hosts");
    cluster.works("hosts");
}

#[test]
fn a_record_that_finds_no_room_ends_the_run() {
    let cluster = Cluster::start(&[2]);
    let long = ["run", "heat.toml", "--set", "application.supersteps=900000"];
    let command = cluster.command("hosts", &[&long[..], &["--out", "runs"]].concat());
    let mut words = vec![command.get_program().to_str().unwrap().to_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_str().unwrap().to_owned()),
    );
    // A file that is full answers as a disk that is, once the signal is ignored.
    let mut limited = Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "limited"]);
    limited.args(words).current_dir(cluster.folder.path());
    let ended = UnderWay::start(&mut limited).ends_within(10);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(1), ""),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains("cannot write runs/iii/events.jsonl: File too large"),
        "{ended:?}"
    );
    assert!(!cluster.folder.path().join("runs/iii/run.json").exists());
    cluster.works("hosts");
}
