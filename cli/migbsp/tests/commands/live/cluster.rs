//! Daemons with certificates and a list of hosts, in a folder of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use protocol::identity::files::{read_authority, write_identity};
use protocol::identity::{Identity, Name, Role, Validity};
use serde_json::Value;

use crate::invocation::{BINARY, Ended, Folder};
use crate::live::under_way::{UnderWay, signal};

/// Nodes, which run until this is dropped; `hosts` lists them, `ca` has their certificates and the client's.
pub(crate) struct Cluster {
    pub(crate) folder: Folder,
    nodes: Vec<Daemon>,
    /// How long its certificates are valid; `None`: as long as the program says.
    validity: Option<Duration>,
    /// What the files of nodes have that are started from now on, beside the common keys.
    conf: String,
}

/// A node.
struct Daemon {
    name: String,
    child: Child,
    line: String,
    log: mpsc::Receiver<String>,
}

impl Cluster {
    /// Nodes `node-1`, `node-2` and so on: Sets of these sizes.
    pub(crate) fn start(sets: &[usize]) -> Self {
        let mut hosts = Vec::new();
        for (set, count) in sets.iter().enumerate() {
            let set = format!("set=s{set}");
            hosts.push(("set-manager", set.clone()));
            hosts.extend((1..*count).map(|_| ("node", set.clone())));
        }
        Self::of(&hosts)
    }

    /// Nodes with those certificates, and what the list of hosts says of each.
    pub(crate) fn of(hosts: &[(&str, String)]) -> Self {
        Self::issued(None, hosts)
    }

    /// The same, with certificates that are valid so long.
    pub(crate) fn valid_for(validity: Duration, hosts: &[(&str, String)]) -> Self {
        Self::issued(Some(validity), hosts)
    }

    fn issued(validity: Option<Duration>, hosts: &[(&str, String)]) -> Self {
        let folder = Folder::new().with("heat.toml", HEAT);
        folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
        let mut cluster = Self {
            folder,
            nodes: Vec::new(),
            validity,
            conf: String::new(),
        };
        cluster.issue("client", "laptop");
        for (role, set) in hosts {
            cluster.add(&[], &[], role, set);
        }
        cluster.list();
        cluster
    }

    /// One more node, which no list has: it joins the job of another one.
    pub(crate) fn offer(&mut self, to: &str) {
        let node = self.nodes.iter().find(|node| node.name == to).unwrap();
        let (_, address) = node.line.trim_end().split_once("addr=").unwrap();
        let to = format!("{to}={address}");
        self.add(&[], &["--join", &to], "set-manager", "");
    }

    /// One more node, started by a command of the system, which has the command line of a node behind its own.
    pub(crate) fn join(&mut self, starter: &[&str], set: &str) {
        self.join_as(starter, "node", set);
    }

    /// One more node, with these variables of the environment and options.
    pub(crate) fn serve(&mut self, variables: &[&str], options: &[&str]) {
        let starter = [&["env"], variables].concat();
        self.add(&starter, options, "set-manager", "set=s0");
        self.list();
    }

    /// One more node, whose file has these lines in addition.
    pub(crate) fn configured(&mut self, conf: &str) {
        conf.clone_into(&mut self.conf);
        self.serve(&[], &[]);
    }

    /// The same, with a certificate of `role`.
    pub(crate) fn join_as(&mut self, starter: &[&str], role: &str, set: &str) {
        self.add(starter, &[], role, &format!("set={set}"));
        self.list();
    }

    /// Waits for a line of a node's log that has `words`, at most ten seconds.
    #[track_caller]
    pub(crate) fn logged(&self, name: &str, words: &str) -> String {
        self.lines_until(name, words).pop().unwrap()
    }

    /// Waits for such a line; that, and those before it which have not been waited for.
    #[track_caller]
    pub(crate) fn lines_until(&self, name: &str, words: &str) -> Vec<String> {
        let node = self.nodes.iter().find(|node| node.name == name).unwrap();
        let mut lines = Vec::new();
        let began = Instant::now();
        while let Some(left) = Duration::from_secs(10).checked_sub(began.elapsed())
            && let Ok(line) = node.log.recv_timeout(left)
        {
            let is_last = line.contains(words);
            lines.push(line);
            if is_last {
                return lines;
            }
        }
        panic!("{name} does not log {words:?}, but {lines:#?}");
    }

    fn list(&self) {
        let lines: String = self.nodes.iter().map(|node| node.line.clone()).collect();
        self.write("hosts", &lines);
    }

    pub(crate) fn issue(&self, role: &str, name: &str) {
        if let Some(length) = self.validity {
            let identity = self.issue_for(length, role.parse().unwrap(), &name.parse().unwrap());
            write_identity(&self.folder.path().join("ca"), &identity).unwrap();
            return;
        }
        let role = ["--role", role, "--name", name, "--dir", "ca"];
        self.folder
            .stdout(&[&["cert", "issue"][..], &role].concat());
    }

    fn issue_for(&self, length: Duration, role: Role, name: &Name) -> Identity {
        let authority = read_authority(&self.folder.path().join("ca")).unwrap();
        let validity = Validity::from_now(SystemTime::now(), length).unwrap();
        authority.issue(role, name, validity).unwrap()
    }

    /// Replaces the certificate and the key of `name` by new ones for a day, one after the other.
    pub(crate) fn renew(&self, role: Role, name: &str) {
        let day = Duration::from_secs(86_400);
        let renewed = self.issue_for(day, role, &name.parse().unwrap()).to_pem();
        self.write(&format!("ca/{name}.key"), &renewed.key);
        self.write(&format!("ca/{name}.pem"), &renewed.certificates);
    }

    fn add(&mut self, starter: &[&str], options: &[&str], role: &str, set: &str) {
        let name = format!("node-{}", self.nodes.len() + 1);
        self.issue(role, &name);
        let file = format!("{name}.toml");
        self.write(
            &file,
            &format!(
                "[node]\nname = \"{name}\"\nidentity = \"ca\"\nlisten = \"127.0.0.1:0\"\nspeed = 1e9\n{}",
                self.conf
            ),
        );
        let node = [&["node", "--conf", &file][..], options].concat();
        let mut command = match starter {
            [] => self.folder.command(&node),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                command.args(arguments).arg(BINARY).args(node);
                command.current_dir(self.folder.path()).stdin(Stdio::null());
                command
            }
        };
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, receiver) = mpsc::channel();
        let log = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || {
            for line in log.lines().map_while(Result::ok) {
                // All are taken, so that the node can write.
                drop(sender.send(line));
            }
        });
        let line = receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        let (_, address) = line.split_once("127.0.0.1:").unwrap();
        let is_end = |next: char| !next.is_ascii_digit();
        let port = address.split(is_end).next().unwrap();
        self.nodes.push(Daemon {
            line: format!("{name} {set} addr=127.0.0.1:{port}\n"),
            name,
            child,
            log: receiver,
        });
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// The list of hosts without those nodes.
    pub(crate) fn list_without(&self, gone: &[&str]) -> String {
        let nodes = self.nodes.iter();
        let stay = nodes.filter(|node| !gone.contains(&node.name.as_str()));
        stay.map(|node| node.line.clone()).collect()
    }

    /// A command for the nodes of `hosts`.
    pub(crate) fn command(&self, hosts: &str, words: &[&str]) -> Command {
        let options = ["--cluster", hosts, "--identity", "ca"];
        self.folder.command(&[words, &options].concat())
    }

    /// Runs the plate on the nodes of `hosts`.
    pub(crate) fn run(&self, hosts: &str) -> Ended {
        let mut command = self.command(hosts, &["run", "heat.toml", "--format", "json"]);
        UnderWay::start(&mut command).ends_within(20)
    }

    /// Runs the plate on the nodes of `hosts`, which has to succeed.
    #[track_caller]
    pub(crate) fn works(&self, hosts: &str) {
        let ended = self.run(hosts);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    /// Begins with a run that takes minutes, and waits until every node is at it.
    pub(crate) fn begin(&self, more: &[&str]) -> UnderWay {
        let long = ["run", "heat.toml", "--set", "application.supersteps=900000"];
        let run = UnderWay::start(&mut self.command("hosts", &[&long, more].concat()));
        let began = Instant::now();
        let is_computing = |node: &Value| node["superstep"].as_u64().is_some_and(|at| 0 < at);
        while !self.status("hosts").iter().all(is_computing) {
            if run.is_over() || Duration::from_secs(10) < began.elapsed() {
                panic!("it does not begin: {:?}", run.ends_within(0));
            }
        }
        run
    }

    /// How the nodes of `hosts` are.
    pub(crate) fn status(&self, hosts: &str) -> Vec<Value> {
        let mut command = self.command(hosts, &["status", "--format", "json"]);
        let shown = UnderWay::start(&mut command).ends_within(10).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        shown["nodes"].as_array().unwrap().clone()
    }

    /// Waits until no node of `hosts` has a job, at most this number of seconds.
    #[track_caller]
    pub(crate) fn is_free_within(&self, seconds: u64, hosts: &str) {
        let began = Instant::now();
        loop {
            let nodes = self.status(hosts);
            let is_free = |node: &Value| {
                node["build"].is_object() && node["abandoned"].is_null() && node["client"].is_null()
            };
            if nodes.iter().all(is_free) {
                return;
            }
            let waited = began.elapsed();
            assert!(waited < Duration::from_secs(seconds), "{nodes:?}");
        }
    }

    /// Sends a node a signal, as `TERM`.
    pub(crate) fn signal(&self, name: &str, kind: &str) {
        let node = self.nodes.iter().find(|node| node.name == name);
        signal(node.unwrap().child.id(), kind);
    }

    /// Waits for the end of a node that has been told to leave; its exit code.
    pub(crate) fn exit_of(&mut self, name: &str) -> Option<i32> {
        let node = self.nodes.iter_mut().find(|node| node.name == name);
        node.unwrap().child.wait().unwrap().code()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // It may have gone already.
            drop(node.child.kill());
            drop(node.child.wait());
        }
    }
}

/// A plate so small that its supersteps are short.
pub(crate) const HEAT: &str = r#"[application]
workload = "heat"
processes = 6
supersteps = 30

[application.heat]
width = 40
height = 40
"#;
