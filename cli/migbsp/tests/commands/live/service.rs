//! Nodes as services: what supervisors and monitors are told.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use protocol::identity::Role;
use serde_json::Value;

use crate::live::cluster::Cluster;
use crate::live::under_way::UnderWay;
use crate::schemas;

/// Waits until the supervisor at `socket` is told `words`, at most five seconds; what it was told until then.
pub(crate) fn told(socket: &UnixDatagram, words: &str) -> Vec<String> {
    let mut all = Vec::new();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        let mut bytes = [0; 1024];
        let Ok(length) = socket.recv(&mut bytes) else {
            break;
        };
        let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
        all.extend(text.lines().map(str::to_owned));
        if all.iter().any(|line| line == words) {
            return all;
        }
    }
    panic!("{words} is not told, but {all:?}");
}

#[test]
fn a_supervisor_is_told_that_a_node_is_ready_runs_and_stops() {
    let mut cluster = Cluster::of(&[]);
    let path = cluster.folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    let variable = format!("NOTIFY_SOCKET={}", path.display());
    cluster.serve(&[&variable, "WATCHDOG_USEC=400000"], &[]);
    told(&socket, "READY=1");
    let began = Instant::now();
    for _ in 0..5 {
        told(&socket, "WATCHDOG=1");
    }
    // Each half of the time; a busy machine makes it longer.
    assert!(Duration::from_millis(700) < began.elapsed());
    cluster.signal("node-1", "HUP");
    let reloaded = told(&socket, "READY=1");
    assert!(reloaded.contains(&"RELOADING=1".to_owned()), "{reloaded:?}");
    let since = |line: &String| line.starts_with("MONOTONIC_USEC=");
    assert!(reloaded.iter().any(since), "{reloaded:?}");
    cluster.works("hosts");
    told(&socket, "WATCHDOG=1");
    cluster.signal("node-1", "TERM");
    told(&socket, "STOPPING=1");
    assert_eq!(cluster.exit_of("node-1"), Some(0));
}

#[test]
fn a_node_that_is_hung_up_on_reads_its_certificate_and_the_levels_of_its_log_again() {
    let mut cluster = Cluster::of(&[]);
    // It has an endpoint beside the one at which it listens.
    cluster.serve(&[], &["--join", "absent=127.0.0.1:9"]);
    cluster.renew(Role::SetManager, "node-1");
    let conf = std::fs::read_to_string(cluster.folder.path().join("node-1.toml")).unwrap();
    let hang_up = |levels: &str| {
        cluster.write("node-1.toml", &format!("{conf}log = \"{levels}\"\n"));
        cluster.signal("node-1", "HUP");
    };
    hang_up("info");
    cluster.logged("node-1", "and the levels of its log again");
    cluster.works("hosts");
    let lines = cluster.lines_until("node-1", "a job is complete");
    let read = lines
        .iter()
        .filter(|line| line.contains("read the new certificate"));
    assert_eq!(read.count(), 1, "{lines:?}");
    // The looks of the other endpoint are over, too.
    std::thread::sleep(Duration::from_millis(2500));
    hang_up("loud");
    let mut lines =
        cluster.lines_until("node-1", "kept the levels of the log: invalid value `loud`");
    lines.retain(|line| line.contains("read the new certificate"));
    assert!(lines.is_empty(), "{lines:?}");
    hang_up("warn");
    cluster.logged("node-1", "and the levels of its log again");
    // What a node says of jobs is of the level `info`.
    cluster.works("hosts");
    hang_up("hosts=info");
    std::thread::sleep(Duration::from_millis(300));
    cluster.works("hosts");
    let lines = cluster.lines_until("node-1", "a job is complete");
    let begun = lines.iter().filter(|line| line.contains("a job begins"));
    assert_eq!(begun.count(), 1, "{lines:?}");
}

#[test]
fn a_check_shows_when_certificates_end_and_how_fast_each_node_takes_bytes() {
    let set = || "set=s0".to_owned();
    let days = Duration::from_secs(10 * 86_400);
    let cluster = Cluster::valid_for(days, &[("set-manager", set()), ("node", set())]);
    let run = |options: &[&str]| {
        let mut command = cluster.command("hosts", &[&["check"], options].concat());
        let ended = UnderWay::start(&mut command).ends_within(60);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    };
    let plain = run(&[]);
    assert!(
        plain.contains("certificates end within 14 days: "),
        "{plain}"
    );
    assert!(!plain.contains("bandwidths of"), "{plain}");
    let text = run(&["--bandwidth"]);
    assert!(text.contains("bandwidths of"), "{text}");
    let json = run(&["--bandwidth", "--format", "json"]);
    assert_eq!(schemas::check(&json, "check"), "check");
    let report: Value = serde_json::from_str(&json).unwrap();
    let ways = report["ways"].as_array().unwrap();
    let rates = ways
        .iter()
        .map(|way| way["bandwidth_bytes_per_second"].as_f64());
    assert_eq!(
        rates
            .map(|rate| rate.unwrap())
            .filter(|rate| 1e5 < *rate)
            .count(),
        2,
        "{json}"
    );
    let csv = crate::invocation::rows(&run(&["--format", "csv"]));
    let ends = report["nodes"][0]["certificate_not_after"]
        .as_str()
        .unwrap();
    assert!(
        csv.lines().nth(1).unwrap().contains(&format!(",,{ends},")),
        "{csv}"
    );
}

/// The status and the body of the answer to a request of one that understands `accepted`.
pub(crate) fn get(address: &str, method: &str, path: &str, accepted: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAccept: {accepted}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap();
    (status.parse().unwrap(), body.to_owned())
}

/// The samples of a text in the format of OpenMetrics.
fn samples(text: &str) -> BTreeMap<&str, &str> {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').unwrap()).collect()
}

#[test]
fn monitors_read_metrics_of_a_node_and_its_jobs() {
    let mut cluster = Cluster::of(&[]);
    cluster.serve(&[], &["--metrics", "127.0.0.1:0"]);
    let line = cluster.logged("node-1", "metrics: http://");
    let (_, address) = line.split_once("http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let metrics = || {
        let (status, text) = get(
            address,
            "GET",
            "/metrics",
            "application/openmetrics-text;q=0.5,*/*;q=0.1",
        );
        assert_eq!(status, 200, "{text}");
        text
    };
    let before = metrics();
    let found = samples(&before);
    assert_eq!(found["migbsp_jobs_total{outcome=\"complete\"}"], "0");
    assert_eq!(found["migbsp_node_ready"], "1.0");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ends: f64 = found["migbsp_certificate_expiry_timestamp_seconds"]
        .parse()
        .unwrap();
    let left = ends - now.unwrap().as_secs_f64();
    assert!((29.0..30.1).contains(&(left / 86_400.0)), "{left}");
    cluster.works("hosts");
    // It ends for the client first.
    cluster.is_free_within(10, "hosts");
    let after = metrics();
    let found = samples(&after);
    assert_eq!(found["migbsp_jobs_total{outcome=\"complete\"}"], "1");
    assert_eq!(found["migbsp_superstep_seconds_count"], "30", "{after}");
    assert_eq!(found["migbsp_jobs_running"], "0.0");
    assert_eq!(found["migbsp_refused_total{reason=\"malformed\"}"], "0");
    // A run under way has a job and no more time series than one of few processes.
    let run = cluster.begin(&[]);
    let busy = metrics();
    let found = samples(&busy);
    assert_eq!(found["migbsp_jobs_running"], "1.0", "{busy}");
    assert_eq!(found["migbsp_job_processes"], "6.0", "{busy}");
    assert!(busy.contains("migbsp_job_info{job=\""), "{busy}");
    assert!(!busy.contains("p1"), "no label names a process: {busy}");
    let earlier = get(address, "GET", "/metrics", "*/*").1;
    match is_accepted(&earlier) {
        Some(is_accepted) => assert!(is_accepted, "{earlier}"),
        None if std::env::var_os("CI").is_some() => panic!("promtool is missing"),
        None => eprintln!("SKIPPED: promtool is missing"),
    }
    run.signal("INT");
    run.ends_within(10);
    for (method, path, status) in [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("HEAD", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/", 404),
    ] {
        assert_eq!(
            get(address, method, path, "*/*").0,
            status,
            "{method} {path}"
        );
    }
}

/// Whether the program that reads metrics for Prometheus accepts them; `None`: it is missing.
fn is_accepted(text: &str) -> Option<bool> {
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .spawn();
    let mut promtool = promtool.ok()?;
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    Some(promtool.wait().unwrap().success())
}

#[test]
fn monitors_are_told_why_a_node_takes_no_job() {
    let mut cluster = Cluster::of(&[]);
    cluster.serve(&[], &["--metrics", "127.0.0.1:0"]);
    let line = cluster.logged("node-1", "metrics: http://");
    let (_, address) = line.split_once("http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    // It computes alone, so it waits in vain until the job can go on without it.
    let run = cluster.begin(&[]);
    cluster.signal("node-1", "TERM");
    let began = Instant::now();
    loop {
        let (status, text) = get(address, "GET", "/readyz", "*/*");
        if status == 503 {
            assert_eq!(text, "the node takes no job: it has been told to leave\n");
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{text}");
    }
    run.signal("INT");
    run.ends_within(20);
}
