//! Nodes that wait for clients.

use crate::live::cluster::Cluster;

#[test]
fn nodes_do_one_job_after_the_other_and_leave_in_order() {
    let mut cluster = Cluster::start(&[2, 1]);
    cluster.works("hosts");
    cluster.works("hosts");
    let nodes = cluster.status("hosts");
    let names: Vec<_> = nodes.iter().map(|node| node["name"].clone()).collect();
    assert_eq!(names, ["node-1", "node-2", "node-3"]);
    for node in &nodes {
        assert_eq!((&node["jobs"], &node["client"]), (&2.into(), &().into()));
        assert_eq!(node["refused"], 0);
    }
    let table = cluster.command("hosts", &["status"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("node-3"), "{table}");
    for name in ["node-1", "node-2", "node-3"] {
        cluster.signal(name, "TERM");
        assert_eq!(cluster.exit_of(name), Some(0));
    }
}

#[test]
fn a_node_that_leaves_during_a_job_says_so_and_the_others_are_free() {
    let mut cluster = Cluster::start(&[2, 1]);
    let run = cluster.begin(&["--no-recovery"]);
    cluster.signal("node-2", "TERM");
    let ended = run.ends_within(5);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("node-2 has been told to leave"),
        "{ended:?}"
    );
    assert_eq!(cluster.exit_of("node-2"), Some(0));
    cluster.write("rest", &cluster.list_without(&["node-2"]));
    cluster.works("rest");
}

#[test]
fn a_second_run_is_refused_and_the_first_goes_on() {
    let cluster = Cluster::start(&[1, 1]);
    let first = cluster.begin(&[]);
    let second = cluster.run("hosts");
    assert_eq!((second.code, second.stdout.as_str()), (Some(5), ""));
    let words = [
        "error: node-",
        " runs a job of client laptop at ",
        "wait for its end",
    ];
    for word in words {
        assert!(second.stderr.contains(word), "{word}: {second:?}");
    }
    let superstep = |of: usize| cluster.status("hosts")[of]["superstep"].as_u64().unwrap();
    let before = superstep(0);
    while superstep(0) == before {
        assert!(!first.is_over());
    }
    first.signal("TERM");
    assert_eq!(first.ends_within(5).code, Some(143));
    cluster.works("hosts");
}
