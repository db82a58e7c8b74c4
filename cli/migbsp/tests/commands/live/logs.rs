//! The logs of nodes and clients.

use std::fs;

use serde_json::Value;

use crate::invocation::Folder;
use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;

/// Whether `text` is a time of today's form, as `2026-01-31T12:00:00.000000Z`.
fn is_time(text: &str) -> bool {
    let form = "0000-00-00T00:00:00.000000Z";
    let fits = |(have, want): (char, char)| match want {
        '0' => have.is_ascii_digit(),
        _ => have == want,
    };
    text.len() == form.len() && text.chars().zip(form.chars()).all(fits)
}

#[test]
fn a_node_logs_the_begin_and_the_end_of_jobs_with_times() {
    let cluster = Cluster::start(&[2]);
    cluster.works("hosts");
    let line = cluster.logged("node-2", "a job begins");
    assert!(is_time(line.split(' ').next().unwrap()), "{line}");
    for part in [
        "INFO at{node=\"node-2\"}:in{job=\"",
        "client=\"client laptop at ",
        "processes=6",
        "nodes=2",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let line = cluster.logged("node-2", "a job is complete");
    for part in [
        "INFO at{node=\"node-2\"}:in{job=\"",
        "client laptop",
        "seconds=",
        "supersteps=30",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let run = cluster.begin(&[]);
    run.signal("INT");
    assert_eq!(run.ends_within(5).code, Some(130));
    let lines = ["node-1", "node-2"].map(|node| cluster.logged(node, "a job has failed"));
    for (line, part) in lines.iter().flat_map(|line| {
        let parts = [":in{job=\"", "client laptop", "reason="];
        parts.map(|part| (line, part))
    }) {
        assert!(line.contains(part), "{part}: {line}");
    }
    // The node that notices first says so; the other may lose that node before it loses the client.
    let is_named =
        |line: &String| line.contains(" INFO ") && line.contains("the client has stopped the job");
    assert!(lines.iter().any(is_named), "{lines:?}");
}

#[test]
fn a_log_can_have_an_object_per_line() {
    let mut cluster = Cluster::of(&[]);
    let script = "exec \"$@\" --log-format json";
    cluster.join_as(&["sh", "-c", script, "sh"], "set-manager", "s0");
    let mut run = cluster.command("hosts", &["run", "heat.toml", "--out", "runs"]);
    let ended = UnderWay::start(&mut run).ends_within(20);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let parsed =
        |words| -> Value { serde_json::from_str(&cluster.logged("node-1", words)).unwrap() };
    let begins = parsed("a job begins");
    assert!(is_time(begins["timestamp"].as_str().unwrap()), "{begins}");
    assert_eq!(
        (&begins["level"], &begins["message"]),
        (&"INFO".into(), &"a job begins".into())
    );
    // The job is that of the record.
    let record = fs::read_to_string(cluster.folder.path().join("runs/iii/run.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let job = &record["job"];
    assert_eq!(job.as_str().unwrap().len(), 16, "{record}");
    let complete = parsed("a job is complete");
    for line in [&begins, &complete] {
        assert_eq!(line["spans"][0]["node"], "node-1", "{line}");
        assert_eq!(&line["spans"][1]["job"], job, "{line}");
    }
    assert_eq!(begins["processes"], 6, "{begins}");
    assert_eq!(complete["supersteps"], 30, "{complete}");
}

#[test]
fn an_error_that_ends_a_node_is_an_object_too() {
    let folder = Folder::new();
    let ended = folder.run(&["node", "--conf", "absent.toml", "--log-format", "json"]);
    assert_eq!(ended.code, Some(4));
    let error: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(error["level"], "ERROR");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("absent.toml: "),
        "{error}"
    );
}

#[test]
fn migrations_are_logged_after_their_call_with_names_of_hosts_and_the_scenario() {
    let folder = Folder::new();
    let log = folder.run(&["simulate", "e.toml", "-vv"]).stderr;
    let field = |line: &str, name: &str| -> String {
        let (_, from) = line.split_once(&format!("{name}=")).unwrap();
        from.split(' ').next().unwrap().trim_matches('"').to_owned()
    };
    let time = |line: &str| field(line, "at").parse::<f64>().unwrap();
    let mut scenarios = Vec::new();
    let (mut migrations, mut call) = (0, None);
    for line in log.lines() {
        let scenario = field(line, "scenario");
        if scenarios.last() != Some(&scenario) {
            scenarios.push(scenario);
        }
        if line.contains("reschedule call") {
            call = Some(time(line));
        } else if line.contains("migration ") {
            assert!(call.unwrap() <= time(line), "{log}");
            let host = field(line, "host");
            assert!(
                host.starts_with("slow-") || host.starts_with("fast-"),
                "{line}"
            );
            migrations += 1;
        }
    }
    assert_eq!(scenarios, ["i", "ii", "iii"], "{log}");
    assert!(0 < migrations, "{log}");
}
