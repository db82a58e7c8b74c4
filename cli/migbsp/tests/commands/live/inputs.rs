//! Invalid inputs are named.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::invocation::Folder;
use crate::live::cluster::{Cluster, HEAT};
use crate::live::under_way::{UnderWay, signal};

/// A folder with certificates of a node and a client, a configuration of the node, and a list of hosts.
fn folder() -> Folder {
    let folder = Folder::new()
        .with("heat.toml", HEAT)
        .with("hosts", "node-1 addr=127.0.0.1:9\n")
        .with("empty/nothing", "");
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    for (role, name) in [("node", "node-1"), ("client", "laptop")] {
        let issue = [
            "cert", "issue", "--role", role, "--name", name, "--dir", "ca",
        ];
        folder.stdout(&issue);
    }
    folder
}

#[track_caller]
pub(crate) fn check(folder: &Folder, arguments: &[&str], code: i32, message: &str) {
    let ended = UnderWay::start(&mut folder.command(arguments)).ends_within(15);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(code), ""),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains(message),
        "{message:?}: {}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("error: error"), "{}", ended.stderr);
}

#[test]
fn a_mistake_in_the_configuration_of_a_node_is_named() {
    let folder = folder();
    for (text, message) in [
        // It is called as its host is.
        ("[node]\nidentity = \"empty\"", "there is none of"),
        (
            "[node]\nname = \"N_1\"",
            "`node.name`: invalid name \"N_1\"",
        ),
        (
            "[node]\nnam = \"n\"",
            "unknown key `node.nam`\n  --> node.toml:2\n  help: did you mean `name`?",
        ),
        ("[nodes]\n", "unknown key `nodes`\n  --> node.toml:1"),
        (
            "[node]\nname = \"node-1\"\nidentity = \"ca\"\nshare = 0",
            "invalid value `0` for `node.share`: must be a fraction from 0.001 to 1\n  --> node.toml:4",
        ),
        (
            "[node]\nname = \"node-1\"\nidentity = \"ca\"\nspeed = -1.0",
            "invalid value `-1` for `node.speed`: must be instructions per second",
        ),
        (
            "[node]\nname = \"node-1\"\nlisten = \"here\"",
            "for `node.listen`: ",
        ),
        (
            "[node]\nname = \"node-1\"\nidentity = \"empty\"",
            "empty/node-1.pem: there is none of node-1: its folder has no certificate; `cert issue` makes one",
        ),
        (
            "[node]\nname = \"node-2\"\nidentity = \"ca\"",
            "ca/node-2.pem: there is none of node-2: its folder has certificates of laptop, node-1",
        ),
    ] {
        let folder_of = |name: &str| folder.path().join(name);
        std::fs::write(folder_of("node.toml"), text).unwrap();
        check(&folder, &["node", "--conf", "node.toml"], 4, message);
    }
    check(
        &folder,
        &["node", "--conf", "absent.toml"],
        4,
        "absent.toml: cannot be read: No such file or directory",
    );
    let named = |name: &str| folder_of_node(name);
    check(
        &named("n_-"),
        &["node"],
        2,
        "environment SLURMD_NODENAME: invalid name \"n--\"",
    );
}

/// The same folder in a step of Slurm on the host `name`.
fn folder_of_node(name: &str) -> Folder {
    folder().with_variable("SLURMD_NODENAME", name)
}

#[test]
fn a_node_needs_no_file_and_no_name() {
    let folder = folder_of_node("Node_1")
        // Of experiments, which are read by others.
        .with_variable("MIGBSP__SCHEDULER__INTERVAL", "3")
        .with_variable("MIGBSP__NODE__SPEED", "1e9");
    let node = ["node", "--identity", "ca", "--listen", "127.0.0.1:0"];
    let mut child = folder
        .command(&node)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stderr = child.stderr.take().unwrap();
    BufReader::new(stderr).read_line(&mut line).unwrap();
    // A resource manager sends it before the time of a job is over.
    signal(child.id(), "USR1");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(child.try_wait().unwrap().is_none(), "{line}");
    signal(child.id(), "TERM");
    assert!(child.wait().unwrap().success(), "{line}");
    let words = ["waits for clients", "node=\"node-1\"", "address=127.0.0.1:"];
    assert!(words.iter().all(|word| line.contains(word)), "{line}");
}

#[test]
fn commands_pass_over_the_variables_of_nodes() {
    let folder = folder().with_variable("MIGBSP__NODE__IDENTITY", "ca");
    let up = ["up", "--local", "1", "--", "run", "heat.toml"];
    let ended = folder.run(&up);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn one_task_of_a_step_is_the_client_of_a_job() {
    let task = |number: &str| {
        folder()
            .with_variable("SLURM_JOB_NODELIST", "n[1-2]")
            .with_variable("SLURM_PROCID", number)
    };
    for command in [
        &["status"][..],
        &["run", "heat.toml"],
        &["slurm", "heat.toml"],
    ] {
        check(
            &task("2"),
            command,
            2,
            "this is task 2 of a step of Slurm, and task 0 is the client",
        );
    }
    check(
        &task("0"),
        &["status", "--identity", "empty"],
        4,
        "empty: no certificate of a client",
    );
    check(
        &folder(),
        &["slurm", "heat.toml"],
        2,
        "this is no job of Slurm",
    );
    check(&folder(), &["pbs", "heat.toml"], 2, "this is no job of PBS");
    let elsewhere = ["slurm", "heat.toml", "--cluster", "hosts"];
    check(
        &task("0"),
        &elsewhere,
        2,
        "are for nodes that are there already",
    );
    let unlaunched = ["up", "--node-port", "7", "--", "status"];
    check(
        &folder(),
        &unlaunched,
        2,
        "are for the nodes of --hosts FILE",
    );
}

#[test]
fn an_address_that_is_taken_is_named() {
    let cluster = Cluster::start(&[1]);
    let taken = &cluster.status("hosts")[0]["address"];
    let text =
        format!("[node]\nname = \"node-1\"\nidentity = \"ca\"\nlisten = {taken}\nspeed = 1e9\n");
    cluster.write("node.toml", &text);
    let address = taken.as_str().unwrap();
    let message =
        format!("binding {address}: Address already in use (os error 98): choose another");
    check(
        &cluster.folder,
        &["node", "--conf", "node.toml"],
        5,
        &message,
    );
}

#[test]
fn a_cluster_that_is_not_there_is_named() {
    let folder = folder();
    let folder = folder.with("bad", "node-1\nnode-2 slots=none\n");
    for command in [&["run", "heat.toml"][..], &["status"]] {
        for (options, code, message) in [
            (
                &[][..],
                2,
                "--cluster FILE is missing, and this is no job of Slurm, PBS or OAR",
            ),
            (
                &["--cluster", "absent"],
                4,
                "absent: cannot be read: No such file or directory",
            ),
            (&["--cluster", "bad"], 4, "bad:2: slots"),
            (
                &["--cluster", "hosts", "--identity", "empty"],
                4,
                "empty: no certificate of a client; `migbsp cert issue --role client --name NAME` makes one",
            ),
            (
                &["--cluster", "hosts", "--identity", "ca", "--as", "node-1"],
                4,
                "ca: node-1 is a node, must be a client",
            ),
        ] {
            check(&folder, &[command, options].concat(), code, message);
        }
    }
    let options = ["--cluster", "hosts", "--identity", "ca"];
    let run = [&["run", "heat.toml"][..], &options].concat();
    let ideal = [&run[..], &["--set", "barrier.shape=ideal"]].concat();
    check(
        &folder,
        &ideal,
        4,
        "invalid value `\"ideal\"` for `barrier.shape`: needs a simulated platform",
    );
    let factor = [&run[..], &["--set", "scheduler.transfer_factor=2"]].concat();
    check(
        &folder,
        &factor,
        4,
        "invalid value `2` for `scheduler.transfer_factor`: needs a simulated platform",
    );
    let silent = "set-manager node-1 at 127.0.0.1:9: its host says that nothing has this port";
    check(&folder, &run, 5, silent);
    let status = folder.run(&[&["status"][..], &options].concat());
    assert_eq!(status.code, Some(5));
    assert!(status.stdout.contains(silent), "{status:?}");
    let words = "error: 1 of 1 nodes do not answer: see above\n";
    assert!(status.stderr.ends_with(words), "{status:?}");
}

#[test]
fn a_certificate_that_is_not_for_the_place_of_its_node_is_named() {
    let set = || "set=s0".to_owned();
    let cluster = Cluster::of(&[("node", set()), ("set-manager", set())]);
    let ended = cluster.run("hosts");
    assert_eq!(ended.code, Some(5));
    assert!(ended.stderr.contains("node-1"), "{ended:?}");
    assert!(ended.stderr.contains("set-manager"), "{ended:?}");
}

#[test]
fn a_mistake_in_what_is_to_be_up_is_named() {
    let folder = folder();
    for (arguments, code, message) in [
        (&["--local", "0"][..], 2, "0 is not in 1..=256"),
        (
            &["--local", "2", "--sets", "3"],
            2,
            "--sets 3: more than the 2 nodes of --local",
        ),
        (
            &["--local", "2", "--slow", "3:0.5"],
            2,
            "--slow 3:0.5: there are only 2 nodes",
        ),
        (
            &[
                "--local", "2", "--slow", "2:0.4", "--slow", "1:0.4", "--slow", "2:0.5",
            ],
            2,
            "--slow 2:0.5: node 2 has a share by another --slow; must be one for each node",
        ),
        (
            &["--slow", "1:0"],
            2,
            "must have a fraction from 0.001 to 1, such as 4:0.4",
        ),
        (&["--slow", "1"], 2, "must be NODE:FRACTION, such as 4:0.4"),
        (&["--local", "-1"], 2, "-1 is not in 1..=256"),
        (&["--", "fly"], 2, "unknown command `fly` after `up --`"),
        (
            &["--", "run", "x.toml", "-n", "-1"],
            2,
            "invalid value '-1' for '--np <N>': -1 is not in 0..=4294967295",
        ),
        (
            &["--local", "1", "--", "run", "absent.toml"],
            4,
            "absent.toml: cannot be read: No such file or directory",
        ),
    ] {
        check(&folder, &[&["up"], arguments].concat(), code, message);
    }
}

#[cfg(unix)]
#[test]
fn why_a_certificate_does_not_count_is_said() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    let status = ["status", "--cluster", "hosts", "--identity", "ca"];
    let key = folder.path().join("ca/laptop.key");
    set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let exposed = "ca/laptop.key: other users can read this key (mode 644): chmod 600 it";
    check(&folder, &status, 4, exposed);
    set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    folder.stdout(&["cert", "revoke", "--dir", "ca", "ca/laptop.pem"]);
    check(
        &folder,
        &status,
        4,
        "ca/authority.crl: the certificate of laptop is revoked",
    );
}

/// The LU decomposition of the matrix in a file.
const LU: &str = "[application]\nworkload = \"lu-kernel\"\nprocesses = 4\n[application.lu-kernel]\nmatrix = \"m.csv\"\n";
const MATRIX: &str = "2,1,0,1\n1,3,1,0\n0,1,4,1\n1,0,1,5\n";

#[test]
fn a_file_that_one_node_lacks_ends_the_run_before_it_begins() {
    let folder = Folder::new()
        .with("lu.toml", LU)
        .with("data/node-1/m.csv", MATRIX)
        .with("data/node-2/other.csv", MATRIX);
    let run = |folder: &Folder, code, message: &str| {
        let up = ["up", "--local", "2", "--data", "data", "--"];
        let run = ["run", "lu.toml", "--out", "runs"];
        check(folder, &[&up[..], &run].concat(), code, message);
        // Nothing has been executed, so nothing is recorded.
        let record = folder.path().join("runs/iii/events.jsonl");
        let events = std::fs::read_to_string(record).unwrap_or_default();
        assert!(!events.contains("\"superstep\""), "{events}");
    };
    let path = folder.path().join("data/node-2/m.csv");
    let path = path.canonicalize().unwrap_or(path);
    let lacking = format!(
        "node-2: `application.lu-kernel.matrix`: {} cannot be read: No such file or directory",
        path.display()
    );
    run(&folder, 4, &lacking);
    let folder = folder.with("data/node-2/m.csv", "1,2\n3\n");
    run(&folder, 4, "node-2: `application.lu-kernel.matrix`: ");
    let none = ["up", "--data", "none", "--", "run", "lu.toml"];
    check(&folder, &none, 2, "--data: none: No such file or directory");
}

#[test]
fn files_of_nodes_or_beside_the_experiment_are_read_on_the_nodes() {
    let folder = Folder::new()
        .with("lu.toml", LU)
        .with("data/node-1/m.csv", MATRIX)
        .with("data/m.csv", MATRIX)
        .with("shared/lu.toml", LU)
        .with("shared/m.csv", MATRIX);
    let run = |arguments: &[&str]| {
        let json = folder.stdout(&[arguments, &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let said = json["run"]["verified"].as_str().unwrap().to_owned();
        (json["run"]["outputs_sha256"].clone(), said)
    };
    let up = ["up", "--local", "2"];
    let shared = run(&[&up[..], &["--", "run", "shared/lu.toml"]].concat());
    assert!(shared.1.starts_with("LU of order 4: "), "{shared:?}");
    // The client has no matrix, and cannot check the factors.
    let own = run(&[&up[..], &["--data", "data", "--", "run", "lu.toml"]].concat());
    assert_eq!(own.1, "not checked, because m.csv is not here");
    assert_eq!(own.0, shared.0);
    let typed = [
        "--",
        "run",
        "lu.toml",
        "--set",
        "application.lu-kernel.matrix=shared/m.csv",
    ];
    assert_eq!(run(&[&up[..], &typed].concat()), shared);
}
