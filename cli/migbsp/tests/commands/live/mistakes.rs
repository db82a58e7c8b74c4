//! Mistakes with certificates, names and addresses: each is a sentence, once, that says what is wrong where, and what would do.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, SystemTime};

use protocol::identity::files::{write_authority, write_identity};
use protocol::identity::{Authority, Role, Validity};

use crate::invocation::Folder;
use crate::live::cluster::{Cluster, HEAT};
use crate::live::inputs::check;

const DAY: Duration = Duration::from_secs(86_400);

/// Valid from and until so many days from now.
fn validity(from: i32, until: i32) -> Validity {
    let at = |days: i32| {
        let length = DAY * days.unsigned_abs();
        let now = SystemTime::now();
        if days < 0 { now - length } else { now + length }
    };
    Validity::new(at(from), at(until)).unwrap()
}

/// An authority of `cluster` in a folder, with certificates for these roles and names, of that validity in days.
fn authority(folder: &Path, cluster: &str, issued: &[(Role, &str, (i32, i32))]) {
    let authority = Authority::generate(cluster.parse().unwrap(), validity(-100, 100)).unwrap();
    fs::create_dir(folder).unwrap();
    write_authority(folder, &authority).unwrap();
    for (role, name, (from, until)) in issued {
        let identity = authority.issue(*role, &name.parse().unwrap(), validity(*from, *until));
        write_identity(folder, &identity.unwrap()).unwrap();
    }
}

/// A configuration of the node `name` with the certificates in `identity`.
fn node(name: &str, identity: &str) -> String {
    format!("[node]\nname = \"{name}\"\nidentity = \"{identity}\"\nlisten = \"127.0.0.1:0\"\n")
}

/// A mistake: the file that has it, the command line, and the exit code and the message of that.
type Mistake<'a> = (&'a str, String, &'a str, i32, &'a str);

#[track_caller]
fn all(folder: &Folder, mistakes: &[Mistake<'_>]) {
    for (file, text, arguments, code, message) in mistakes {
        fs::write(folder.path().join(file), text).unwrap();
        let arguments: Vec<&str> = arguments.split(' ').collect();
        check(folder, &arguments, *code, message);
    }
}

/// A folder with certificates in `ca` and, not valid, in `other`; and with files that do not belong together.
fn folder() -> Folder {
    let folder = Folder::new().with("empty/nothing", "");
    let usual = (-1, 30);
    authority(
        &folder.path().join("ca"),
        "lab",
        &[
            (Role::SetManager, "n1", usual),
            (Role::Node, "n2", usual),
            (Role::Client, "me", usual),
        ],
    );
    let others = [
        (Role::Node, "old", (-9, -2)),
        (Role::Node, "young", (2, 9)),
        (Role::Client, "was", (-9, -2)),
        (Role::Client, "will", (2, 9)),
    ];
    authority(&folder.path().join("other"), "lab", &others);
    let copy = |from: &str, to: &str| {
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path(to).parent().unwrap()).unwrap();
        fs::copy(path(from), path(to)).unwrap();
    };
    for (from, to) in [
        ("ca/n1.pem", "mixed/n1.pem"),
        ("ca/n2.key", "mixed/n1.key"),
        ("ca/n1.pem", "renamed/n3.pem"),
        ("ca/n1.key", "renamed/n3.key"),
        ("ca/n1.pem", "half/n1.pem"),
    ] {
        copy(from, to);
    }
    folder
}

#[test]
fn a_mistake_of_a_node_is_a_sentence() {
    let folder = folder();
    let start = "node --conf node.toml";
    let listening = |listen: &str| format!("[node]\nname = \"n1\"\nlisten = {listen}\n");
    let mistakes: &[Mistake<'_>] = &[
        (
            "node.toml",
            node("n9", "ca"),
            start,
            4,
            "ca/n9.pem: there is none of n9: its folder has certificates of me, n1, n2\n",
        ),
        (
            "node.toml",
            node("n1", "empty"),
            start,
            4,
            "its folder has no certificate; `cert issue` makes one\n",
        ),
        (
            "node.toml",
            node("n1", "half"),
            start,
            4,
            "reading half/n1.key: No such file",
        ),
        (
            "node.toml",
            node("n1", "mixed"),
            start,
            4,
            "mixed/n1.pem: the key beside it does not belong to the first certificate",
        ),
        (
            "node.toml",
            node("n3", "renamed"),
            start,
            4,
            "renamed/n3.pem: the certificate is for n1, and the file is named for n3\n",
        ),
        (
            "node.toml",
            node("me", "ca"),
            start,
            4,
            "ca: me is a client, must be a node, or a set-manager if it is the first host of its Set",
        ),
        (
            "node.toml",
            node("old", "other"),
            start,
            4,
            "other: the certificate of node old has expired: it ended 2",
        ),
        (
            "node.toml",
            node("old", "other"),
            start,
            4,
            ", and the clock of this host says 2",
        ),
        (
            "node.toml",
            node("old", "other"),
            start,
            4,
            "`migbsp cert issue --role node --name old` (`migbsp cert show` lists dates)\n",
        ),
        (
            "node.toml",
            node("young", "other"),
            start,
            4,
            "the certificate of node young is not valid yet: it begins 2",
        ),
        (
            "node.toml",
            listening("7447"),
            start,
            4,
            "invalid value `7447` for `node.listen`: must be an IP address and a port, such as `\"[::]:7447\"`",
        ),
        (
            "node.toml",
            listening("\"n1:7447\""),
            start,
            4,
            "invalid value `\"n1:7447\"` for `node.listen`: must be an IP address and a port",
        ),
        (
            "node.toml",
            listening("\":7447\""),
            start,
            4,
            "`\"10.0.0.7:7447\"` for one\n  --> node.toml:3",
        ),
        (
            "node.toml",
            node("N_1", "ca"),
            start,
            4,
            "invalid name \"N_1\": must be lower-case letters",
        ),
        (
            "node.toml",
            String::new(),
            "node --conf ca",
            4,
            "ca: cannot be read: Is a directory",
        ),
        (
            "node.toml",
            String::new(),
            "node --conf nod.toml",
            4,
            "help: did you mean `node.toml`?",
        ),
        (
            "node.toml",
            String::new(),
            "node --conf ca/n1.pem",
            4,
            "--> ca/n1.pem:1",
        ),
    ];
    all(&folder, mistakes);
}

#[test]
fn a_mistake_of_a_client_is_a_sentence() {
    let folder = folder();
    let status = "status --cluster hosts --identity ca";
    let host = || "n1 addr=127.0.0.1:9\n".to_owned();
    let mistakes: &[Mistake<'_>] = &[
        (
            "hosts",
            host(),
            "status --cluster hosts --identity ca --as you",
            4,
            "ca/you.pem: there is none of you: its folder has certificates of me, n1, n2\n",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity ca --as n1",
            4,
            "ca: n1 is a set-manager, must be a client; `migbsp cert issue --role client --name NAME` makes",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity empty",
            4,
            "empty: no certificate of a client; `migbsp cert issue --role client",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity none",
            4,
            "none: no certificate of a client; `migbsp cert issue --role client",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity other",
            2,
            "other: several certificates of a client; say which of was, will\n",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity other --as was",
            4,
            "other: the certificate of client was has expired: it ended 2",
        ),
        (
            "hosts",
            host(),
            "status --cluster hosts --identity other --as will",
            4,
            "the certificate of client will is not valid yet: it begins 2",
        ),
        (
            "hosts",
            "10.0.0.1\n".to_owned(),
            status,
            4,
            "hosts:1: 10.0.0.1 is an address; give the host a name: `node-1 addr=10.0.0.1`\n",
        ),
        (
            "hosts",
            "n1:7447\n".to_owned(),
            status,
            4,
            "a port as `n1 addr=n1:7447`\n",
        ),
        (
            "hosts",
            "n1 addr=a\nn2 addr=a\n".to_owned(),
            status,
            4,
            "hosts:2: the address a:7447 is that of line 1 already",
        ),
        (
            "hosts",
            "n1 addr=fd00::1\n".to_owned(),
            status,
            4,
            "must be an IPv6 address in brackets: `[fd00::1]`\n",
        ),
        (
            "hosts",
            "N_1\n".to_owned(),
            status,
            4,
            "a host is called what its certificate says\n",
        ),
        (
            "hosts",
            "\u{feff}N_1\n".to_owned(),
            status,
            4,
            "hosts:1: invalid name \"N_1\"",
        ),
        (
            "hosts",
            "# none\n".to_owned(),
            status,
            4,
            "hosts: no host; a line is `node-1 slots=4`, and `pool=yes` is for hosts that join\n",
        ),
        (
            "hosts",
            String::new(),
            "status --cluster host --identity ca",
            4,
            "help: did you mean `hosts`?",
        ),
    ];
    all(&folder, mistakes);
}

#[cfg(target_os = "linux")]
#[test]
fn a_user_without_a_home_is_told_what_names_the_folder() {
    use std::process::Command;

    let folder = Folder::new()
        .with("hosts", "n1\n")
        .with("node.toml", "[node]\nname = \"n1\"\n");
    let binary = folder.command(&[]).get_program().to_owned();
    for (arguments, remedy) in [
        ("status --cluster hosts", "name a folder with --identity"),
        ("node --conf node.toml", "name a folder with --identity"),
        ("cert init --cluster lab", "name a folder with --dir"),
        ("cert show", "name a file or a folder"),
    ] {
        // A user that no list of users has.
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "54321", "--clear-groups"])
            .arg(&binary);
        command
            .args(arguments.split(' '))
            .current_dir(folder.path());
        let ended = command
            .env_remove("HOME")
            .env_remove("XDG_CONFIG_HOME")
            .output();
        let said = ended.map(|ended| (ended.status.code(), ended.stderr));
        let Ok((Some(2), said)) = said else {
            eprintln!(
                "SKIPPED: it takes root, `setpriv`, and folders that others may enter: {said:?}"
            );
            return;
        };
        let said = String::from_utf8(said).unwrap();
        let expect = format!("error: this user has no home, and HOME is not set: {remedy}\n");
        assert_eq!(said, expect, "{arguments}");
    }
}

#[test]
fn a_mistake_between_hosts_is_a_sentence() {
    let set = || "set=s0".to_owned();
    let cluster = Cluster::of(&[("set-manager", set()), ("node", set())]);
    let folder = &cluster.folder;
    for (name, of) in [("twin", "lab"), ("home", "home")] {
        authority(
            &folder.path().join(name),
            of,
            &[(Role::Client, "laptop", (-1, 30))],
        );
    }
    let hosts = fs::read_to_string(folder.path().join("hosts")).unwrap();
    let [one, two] = hosts.lines().collect::<Vec<_>>().try_into().unwrap();
    let reversed = format!("{two}\n{one}\n");
    let other_name = |line: &str, from: &str, to: &str| line.replace(from, to);
    let swapped = format!(
        "{}\n{}\n",
        other_name(two, "node-2", "node-1"),
        other_name(one, "node-1", "node-2")
    );
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = free.local_addr().unwrap();
    drop(free);
    let (_, taken) = one.split_once("addr=").unwrap();
    let run = "run heat.toml --cluster h --identity ca";
    let mistakes: &[Mistake<'_>] = &[
        (
            "h",
            reversed,
            run,
            5,
            "node-2 has the certificate of a node, and the first host of a Set needs that of a set-manager: issue it with `cert issue --role set-manager --name node-2`, let another be first, or issue set-manager to all",
        ),
        (
            "h",
            swapped,
            run,
            5,
            "the certificate is that of node node-2, expected that of set-manager node-1: check the address and the name in the hostfile",
        ),
        (
            "h",
            hosts.clone(),
            "run heat.toml --cluster h --identity twin",
            5,
            "another authority has issued the certificate of set-manager node-1 than that of laptop, though both are called lab: issue both with one",
        ),
        (
            "h",
            hosts.clone(),
            "run heat.toml --cluster h --identity home",
            5,
            "set-manager node-1 has a certificate of cluster lab, and laptop has one of cluster home: issue both with one authority",
        ),
        (
            "h",
            format!("node-1 addr={closed}\n"),
            run,
            5,
            "its host says that nothing has this port: check whether it runs, and with this port",
        ),
        (
            "h",
            "node-1 addr=nowhere.invalid\n".to_owned(),
            run,
            5,
            "nowhere.invalid:7447: failed to lookup address information",
        ),
        (
            "taken.toml",
            format!("[node]\nname = \"node-2\"\nidentity = \"ca\"\nlisten = \"{taken}\"\n"),
            "node --conf taken.toml",
            5,
            "Address already in use",
        ),
    ];
    fs::write(folder.path().join("heat.toml"), HEAT).unwrap();
    all(folder, mistakes);
}

/// Where a name has an address of IPv6, too, at which nothing listens, the other one is called.
#[test]
fn all_addresses_of_a_name_are_called() {
    let cluster = Cluster::start(&[1]);
    let hosts = fs::read_to_string(cluster.folder.path().join("hosts")).unwrap();
    cluster.write(
        "named",
        &hosts.replace("addr=127.0.0.1:", "addr=localhost:"),
    );
    cluster.works("named");
}

/// The order of hosts is free where all may manage a Set.
#[test]
fn any_host_may_be_first_with_certificates_of_set_managers() {
    let set = || "set=s0".to_owned();
    let cluster = Cluster::of(&[("set-manager", set()), ("set-manager", set())]);
    let hosts = fs::read_to_string(cluster.folder.path().join("hosts")).unwrap();
    let reversed: Vec<&str> = hosts.lines().rev().collect();
    cluster.write("reversed", &(reversed.join("\n") + "\n"));
    cluster.works("hosts");
    cluster.works("reversed");
}
