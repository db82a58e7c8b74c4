//! Hosts with addresses of their own: network namespaces, two Sets, a slower way between them, and ways that are cut.
//!
//! Needs the right to make namespaces (root) and the programs `unshare`, `ip` and `tc`; where one of them is missing, the test
//! says so and does nothing.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::Value;

use crate::invocation::{BINARY, Folder, root};
use crate::live::cluster::HEAT;
use crate::live::recovery::{begun_on, simulate};
use crate::live::under_way::UnderWay;

/// Hosts on a bridge, in namespaces of this test alone.
struct Network {
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

/// Executes a command of the system.
pub(crate) fn must(words: &str) {
    assert!(does(words), "{words}");
}

/// Whether this test has network, mounts and process numbers of its own. Where it does not, it is executed once more, in a process that
/// has: then this says no, the test is over, and fails if that one did. Addresses of two tests cannot meet, and a test
/// that is killed leaves neither nodes nor networks.
pub(crate) fn is_isolated() -> bool {
    const INSIDE: &str = "MIGBSP_TEST_IS_ISOLATED";
    const OWN: [&str; 6] = [
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ];
    // Names of namespaces are files there.
    const BEGIN: &str = r#"mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up && exec "$@""#;
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let isolated = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(OWN).args(["--", "sh", "-c", BEGIN, "sh"]);
        command.args(words);
        command
    };
    let test = isolated(&["true"]).stderr(Stdio::null()).status();
    if !test.is_ok_and(|status| status.success()) {
        let skipped =
            "SKIPPED: no network namespaces here; they take root, `unshare`, `ip` and `tc`";
        drop(writeln!(io::stderr(), "{skipped}"));
        return false;
    }
    let (binary, thread) = (env::current_exe().unwrap(), thread::current());
    let exact = [
        binary.to_str().unwrap(),
        "--exact",
        thread.name().unwrap(),
        "--nocapture",
    ];
    let inside = isolated(&exact).env(INSIDE, "1").output().unwrap();
    let said = [&inside.stdout, &inside.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(inside.status.success(), "{}{}", said[0], said[1]);
    assert!(said[0].contains("1 passed"), "{}", said[0]);
    false
}

impl Network {
    /// `count` hosts, 10.77.0.2 and so on; those from `far` on have a cable of 100 Mbit/s. `None` where [`is_isolated`] says no.
    fn new(count: usize, far: usize) -> Option<Self> {
        Self::with_cables(count, far, "rate 100mbit burst 128kb latency 50ms")
    }

    /// The same with cables, those from `far` on, that the bucket of tokens `cable` limits.
    fn with_cables(count: usize, far: usize, cable: &str) -> Option<Self> {
        if !is_isolated() {
            return None;
        }
        must("ip link add name bridge type bridge");
        must("ip addr add 10.77.0.1/24 dev bridge");
        must("ip link set bridge up");
        let spaces: Vec<String> = (0..count).map(|index| format!("host-{index}")).collect();
        for (index, space) in spaces.iter().enumerate() {
            must(&format!("ip netns add {space}"));
            must(&format!(
                "ip link add to-{index} type veth peer name cable netns {space}"
            ));
            must(&format!("ip link set to-{index} master bridge"));
            must(&format!("ip link set to-{index} up"));
            must(&format!(
                "ip -n {space} addr add 10.77.0.{}/24 dev cable",
                index + 2
            ));
            must(&format!("ip -n {space} link set cable up"));
            must(&format!("ip -n {space} link set lo up"));
            if far <= index {
                let limit = format!("root tbf {cable}");
                must(&format!("tc qdisc add dev to-{index} {limit}"));
                must(&format!("tc -n {space} qdisc add dev cable {limit}"));
            }
        }
        Some(Self {
            spaces,
            nodes: Vec::new(),
        })
    }

    fn address(index: usize) -> String {
        format!("10.77.0.{}:7447", index + 2)
    }

    /// Has what one host sends to another one be lost, or not any more: it goes to a card that is not there. The client is host
    /// [`CLIENT`].
    fn cut(&self, from: usize, to: usize, is_cut: bool) {
        let to = if to == CLIENT { 1 } else { to + 2 };
        let (ip, device) = match self.spaces.get(from) {
            Some(space) => (format!("ip -n {space}"), "cable"),
            None => ("ip".to_owned(), "bridge"),
        };
        let done = if is_cut {
            let card = "lladdr 02:00:00:00:00:01 nud permanent";
            does(&format!(
                "{ip} neigh replace 10.77.0.{to} {card} dev {device}"
            ))
        } else {
            does(&format!("{ip} neigh del 10.77.0.{to} dev {device}"))
        };
        assert!(done, "{from} to {to}");
    }

    /// Has what is sent between two groups of hosts be lost, or not any more.
    fn divide(&self, one: &[usize], other: &[usize], is_cut: bool) {
        for from in one {
            for to in other {
                self.cut(*from, *to, is_cut);
                self.cut(*to, *from, is_cut);
            }
        }
    }
}

/// The host on which commands are executed.
const CLIENT: usize = usize::MAX;

impl Drop for Network {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            drop(node.kill());
            drop(node.wait());
        }
    }
}

/// Certificates, a list of hosts, and a node on each of them, once all of them answer. Those of the hosts `managing` may manage Sets.
fn start(folder: &Folder, network: &mut Network, managing: &[usize]) {
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    folder.stdout(&[
        "cert", "issue", "--role", "client", "--name", "me", "--dir", "ca",
    ]);
    let mut hosts = String::new();
    for (index, space) in network.spaces.iter().enumerate() {
        let name = format!("host-{index}");
        let role = if managing.contains(&index) {
            "set-manager"
        } else {
            "node"
        };
        folder.stdout(&[
            "cert", "issue", "--role", role, "--name", &name, "--dir", "ca",
        ]);
        let address = Network::address(index);
        let conf = format!("[node]\nname = \"{name}\"\nidentity = \"ca\"\n");
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
    let began = Instant::now();
    while folder.run(&[&["status"][..], &CLUSTER].concat()).code != Some(0) {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "nodes do not come up"
        );
    }
}

/// The options for the nodes.
const CLUSTER: [&str; 4] = ["--cluster", "hosts", "--identity", "ca"];

#[test]
fn hosts_with_addresses_of_their_own_know_how_far_sets_are_and_run() {
    let Some(mut network) = Network::new(4, 2) else {
        return;
    };
    let folder = Folder::new();
    start(&folder, &mut network, &[0, 2]);
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
        &CLUSTER,
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
    // All is well but for two hosts that do not reach each other.
    let check = [&["check"][..], &CLUSTER].concat();
    let whole = folder.run(&check);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(
        whole.stdout.contains("12 of 12 ways between nodes"),
        "{whole:?}"
    );
    network.divide(&[2], &[3], true);
    let divided = folder.run(&[&check[..], &["--format", "json"]].concat());
    assert_eq!(divided.code, Some(5), "{divided:?}");
    let divided: Value = serde_json::from_str(&divided.stdout).unwrap();
    let problems = divided["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{divided}");
    for (problem, pair) in problems.iter().zip([
        "host-2 does not reach host-3: ",
        "host-3 does not reach host-2: ",
    ]) {
        assert!(problem.as_str().unwrap().starts_with(pair), "{divided}");
    }
}

#[test]
fn a_job_on_a_link_of_1_mbit_starts_says_that_it_probes_and_ends() {
    let cable = "rate 1mbit burst 16kb latency 400ms";
    let Some(mut network) = Network::with_cables(3, 2, cable) else {
        return;
    };
    let folder = Folder::new().with("heat.toml", HEAT);
    start(&folder, &mut network, &[0, 2]);
    // States of 320 kB.
    let changes = [
        "application.supersteps=20",
        "application.heat.width=400",
        "application.heat.height=300",
        "scheduler.policy=migbsp",
        "scheduler.interval=4",
    ];
    let changes = changes.iter().flat_map(|change| ["--set", *change]);
    let options: Vec<&str> = ["-n", "3"].into_iter().chain(changes).collect();
    simulate(&folder, &options);
    let run = ["run", "heat.toml", "--outputs", "slow.json"];
    let ended = folder.run(&[&run[..], &CLUSTER, &options].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("probe the links between Sets"),
        "{ended:?}"
    );
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("slow.json"), read("whole.json"));
}

#[test]
fn nodes_listen_on_ipv6_and_ipv4_and_say_what_a_path_must_carry() {
    let Some(mut network) = Network::new(2, 2) else {
        return;
    };
    let folder = Folder::new().with("heat.toml", HEAT);
    start(&folder, &mut network, &[0]);
    let run = |hosts: &str| {
        let options = ["--cluster", hosts, "--identity", "ca"];
        folder.run(&[&["run", "heat.toml", "--format", "json"][..], &options].concat())
    };
    assert_eq!(run("hosts").code, Some(0));
    let mut has_ipv6 = does("ip addr add fd77::1/64 dev bridge nodad");
    let mut hosts = String::new();
    for (index, space) in network.spaces.iter().enumerate() {
        let address = format!("fd77::{}", index + 2);
        has_ipv6 = has_ipv6
            && does(&format!(
                "ip -n {space} addr add {address}/64 dev cable nodad"
            ));
        hosts += &format!("host-{index} set=near addr=[{address}]\n");
    }
    if has_ipv6 {
        fs::write(folder.path().join("hosts6"), hosts).unwrap();
        let ended = run("hosts6");
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    // QUIC needs datagrams of 1200 bytes.
    for (index, space) in network.spaces.iter().enumerate() {
        assert!(does(&format!("ip link set to-{index} mtu 1100")));
        assert!(does(&format!("ip -n {space} link set cable mtu 1100")));
    }
    let ended = run("hosts");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("datagrams of 1200 bytes"),
        "{ended:?}"
    );
}

/// For how many seconds networks are divided.
const DIVIDED: u64 = if cfg!(feature = "long-tests") { 20 } else { 5 };

/// A job that lasts longer than that, and saves its processes early.
const LONG: [&str; 8] = [
    "--set",
    if cfg!(feature = "long-tests") {
        "application.supersteps=80000"
    } else {
        "application.supersteps=20000"
    },
    "--set",
    "application.heat.width=100",
    "--set",
    "checkpoint.first=0.1s",
    "--set",
    "scheduler.policy=none",
];

/// Nodes on all hosts, each of which may lead, and what a job on them has to compute.
fn start_long(network: &mut Network) -> Folder {
    let folder = Folder::new().with("heat.toml", HEAT);
    let all: Vec<usize> = (0..network.spaces.len()).collect();
    start(&folder, network, &all);
    simulate(&folder, &LONG);
    folder
}

/// The groups into which a network falls for [`DIVIDED`], the client being with the first, and the hosts that are
/// left out then and are back afterwards.
fn go_on(mut network: Network, divide: impl Fn(&Network, bool), lost: &[&str]) {
    let folder = start_long(&mut network);
    let run = [
        "run",
        "heat.toml",
        "--format",
        "json",
        "--out",
        "runs",
        "--outputs",
        "cut.json",
    ];
    let run = UnderWay::start(&mut folder.command(&[&run[..], &CLUSTER, &LONG].concat()));
    begun_on(&run, &folder.path().join("runs/i/events.jsonl"));
    divide(&network, true);
    thread::sleep(Duration::from_secs(DIVIDED));
    assert!(!run.is_over(), "{:?}", run.ends_within(0));
    divide(&network, false);
    check(&folder, &run, network.spaces.len(), lost);
}

/// The command that follows a job of so many hosts ends well: the hosts that were lost are back, and nothing is repeated for that.
fn check(folder: &Folder, following: &UnderWay, hosts: usize, lost: &[&str]) {
    let ended = following.ends_within(220 + 20 * DIVIDED);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outputs = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(outputs("cut.json"), outputs("whole.json"));
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    let views = shown["views"].as_array().unwrap();
    let names = |key: &str| -> BTreeSet<&str> {
        let all = views.iter().flat_map(|view| view[key].as_array().unwrap());
        all.map(|host| host.as_str().or_else(|| host["host"].as_str()).unwrap())
            .collect()
    };
    let expected: BTreeSet<&str> = lost.iter().copied().collect();
    assert_eq!(names("lost"), expected, "{shown}");
    assert_eq!(names("joined"), expected, "{shown}");
    let last = views.last().unwrap()["hosts"].as_array().unwrap();
    assert_eq!(last.len(), hosts, "{shown}");
    for view in views {
        if view["reason"] == "joined" {
            assert_eq!(view["repeated_supersteps"], 0, "{shown}");
        }
        if view["reason"] == "lost" {
            assert!(view["restored_seconds"].as_f64().unwrap() < 2.0, "{shown}");
        }
    }
    for view in views {
        let record = format!("runs/{}", view["record"].as_str().unwrap());
        folder.stdout(&["verify", &record]);
        folder.stdout(&["explain", &record]);
    }
}

#[test]
fn the_greater_part_of_a_network_goes_on_and_the_others_are_back_when_it_is_whole() {
    let Some(network) = Network::new(5, 5) else {
        return;
    };
    let divide = |network: &Network, is_cut| network.divide(&[0, 1, 2, CLIENT], &[3, 4], is_cut);
    go_on(network, divide, &["host-3", "host-4"]);
}

#[cfg(feature = "long-tests")]
#[test]
fn a_host_that_is_heard_by_none_is_left_out_and_back_when_it_is_heard() {
    let Some(network) = Network::new(5, 5) else {
        return;
    };
    let divide = |network: &Network, is_cut| {
        for to in [0, 1, 2, 3, CLIENT] {
            network.cut(4, to, is_cut);
        }
    };
    go_on(network, divide, &["host-4"]);
}

#[cfg(feature = "long-tests")]
#[test]
fn of_two_hosts_that_do_not_reach_each_other_one_is_left_out_and_back_when_they_do() {
    let Some(network) = Network::new(5, 5) else {
        return;
    };
    go_on(
        network,
        |network, is_cut| network.divide(&[3], &[4], is_cut),
        &["host-4"],
    );
}

#[cfg(feature = "long-tests")]
#[test]
fn of_two_halves_that_of_the_client_goes_on_and_the_other_one_is_back() {
    let Some(network) = Network::new(4, 4) else {
        return;
    };
    let divide = |network: &Network, is_cut| network.divide(&[1, 2, CLIENT], &[0, 3], is_cut);
    go_on(network, divide, &["host-0", "host-3"]);
}

/// The client has left the job, and reaches both halves.
#[cfg(feature = "long-tests")]
#[test]
fn of_two_halves_that_of_the_leader_goes_on_and_the_other_one_is_back() {
    let Some(mut network) = Network::new(4, 4) else {
        return;
    };
    let folder = start_long(&mut network);
    let detach = ["run", "heat.toml", "--detach", "--format", "json"];
    let left = folder.stdout(&[&detach[..], &CLUSTER, &LONG].concat());
    let left: Value = serde_json::from_str(&left).unwrap();
    let (job, leader) = (
        left["job"].as_str().unwrap(),
        left["leader"].as_str().unwrap(),
    );
    let leader: usize = leader.trim_start_matches("host-").parse().unwrap();
    // One of each Set: 0 and 1 are one, 2 and 3 the other.
    let half = [leader, (leader + 2) % 4];
    let others: Vec<usize> = (0..4).filter(|host| !half.contains(host)).collect();
    network.divide(&half, &others, true);
    let attach = ["attach", job, "--out", "runs", "--outputs", "cut.json"];
    let attach = [&attach[..], &["--format", "json"], &CLUSTER].concat();
    let attached = UnderWay::start(&mut folder.command(&attach));
    thread::sleep(Duration::from_secs(DIVIDED));
    network.divide(&half, &others, false);
    let names: Vec<String> = others.iter().map(|host| format!("host-{host}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(&folder, &attached, 4, &names);
}
