//! Two network namespaces, one a Set, and one link of a limited rate between them.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::invocation::{BINARY, Ended, Folder};
use crate::namespaces::{is_isolated, must};

/// Two Sets of two nodes; gone when this is dropped.
pub(super) struct Network {
    nodes: Vec<Child>,
}

/// Nodes: name, role of the certificate, Set, and address.
const NODES: [(&str, &str, usize, &str); 4] = [
    ("left-1", "set-manager", 0, "10.78.0.1:7447"),
    ("left-2", "node", 0, "10.78.0.1:7448"),
    ("right-1", "set-manager", 1, "10.78.0.2:7447"),
    ("right-2", "node", 1, "10.78.0.2:7448"),
];

/// Names of the Sets, and of their namespaces.
const SETS: [&str; 2] = ["left", "right"];

/// The fraction of its processor that a node gives to programs. All four together take a fifth of one processor, so
/// that one Set alone takes twice as long to compute as two. Optimized programs compute faster.
const SHARE: f64 = if cfg!(debug_assertions) { 0.05 } else { 0.005 };

impl Network {
    /// The namespaces and the link, which carries `rate` in each direction; `None` where [`is_isolated`] says no.
    pub(super) fn new(rate: &str) -> Option<Self> {
        if !is_isolated() {
            return None;
        }
        let [left, right] = SETS;
        must(&format!("ip netns add {left}"));
        must(&format!("ip netns add {right}"));
        must(&format!(
            "ip link add between netns {left} type veth peer name between netns {right}"
        ));
        for (space, number) in [(left, 1), (right, 2)] {
            must(&format!(
                "ip -n {space} addr add 10.78.0.{number}/24 dev between"
            ));
            must(&format!("ip -n {space} link set between up"));
            must(&format!("ip -n {space} link set lo up"));
            // What waits longer than this is dropped.
            must(&format!(
                "tc -n {space} qdisc add dev between root tbf rate {rate} burst 6kb latency 400ms"
            ));
        }
        Some(Self { nodes: Vec::new() })
    }

    /// Certificates, a list of hosts, and a node process for each of them.
    pub(super) fn start_nodes(&mut self, folder: &Folder) {
        // Many runs take minutes, in which another build may replace the binary.
        fs::copy(BINARY, folder.path().join("migbsp")).unwrap();
        folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
        folder.stdout(&[
            "cert", "issue", "--role", "client", "--name", "me", "--dir", "ca",
        ]);
        let mut hosts = String::new();
        for (name, role, set, address) in NODES {
            folder.stdout(&[
                "cert", "issue", "--role", role, "--name", name, "--dir", "ca",
            ]);
            let file = format!("{name}.toml");
            let section = format!(
                "[node]\nname = \"{name}\"\nidentity = \"ca\"\nlisten = \"{address}\"\nshare = {SHARE}\n"
            );
            fs::write(folder.path().join(&file), section).unwrap();
            hosts += &format!("{name} slots=1 set={} addr={address}\n", SETS[set]);
            let node = Self::inside(set, folder, &["node", "--conf", &file])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            self.nodes.push(node.unwrap());
        }
        fs::write(folder.path().join("hosts"), hosts).unwrap();
    }

    /// Runs a command of a client beside the nodes of the first Set.
    pub(super) fn client(folder: &Folder, words: &[&str]) -> Ended {
        let output = Self::inside(0, folder, words)
            .args(["--cluster", "hosts", "--identity", "ca"])
            .output()
            .unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The binary in the namespace of a Set.
    fn inside(set: usize, folder: &Folder, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", SETS[set], "./migbsp"]);
        command.args(words).current_dir(folder.path());
        command.stdin(Stdio::null());
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have ended already.
            drop(node.kill());
            drop(node.wait());
        }
    }
}
