//! What ships for administrators, in `deploy`: it is understood by the programs that read it, and fits what nodes do.
//!
//! Tests of manifests, and of the types of the dashboard, are in `integration-tests/python`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::invocation::{BINARY, Folder, root};
use crate::live::cluster::Cluster;
use crate::live::service::{get, told};
use crate::live::under_way::signal;

fn shipped(name: &str) -> PathBuf {
    root().join("deploy").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(shipped(name)).unwrap()
}

/// A program that reads what ships, if it is here; it has to be in CI.
fn tool(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_ok() {
        return Some(Command::new(name));
    }
    assert!(std::env::var_os("CI").is_none(), "{name} is missing");
    None
}

/// The output of a program that has to succeed.
#[track_caller]
fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

const UNIT: &str = "systemd/migbsp-node.service";

#[test]
fn systemd_understands_the_unit_and_its_alternative() {
    let unit = read(UNIT).replace("/usr/local/bin/migbsp", BINARY);
    let mut alternative = String::new();
    for line in unit.lines() {
        let is_alternative = ["#LoadCredential=", "#Environment="]
            .iter()
            .any(|start| line.starts_with(start));
        let shown = if is_alternative { &line[1..] } else { line };
        alternative += &format!("{shown}\n");
    }
    assert_ne!(unit, alternative);
    for unit in [unit, alternative] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("migbsp-node.service");
        fs::write(&file, unit).unwrap();
        let Some(mut verify) = tool("systemd-analyze") else {
            eprintln!("SKIPPED: systemd-analyze is missing");
            return;
        };
        let output = succeeds(verify.arg("verify").arg(&file));
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    let users = fs::canonicalize(shipped("systemd/migbsp.conf")).unwrap();
    let mut sysusers = Command::new("systemd-sysusers");
    succeeds(sysusers.arg("--dry-run").arg(users));
}

/// A command line, and the variables beside it.
#[derive(Debug, Default)]
struct Service {
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
}

impl Service {
    fn set(&mut self, variable: &str) {
        let (name, value) = variable.split_once('=').unwrap();
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// What systemd starts.
    fn of_unit() -> Self {
        let mut service = Self::default();
        for line in read(UNIT).lines() {
            if let Some(variable) = line.strip_prefix("Environment=") {
                service.set(variable);
            } else if let Some(command) = line.strip_prefix("ExecStart=") {
                let words = command.split(' ').skip(1);
                service.arguments = words.map(str::to_owned).collect();
            }
        }
        service
    }

    /// What the image starts.
    fn of_image() -> Self {
        let mut service = Self::default();
        for line in read("container/Dockerfile").lines() {
            if let Some(variable) = line.strip_prefix("ENV ") {
                service.set(variable);
            } else if let Some(words) = line.strip_prefix("CMD ") {
                service.arguments = serde_json::from_str(words).unwrap();
            }
        }
        service
    }

    /// Starts it as a node that `folder` has a certificate for, which has to be ready, and to end when it is told to.
    fn works(&self, folder: &Folder) {
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let limit = Some(Duration::from_secs(5));
        socket.set_read_timeout(limit).unwrap();
        let mut child = Command::new(BINARY)
            .args(&self.arguments)
            .envs(self.variables.iter().cloned())
            .env("MIGBSP__NODE__NAME", "node-1")
            .env("MIGBSP__NODE__IDENTITY", folder.path().join("ca"))
            .env("MIGBSP__NODE__LISTEN", "127.0.0.1:0")
            .env("MIGBSP__NODE__METRICS", "127.0.0.1:0")
            .env("NOTIFY_SOCKET", &path)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok).map(|line| {
            let entry: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            entry["message"].as_str().unwrap().to_owned()
        });
        let metrics = lines.find_map(|line| {
            let (_, address) = line.split_once("metrics: http://")?;
            Some(address.strip_suffix("/metrics")?.to_owned())
        });
        told(&socket, "READY=1");
        assert_eq!(get(&metrics.unwrap(), "GET", "/readyz", "*/*").0, 200);
        signal(child.id(), "TERM");
        told(&socket, "STOPPING=1");
        lines.for_each(drop);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn unit_and_image_start_nodes_that_are_ready_and_end_in_order() {
    let folder = Folder::new();
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    let node = ["--role", "set-manager", "--name", "node-1", "--dir", "ca"];
    folder.stdout(&[&["cert", "issue"][..], &node].concat());
    for service in [Service::of_unit(), Service::of_image()] {
        assert_eq!(service.arguments[0], "node", "{service:?}");
        for name in ["MIGBSP__NODE__IDENTITY", "MIGBSP__NODE__METRICS"] {
            let mut variables = service.variables.iter();
            assert!(variables.any(|(key, _)| key == name), "{service:?}");
        }
        service.works(&folder);
    }
}

#[test]
fn rules_fire_when_they_have_to_and_only_then() {
    let Some(mut promtool) = tool("promtool") else {
        eprintln!("SKIPPED: promtool is missing");
        return;
    };
    promtool.current_dir(shipped("monitoring"));
    succeeds(promtool.args(["test", "rules", "alerts.test.yaml"]));
    let mut promtool = Command::new("promtool");
    succeeds(
        promtool
            .args(["check", "config"])
            .arg(shipped("monitoring/prometheus.yml")),
    );
}

/// The names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|next: char| !next.is_ascii_alphanumeric() && next != '_');
    let names = words.filter(|word| word.starts_with("migbsp_"));
    names.map(str::to_owned).collect()
}

/// What the panels of the dashboard ask for.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value.as_str() {
                    Some(expression) if key == "expr" => found.push(expression.to_owned()),
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn rules_and_panels_ask_for_what_nodes_serve() {
    let dashboard: Value = serde_json::from_str(&read("monitoring/dashboard.json")).unwrap();
    let mut asked = Vec::new();
    expressions(&dashboard, &mut asked);
    assert!(20 < asked.len(), "{asked:?}");
    let variable = dashboard["templating"]["list"][1]["query"]["query"].to_string();
    let rules = read("monitoring/alerts.yaml");
    let rules = rules.lines().filter(|line| line.contains("expr:"));
    let rules: Vec<&str> = rules.collect();
    let names = metrics_in(&format!(
        "{} {variable} {}",
        asked.join(" "),
        rules.join(" ")
    ));

    let mut cluster = Cluster::of(&[]);
    cluster.serve(&[], &["--metrics", "127.0.0.1:0"]);
    let line = cluster.logged("node-1", "metrics: http://");
    let (_, address) = line.trim_end().split_once("http://").unwrap();
    let address = address.strip_suffix("/metrics").unwrap();
    let run = cluster.begin(&[]);
    let (_, served) = get(address, "GET", "/metrics", "*/*");
    let samples = served.lines().filter(|line| !line.starts_with('#'));
    let served = metrics_in(&samples.collect::<Vec<_>>().join("\n"));
    let missing: Vec<_> = names.difference(&served).collect();
    assert!(missing.is_empty(), "nodes do not serve {missing:?}");
    let page = metrics_in(&page("reference"));
    let parts = ["_bucket", "_sum", "_count"];
    let whole = |name: &str| {
        let part = parts.iter().find_map(|part| name.strip_suffix(part));
        part.unwrap_or(name).to_owned()
    };
    let served: BTreeSet<String> = served.iter().map(|name| whole(name)).collect();
    assert_eq!(page, served, "what the page names, and what nodes serve");
    match tool("prometheus") {
        Some(prometheus) => has_data(&cluster, prometheus, address, &asked),
        None => eprintln!("SKIPPED: prometheus is missing"),
    }
    run.signal("INT");
    run.ends_within(10);
}

/// Prometheus, with the configuration that ships, has data of the node at `address` for each expression.
fn has_data(cluster: &Cluster, prometheus: Command, address: &str, asked: &[String]) {
    let configuration = read("monitoring/prometheus.yml")
        .replace(
            "[node-1:9447, node-2:9447, node-3:9447]",
            &format!("['{address}']"),
        )
        .replace(
            "scrape_interval: 15s",
            "scrape_interval: 300ms\n  scrape_timeout: 300ms",
        );
    assert!(configuration.contains(address) && configuration.contains("300ms"));
    cluster.write("prometheus.yml", &configuration);
    cluster.write("alerts.yaml", &read("monitoring/alerts.yaml"));
    let server = Prometheus::start(prometheus, cluster.folder.path());
    let asked = asked.iter().map(|expression| {
        let expression = expression.replace("$__rate_interval", "30s");
        expression.replace("$instance", ".*")
    });
    let mut left: Vec<String> = asked.collect();
    let began = Instant::now();
    while !left.is_empty() {
        // One that is refused, again and again: its rate needs an earlier value.
        stranger(cluster);
        left.retain(|expression| server.values(expression).is_empty());
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(20), "no data for {left:#?}");
    }
}

/// A client of another authority asks for the state of the nodes.
fn stranger(cluster: &Cluster) {
    let other = ["--dir", "other"];
    if !cluster.folder.path().join("other").exists() {
        let init = ["cert", "init", "--cluster", "lab"];
        cluster.folder.stdout(&[&init[..], &other].concat());
        let issue = ["cert", "issue", "--role", "client", "--name", "stranger"];
        cluster.folder.stdout(&[&issue[..], &other].concat());
    }
    let ended = cluster
        .folder
        .run(&["status", "--cluster", "hosts", "--identity", "other"]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
}

/// A server that runs until this is dropped.
struct Prometheus {
    child: Child,
    url: String,
}

impl Prometheus {
    fn start(mut command: Command, folder: &Path) -> Self {
        let mut child = command
            .current_dir(folder)
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg("--web.listen-address=127.0.0.1:0")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("msg=\"Listening on\" address=")?;
            Some(address.to_owned())
        });
        // It writes as long as it runs.
        thread::spawn(move || lines.for_each(drop));
        let url = format!("http://{}", address.unwrap());
        Self { child, url }
    }

    /// What it answers to `expression`: a line for each value.
    fn values(&self, expression: &str) -> String {
        let mut query = Command::new("promtool");
        let output = succeeds(query.args(["query", "instant", &self.url, expression]));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The page about services in a folder of `docs`.
fn page(folder: &str) -> String {
    fs::read_to_string(root().join("docs").join(folder).join("service.md")).unwrap()
}

#[test]
fn the_pages_name_all_that_ships_and_commands_that_are_there() {
    let page = [page("guide"), page("reference")].concat();
    for folder in ["systemd", "container", "kubernetes", "monitoring", "."] {
        for entry in fs::read_dir(shipped(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(
                path.is_dir() || page.contains(name),
                "{name} is not described"
            );
        }
    }
    let blocks = page.split("```").skip(1).step_by(2);
    let lines = blocks
        .filter_map(|block| block.strip_prefix("sh\n"))
        .flat_map(str::lines);
    let mut commands = 0;
    for line in lines {
        let line = line.split(" # ").next().unwrap().trim();
        let Some(arguments) = line.strip_prefix("migbsp ") else {
            continue;
        };
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        // Options are read before help is shown.
        let output = succeeds(Command::new(BINARY).args(arguments).arg("--help"));
        assert!(!output.stdout.is_empty(), "{line}");
        commands += 1;
    }
    assert!(10 < commands, "{commands}");
}
