//! The example on real hosts, and its name wherever a program says what it is.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::invocation::{folder, life, stdout};

/// The run of the guide, shorter.
const RUN: [&str; 6] = [
    "run",
    "life.toml",
    "--set",
    "application.supersteps=21",
    "--format",
    "json",
];

#[test]
fn the_example_runs_on_nodes_of_its_own_under_its_own_name() {
    let folder = folder();
    let up = ["up", "--local", "4", "--"];
    let run = [&up[..], &RUN, &["--out", "runs"]].concat();
    let run: Value = serde_json::from_str(&stdout(folder.path(), &run)).unwrap();
    assert_eq!(run["workload"], "life");
    let verified = "the glider has gone 5 cells down and to the right";
    assert_eq!(run["run"]["verified"], verified);
    let record = std::fs::read(folder.path().join("runs/iii/run.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["build"]["program"], "life");
    assert_eq!(
        record["version"],
        concat!("life ", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(run["version"], record["version"]);
    assert_eq!(record["build"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        record["results"]["builds"],
        Value::from(vec![record["build"].clone(); 4])
    );
    let status = stdout(folder.path(), &["up", "--local", "1", "--", "status"]);
    assert!(
        status.contains(concat!("life ", env!("CARGO_PKG_VERSION"))),
        "{status}"
    );
    let explained = stdout(folder.path(), &["explain", "runs"]);
    assert!(!explained.contains("migbsp explain"), "{explained}");
}

#[test]
fn no_help_names_commands_of_migbsp_or_files_that_only_it_has() {
    let folder = folder();
    let version = stdout(folder.path(), &["--version"]);
    assert_eq!(version, concat!("life ", env!("CARGO_PKG_VERSION"), "\n"));
    let help = stdout(folder.path(), &["help"]);
    assert!(help.contains("  life simulate FILE "), "{help}");
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(10 <= commands.len(), "{help}");
    let mut texts = vec![help.clone()];
    for command in &commands {
        texts.push(stdout(folder.path(), &["help", command]));
    }
    for laboratory in ["reproduce", "rebalance", "chaos"] {
        assert!(!commands.contains(&laboratory), "{help}");
    }
    for group in ["cert", "platform"] {
        for command in ["init", "issue", "revoke", "show", "check", "flows"] {
            let help = life(folder.path(), &["help", group, command]);
            texts.push(String::from_utf8(help.stdout).unwrap());
        }
    }
    for text in texts {
        assert!(!text.contains("conf/"), "{text}");
        for command in &commands {
            assert!(
                !text.contains(&format!("migbsp {command}")),
                "{command}: {text}"
            );
        }
    }
}

#[test]
fn errors_name_commands_of_the_example() {
    let folder = folder();
    let failed = life(folder.path(), &["run", "life.toml"]);
    let error = String::from_utf8(failed.stderr).unwrap();
    assert!(
        error.contains("try `life up --local 4 -- run FILE`"),
        "{error}"
    );
}

/// A node of `migbsp`, which runs until this is dropped.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // It may have gone already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The binary `migbsp`, in the folder of the example's binary.
fn migbsp() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_life")).with_file_name("migbsp");
    assert!(
        binary.exists(),
        "build the workspace first: {}",
        binary.display()
    );
    binary
}

#[test]
fn nodes_of_migbsp_are_named_and_so_is_what_to_start() {
    let folder = folder();
    let cert = ["--dir", "ca"];
    stdout(
        folder.path(),
        &[&["cert", "init", "--cluster", "lab"][..], &cert].concat(),
    );
    for (role, name) in [("set-manager", "h1"), ("client", "laptop")] {
        let issue = ["cert", "issue", "--role", role, "--name", name];
        stdout(folder.path(), &[&issue[..], &cert].concat());
    }
    let section =
        "[node]\nname = \"h1\"\nidentity = \"ca\"\nlisten = \"127.0.0.1:0\"\nspeed = 1e9\n";
    std::fs::write(folder.path().join("h1.toml"), section).unwrap();
    let mut command = Command::new(migbsp());
    command
        .args(["node", "--conf", "h1.toml", "--allow-mixed-builds"])
        .current_dir(folder.path());
    let mut node = Node(command.stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(node.0.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (_, address) = line.split_once("address=").unwrap();
    let address = address.split(' ').next().unwrap();
    std::fs::write(folder.path().join("hosts"), format!("h1 addr={address}\n")).unwrap();
    let options = ["--cluster", "hosts", "--identity", "ca"];
    let failed = life(folder.path(), &[&RUN[..], &options].concat());
    assert_eq!(failed.status.code(), Some(5));
    let error = String::from_utf8(failed.stderr).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        error.starts_with(&format!("error: node h1 runs migbsp {version} (build ")),
        "{error}"
    );
    let remedy = ") and has no workload `life`: start `life node` there\n";
    assert!(error.ends_with(remedy), "{error}");
    // Where both ends allow other builds, the node itself says what it does not have.
    let mixed = [&RUN[..], &options, &["--allow-mixed-builds"]].concat();
    let failed = life(folder.path(), &mixed);
    let error = String::from_utf8(failed.stderr).unwrap();
    let expected = format!(
        "error: node h1 runs migbsp {version} and has no workload `life`: start a program there that has it\n"
    );
    assert_eq!((failed.status.code(), error), (Some(5), expected));
    let status = life(folder.path(), &[&["status"][..], &options].concat());
    assert_eq!(status.status.code(), Some(0));
}
