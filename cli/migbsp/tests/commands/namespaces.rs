//! Hosts with addresses of their own: network namespaces, two Sets, and a slower way between them.
//!
//! Needs the right to make namespaces (root) and the programs `ip` and `tc`; where one of them is missing, the test
//! says so and does nothing.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{BINARY, Folder, root};

/// Hosts on a bridge; gone when this is dropped.
struct Network {
    bridge: String,
    spaces: Vec<String>,
    nodes: Vec<Child>,
}

/// Whether a command of the system succeeds.
pub(crate) fn does(words: &str) -> bool {
    let mut words = words.split(' ');
    let command = Command::new(words.next().unwrap())
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    command.is_ok_and(|status| status.success())
}

impl Network {
    /// `count` hosts, 10.77.n.2 and so on; those from `far` on have a cable of 100 Mbit/s and 2 ms.
    fn new(count: usize, far: usize) -> Option<Self> {
        // Names of interfaces are short.
        let id = std::process::id() % 10_000;
        let bridge = format!("mb{id}");
        let mut network = Self {
            bridge: bridge.clone(),
            spaces: Vec::new(),
            nodes: Vec::new(),
        };
        let mut done = does(&format!("ip link add {bridge} type bridge"))
            && does(&format!("ip addr add 10.77.0.1/24 dev {bridge}"))
            && does(&format!("ip link set {bridge} up"));
        for index in 0..count {
            let space = format!("ms{id}-{index}");
            let (outer, inner) = (format!("mo{id}-{index}"), format!("mi{id}-{index}"));
            done = done && does(&format!("ip netns add {space}"));
            network.spaces.push(space.clone());
            done =
                done && does(&format!(
                    "ip link add {outer} type veth peer name {inner} netns {space}"
                )) && does(&format!("ip link set {outer} master {bridge}"))
                    && does(&format!("ip link set {outer} up"))
                    && does(&format!(
                        "ip -n {space} addr add 10.77.0.{}/24 dev {inner}",
                        index + 2
                    ))
                    && does(&format!("ip -n {space} link set {inner} up"))
                    && does(&format!("ip -n {space} link set lo up"));
            if far <= index {
                let limit = "root tbf rate 100mbit burst 128kb latency 50ms";
                done = done
                    && does(&format!("tc qdisc add dev {outer} {limit}"))
                    && does(&format!("tc -n {space} qdisc add dev {inner} {limit}"));
            }
        }
        done.then_some(network)
    }

    fn address(index: usize) -> String {
        format!("10.77.0.{}:7447", index + 2)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            drop(node.kill());
            drop(node.wait());
        }
        for space in &self.spaces {
            does(&format!("ip netns del {space}"));
        }
        does(&format!("ip link del {}", self.bridge));
    }
}

/// Certificates, a list of hosts, and a node on each of them.
fn start(folder: &Folder, network: &mut Network) {
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    folder.stdout(&[
        "cert", "issue", "--role", "client", "--name", "me", "--dir", "ca",
    ]);
    let mut hosts = String::new();
    for (index, space) in network.spaces.iter().enumerate() {
        let name = format!("host-{index}");
        let role = if index % 2 == 0 {
            "set-manager"
        } else {
            "node"
        };
        folder.stdout(&[
            "cert", "issue", "--role", role, "--name", &name, "--dir", "ca",
        ]);
        let address = Network::address(index);
        let conf =
            format!("[node]\nname = \"{name}\"\nidentity = \"ca\"\nlisten = \"{address}\"\n");
        fs::write(folder.path().join(format!("{name}.toml")), conf).unwrap();
        let set = if index < 2 { "near" } else { "far" };
        hosts += &format!("{name} slots=1 set={set} addr={address}\n");
        let node = Command::new("ip")
            .args([
                "netns",
                "exec",
                space,
                BINARY,
                "node",
                "--conf",
                &format!("{name}.toml"),
            ])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .spawn();
        network.nodes.push(node.unwrap());
    }
    fs::write(folder.path().join("hosts"), hosts).unwrap();
}

#[test]
fn hosts_with_addresses_of_their_own_know_how_far_sets_are_and_run() {
    let Some(mut network) = Network::new(4, 2) else {
        eprintln!("SKIPPED: no network namespaces here; they take root, `ip` and `tc`");
        return;
    };
    let folder = Folder::new();
    start(&folder, &mut network);
    let cluster = ["--cluster", "hosts", "--identity", "ca"];
    let began = Instant::now();
    while folder.run(&[&["status"][..], &cluster].concat()).code != Some(0) {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "nodes do not come up"
        );
    }
    let file = root().join("conf/heat-local.toml");
    let file = file.to_str().unwrap();
    let small = [
        "application.supersteps=40",
        "application.heat.width=300",
        "application.heat.height=300",
    ];
    let small = small.iter().flat_map(|change| ["--set", *change]);
    let policy = [
        "--set",
        "scheduler.policy=migbsp",
        "--set",
        "scheduler.interval=4",
    ];
    let run = [
        &["run", file, "--out", "record", "--format", "json"][..],
        &cluster,
        &policy,
    ]
    .concat();
    let run: Vec<&str> = run.into_iter().chain(small).collect();
    let live: Value = serde_json::from_str(&folder.stdout(&run)).unwrap();
    assert!(live["run"]["verified"].is_string(), "{live}");
    folder.stdout(&["verify", "record"]);
    let events = fs::read_to_string(folder.path().join("record/iii/events.jsonl")).unwrap();
    let first = events
        .lines()
        .find(|line| line.contains("\"transfer_rates\""))
        .unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    let rate = |set: usize| first["transfer_rates"][set].as_f64().unwrap();
    // 100 Mbit/s are 8e-8 seconds a byte.
    assert!(rate(0) < rate(1), "{first}");
    assert!((4e-8..4e-7).contains(&rate(1)), "{first}");
}
