//! Nodes that a remote shell starts: a real sshd on loopback.
//!
//! Needs sshd, and for it the right to log in as the same user; where that is missing, the test says so and does nothing.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::invocation::{BINARY, Folder};
use crate::live::cluster::HEAT;
use crate::live::recovery::simulate;
use crate::live::under_way::UnderWay;
use crate::namespaces::does;

/// An sshd that lets this user in with a key of a folder, and the folder.
struct Sshd {
    folder: Folder,
    daemon: Child,
}

const SKIPPED: &str = "SKIPPED: no sshd here that lets this user in; it takes openssh-server";

impl Sshd {
    /// `None`, with the reason on stderr, where there is none.
    fn start() -> Option<Self> {
        if !Path::new("/usr/sbin/sshd").exists() || !does("ssh -V") {
            return None;
        }
        if does("test -w /run") {
            // Where the package has started no sshd.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let folder = Folder::new().with("heat.toml", HEAT);
        let path = folder.path().display().to_string();
        for key in ["host", "user"] {
            let file = folder.path().join(key);
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file)
                .status();
            assert!(made.unwrap().success());
        }
        let server = format!(
            "Port {port}\nListenAddress 0.0.0.0\nHostKey {path}/host\nAuthorizedKeysFile {path}/user.pub\nPidFile none\n\
             StrictModes no\nPermitRootLogin yes\nUsePAM no\n"
        );
        let client = format!(
            "Host *\n  Port {port}\n  IdentityFile {path}/user\n  BatchMode yes\n  StrictHostKeyChecking no\n  \
             UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
        );
        let folder = folder
            .with("sshd.conf", server)
            .with("ssh.conf", client)
            .with(
                "hosts",
                "node-1 slots=1 set=a addr=127.0.0.1\nnode-2 slots=1 set=b addr=127.0.0.2\n",
            );
        let daemon = Command::new("/usr/sbin/sshd")
            .args(["-D", "-f"])
            .arg(folder.path().join("sshd.conf"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let sshd = Self { folder, daemon };
        let began = Instant::now();
        let config = sshd.folder.path().join("ssh.conf");
        while !does(&format!("ssh -F {} 127.0.0.1 true", config.display())) {
            if Duration::from_secs(10) < began.elapsed() {
                return None;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Some(sshd)
    }

    /// The options of `up` for two hosts.
    fn up(&self) -> [String; 5] {
        let config = self.folder.path().join("ssh.conf");
        let shell = format!("ssh -F {}", config.display());
        ["up", "--hosts", "hosts", "--shell", &shell].map(str::to_owned)
    }

    /// The node processes whose parent is a shell of this sshd, which run in this folder of the binary.
    fn nodes(&self) -> usize {
        let own = self.daemon.id();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_node = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(BINARY.as_bytes())
                && line.ends_with(b"--stdin\0")
                && descends(*pid, own)
        };
        pids.filter(is_node).count()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

/// Whether a process has been started by another one, or by one that it has started.
fn descends(mut pid: u32, from: u32) -> bool {
    while 1 < pid {
        if pid == from {
            return true;
        }
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut lines = status.lines();
        let parent = lines.find_map(|line| line.strip_prefix("PPid:"));
        pid = parent
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
    }
    false
}

#[test]
fn nodes_that_ssh_starts_compute_what_a_simulation_does_and_end_with_their_command() {
    let Some(sshd) = Sshd::start() else {
        eprintln!("{SKIPPED}");
        return;
    };
    let folder = &sshd.folder;
    simulate(folder, &["-n", "2", "--set", "scheduler.policy=none"]);
    let up = sshd.up();
    let up: Vec<&str> = up.iter().map(String::as_str).collect();
    let path = ["PATH", &std::env::var("PATH").unwrap()].map(str::to_owned);
    let command = |words: &[&str]| {
        let mut command = folder.command(words);
        command.env(&path[0], &path[1]);
        command
    };
    let run = [
        "--",
        "run",
        "heat.toml",
        "-n",
        "2",
        "--set",
        "scheduler.policy=none",
    ];
    let more = [
        "--set",
        "application.supersteps=3500",
        "--format",
        "json",
        "--outputs",
        "live.json",
    ];
    let all = [&up[..], &run, &more].concat();
    let ended = UnderWay::start(&mut command(&all)).ends_within(60);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(shown["sets"], 2, "{shown}");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("live.json"), read("whole.json"));
    let gone = || {
        let began = Instant::now();
        while sshd.nodes() != 0 {
            assert!(began.elapsed() < Duration::from_secs(15), "nodes are left");
            thread::sleep(Duration::from_millis(50));
        }
    };
    gone();
    // However the command ends.
    let long = ["--set", "application.supersteps=900000", "--out", "runs"];
    let run = UnderWay::start(&mut command(&[&up[..], &run, &long].concat()));
    let record = folder.path().join("runs/i/events.jsonl");
    crate::live::recovery::begun_on(&run, &record);
    assert_eq!(sshd.nodes(), 2);
    run.signal("KILL");
    gone();
    // A host without a node is named.
    fs::write(
        folder.path().join("hosts"),
        "node-1 addr=127.0.0.1\nnode-9 addr=no-such-host\n",
    )
    .unwrap();
    let status = [&up[..], &["--", "status"]].concat();
    let ended = UnderWay::start(&mut command(&status)).ends_within(60);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("no node starts on node-9: see above"),
        "{ended:?}"
    );
    gone();
    // A job of PBS has its hosts in a file; its own remote shell is another program of this kind.
    fs::write(folder.path().join("nodefile"), "localhost\nlocalhost\n").unwrap();
    let shell = up[4];
    let pbs = [
        "pbs",
        "heat.toml",
        "--shell",
        shell,
        "--format",
        "json",
        "--checkpoint",
        "saved",
    ];
    let mut pbs = command(&pbs);
    pbs.env("PBS_NODEFILE", folder.path().join("nodefile"));
    let ended = UnderWay::start(&mut pbs).ends_within(60);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(shown["hosts"], serde_json::json!(["localhost"]), "{shown}");
    gone();
}

/// A folder with an experiment, and with programs that stand in for remote shells: each notes its words, and executes what follows the name
/// of a host as the shell there would, for which `ssh` and `oarsh`, which is `ssh` underneath, join the words by spaces.
fn stand_ins() -> Folder {
    use std::os::unix::fs::PermissionsExt as _;
    let script = "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >> called\nshift\nexec sh -c \"$*\"\n";
    let mut folder = Folder::new()
        .with("heat.toml", HEAT)
        .with("hosts", "localhost\nlocalhost\n");
    for name in ["ssh", "oarsh"] {
        folder = folder.with(&format!("bin/{name}"), script);
        let file = folder.path().join("bin").join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!(
        "{}:{}",
        folder.path().join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    folder.with_variable("PATH", &path)
}

#[test]
fn jobs_of_pbs_and_oar_start_nodes_by_their_remote_shells() {
    for (manager, variable, shell) in [
        ("oar", "OAR_NODEFILE", "oarsh"),
        ("pbs", "PBS_NODEFILE", "ssh"),
    ] {
        let folder = stand_ins();
        let run = [manager, "heat.toml", "--format", "json", "-n", "2"];
        let mut command = folder.command(&run);
        command.env(variable, folder.path().join("hosts"));
        let ended = UnderWay::start(&mut command).ends_within(60);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let shown: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(shown["hosts"], serde_json::json!(["localhost"]), "{shown}");
        assert!(shown["run"]["verified"].is_string(), "{shown}");
        let called = fs::read_to_string(folder.path().join("called")).unwrap();
        let called: Vec<&str> = called.lines().collect();
        let [program, host, line] = called[..] else {
            panic!("{called:?}");
        };
        assert!(program.ends_with(&format!("bin/{shell}")), "{program}");
        assert_eq!(
            (host, line),
            ("localhost", &format!("exec '{BINARY}' -q node --stdin")[..])
        );
    }
}

#[test]
fn a_remote_shell_that_passes_no_stdin_on_is_refused() {
    let folder = stand_ins();
    let mut command = folder.command(&["pbs", "heat.toml", "--shell", "/opt/pbs/bin/pbs_tmrsh -n"]);
    command.env("PBS_NODEFILE", folder.path().join("hosts"));
    let ended = UnderWay::start(&mut command).ends_within(10);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("pbs_tmrsh passes no stdin on"),
        "{ended:?}"
    );
    assert!(!folder.path().join("called").exists());
}
