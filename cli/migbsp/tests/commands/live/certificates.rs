//! Certificates that end while nodes and clients run.

use std::thread::sleep;
use std::time::{Duration, SystemTime};

use protocol::identity::Role;

use crate::live::cluster::Cluster;

/// Two nodes and a client whose certificates end in this number of seconds, and when they do.
fn brief(seconds: u64) -> (Cluster, SystemTime) {
    let length = Duration::from_secs(seconds);
    let end = SystemTime::now() + length;
    let set = || "set=s0".to_owned();
    let hosts = [("set-manager", set()), ("node", set())];
    (Cluster::valid_for(length, &hosts), end)
}

#[test]
fn a_run_goes_on_with_certificates_that_are_renewed() {
    let (cluster, end) = brief(15);
    let run = cluster.begin(&[]);
    cluster.renew(Role::Client, "laptop");
    cluster.renew(Role::SetManager, "node-1");
    cluster.renew(Role::Node, "node-2");
    for name in ["node-1", "node-2"] {
        cluster.logged(name, "read the new certificate");
    }
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    sleep(left + Duration::from_secs(4));
    assert!(!run.is_over(), "{:?}", run.ends_within(0));
    // New connections have the new certificates.
    assert!(
        cluster
            .status("hosts")
            .iter()
            .all(|node| node["superstep"].is_u64())
    );
    run.signal("INT");
    assert_eq!(run.ends_within(10).code, Some(130));
}

#[test]
fn a_run_ends_with_certificates_that_are_not_renewed() {
    let (cluster, _) = brief(10);
    let ended = cluster.begin(&[]).ends_within(20);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("has expired: issue a new one"),
        "{ended:?}"
    );
}

#[test]
fn files_that_are_no_renewed_certificate_are_warned_of_once_and_the_one_in_use_stays() {
    let cluster = Cluster::start(&[1]);
    cluster.write("ca/node-1.pem", "half of a certificate");
    cluster.logged(
        "node-1",
        "kept the certificate in use: ca/node-1.pem: 0 certificates",
    );
    cluster.works("hosts");
    // A third look, which says nothing.
    sleep(Duration::from_secs(3));
    cluster.renew(Role::SetManager, "node-1");
    let mut lines = cluster.lines_until("node-1", "read the new certificate");
    lines.retain(|line| line.contains("WARN"));
    assert!(lines.is_empty(), "{lines:?}");
    cluster.works("hosts");
}
