//! Nodes that run another build of the program.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::invocation::BINARY;
use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;
use crate::live::{build_id, identity_of};

/// Starts `copy` in the place of the binary, with these options behind its own.
fn copy(options: &str) -> [String; 3] {
    // `$1` is the binary.
    let script = format!("shift; exec ./copy \"$@\" {options}");
    ["sh".to_owned(), "-c".to_owned(), script]
}

/// Starts the binary with these options behind its own.
fn original(options: &str) -> [String; 3] {
    let script = format!("exec \"$@\" {options}");
    ["sh".to_owned(), "-c".to_owned(), script]
}

fn join(cluster: &mut Cluster, starter: &[String; 3], role: &str) {
    let [shell, option, script] = starter.each_ref().map(String::as_str);
    cluster.join_as(&[shell, option, script, "sh"], role, "s0");
}

/// Puts `copy` into the folder of `cluster`: the binary with another build ID and with bytes behind its end, which
/// execute as it does. Returns the first digits of both digests.
fn write_copy(cluster: &Cluster) -> (String, String) {
    let path = cluster.folder.path().join("copy");
    // Its mode is copied, too.
    fs::copy(BINARY, &path).unwrap();
    let mut bytes = fs::read(BINARY).unwrap();
    let short = |bytes: &[u8]| identity_of(bytes)[..12].to_owned();
    let original = short(&bytes);
    if let Some(id) = build_id(&bytes) {
        bytes[id.start] ^= 1;
    }
    bytes.extend_from_slice(b"another build");
    fs::write(&path, &bytes).unwrap();
    (original, short(&bytes))
}

fn run(command: &mut Command) -> crate::invocation::Ended {
    UnderWay::start(command).ends_within(20)
}

#[test]
fn a_node_of_another_build_is_refused_with_both_builds_named_and_shown_by_status() {
    let mut cluster = Cluster::start(&[1]);
    let (own, other) = write_copy(&cluster);
    join(&mut cluster, &copy(""), "node");
    let ended = cluster.run("hosts");
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(5), ""),
        "{ended:?}"
    );
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "error: node node-2 runs migbsp {version} (build {other}), this client runs migbsp {version} (build {own}): \
         install one build on all hosts, or start nodes and client with --allow-mixed-builds if their machines are of \
         different kinds\n"
    );
    assert_eq!(ended.stderr, expected);
    // The client alone cannot allow it.
    let one_sided = ["run", "heat.toml", "--allow-mixed-builds"];
    let ended = run(&mut cluster.command("hosts", &one_sided));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains(&own) && ended.stderr.contains(&other),
        "{ended:?}"
    );
    let nodes = cluster.status("hosts");
    let digests = nodes
        .iter()
        .map(|node| node["build"]["sha256"].as_str().unwrap());
    let digests: Vec<_> = digests.map(|digest| digest[..12].to_owned()).collect();
    assert_eq!(digests, [own.clone(), other.clone()]);
    let shown = run(&mut cluster.command("hosts", &["status"]));
    assert_eq!(
        (shown.code, shown.stderr.as_str()),
        (Some(0), ""),
        "{shown:?}"
    );
    let expected = format!("node-2: runs migbsp {version} (build {other}), this client runs");
    assert!(shown.stdout.contains(&expected), "{shown:?}");
    assert!(!shown.stdout.contains("node-1: runs"), "{shown:?}");
}

#[test]
fn builds_are_mixed_where_all_allow_it_and_the_record_names_them() {
    let mut cluster = Cluster::of(&[]);
    let (own, other) = write_copy(&cluster);
    let allowed = "--allow-mixed-builds";
    join(&mut cluster, &original(allowed), "set-manager");
    join(&mut cluster, &copy(allowed), "node");
    let refused = cluster.run("hosts");
    assert_eq!(refused.code, Some(5), "{refused:?}");
    let mixed = [
        "run",
        "heat.toml",
        allowed,
        "--format",
        "json",
        "--out",
        "runs",
    ];
    let ended = run(&mut cluster.command("hosts", &mixed));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = fs::read(cluster.folder.path().join("runs/iii/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["build"]["program"], "migbsp");
    let is = |build: &Value, digest: &str| build["sha256"].as_str().unwrap().starts_with(digest);
    assert!(is(&record["build"], &own), "{record}");
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    for builds in [&record["results"]["builds"], &shown["run"]["builds"]] {
        assert!(is(&builds[0], &own) && is(&builds[1], &other), "{builds}");
    }
}
