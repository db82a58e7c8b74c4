//! `cert init`, `cert issue` and `cert show`; and the commands of docs/cluster.md, in their order.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use protocol::identity::files::{read_identity, write_identity};
use protocol::identity::{Authority, Identity, Role, Validity};
use serde_json::Value;

use crate::invocation::Folder;

/// A folder in which `ca` has the authority of `lab`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.stdout(&["cert", "init", "--cluster", "lab", "--dir", "ca"]);
    folder
}

/// What `cert issue` does in such a folder.
fn issue<'a>(role: &'a str, name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "cert", "issue", "--role", role, "--name", name, "--dir", "ca",
    ];
    [&fixed[..], more].concat()
}

fn read(folder: &Folder, of: &str, name: &str) -> Identity {
    read_identity(&folder.path().join(of), &name.parse().unwrap()).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_authority_issues_to_every_role() {
    let folder = folder();
    for (role, name, expect) in [
        ("node", "n1", Role::Node),
        ("set-manager", "n2.lab", Role::SetManager),
        ("client", "laptop", Role::Client),
    ] {
        let text = folder.stdout(&issue(role, name, &["--out", "certs"]));
        assert!(
            text.starts_with(&format!("The {role} {name} of lab, until 2")),
            "{text}"
        );
        assert!(text.contains(&format!("  certs/{name}.key  ")), "{text}");
        let subject = read(&folder, "certs", name).certificate().subject.clone();
        assert_eq!(subject.cluster.as_str(), "lab");
        assert_eq!((subject.role, subject.name.as_str()), (expect, name));
    }
    folder.stdout(&issue("node", "n1", &[]));
    read(&folder, "ca", "n1");
}

#[test]
fn the_default_folder_is_in_the_users_configuration() {
    let at = |variable: &str, value: &str| {
        let folder = Folder::new();
        let value = folder.path().join(value);
        folder.with_variable(variable, value.to_str().unwrap())
    };
    for (folder, expect) in [
        (at("XDG_CONFIG_HOME", "x"), "x/migbsp"),
        (at("HOME", "h"), "h/.config/migbsp"),
    ] {
        folder.stdout(&["cert", "init", "--cluster", "lab"]);
        let names = ["authority.key", "authority.pem"];
        for name in names {
            assert!(folder.path().join(expect).join(name).is_file(), "{name}");
        }
        let report = json(&folder.stdout(&["cert", "show", "--format", "json"]));
        assert_eq!(report["certificates"].as_array().unwrap().len(), 1);
    }
}

#[cfg(unix)]
#[test]
fn keys_and_their_folders_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    folder.stdout(&issue("node", "n1", &["--out", "certs"]));
    let path = |name: &str| folder.path().join(name);
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("ca"), mode("certs")), (0o700, 0o700));
    assert_eq!(
        (mode("ca/authority.key"), mode("certs/n1.key")),
        (0o600, 0o600)
    );
    fs::set_permissions(path("ca/authority.key"), fs::Permissions::from_mode(0o644)).unwrap();
    folder.fails(
        &issue("node", "n2", &[]),
        4,
        "ca/authority.key: others may read this key (mode 644): chmod 600 it",
    );
}

#[test]
fn nothing_is_overwritten() {
    let folder = folder();
    folder.stdout(&issue("node", "n1", &[]));
    let contents = || {
        let names = ["authority.pem", "authority.key", "n1.pem", "n1.key"];
        names.map(|name| fs::read(folder.path().join("ca").join(name)).unwrap())
    };
    let before = contents();
    folder.fails(
        &["cert", "init", "--cluster", "lab", "--dir", "ca"],
        1,
        "ca/authority.pem exists: remove it, or write elsewhere",
    );
    folder.fails(
        &issue("client", "n1", &[]),
        1,
        "ca/n1.pem exists: remove it, or write elsewhere",
    );
    folder.fails(
        &issue("node", "authority", &[]),
        2,
        "--name authority: these are the files of the authority; expected another name",
    );
    assert_eq!(contents(), before);
}

#[test]
fn a_mistake_on_the_command_line_is_named() {
    let folder = folder();
    for (arguments, expect) in [
        (issue("nod", "n1", &[]), "a similar value exists: 'node'"),
        (
            issue("node", "N_1", &[]),
            "\"N_1\" is no name: expected lower-case letters",
        ),
        (
            issue("node", "n1", &["--days", "0"]),
            "0 is not in 1..=36500",
        ),
        (
            vec!["cert", "init", "--cluster", "a/b", "--dir", "b"],
            "\"a/b\" is no name",
        ),
        (vec!["cert", "init"], "--cluster <NAME>"),
        (
            issue("node", "n1", &["--days", "1000"]),
            "--days 1000: the authority of lab ends at 2",
        ),
    ] {
        let ended = folder.run(&arguments);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{arguments:?}");
        assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    }
    assert!(!folder.path().join("ca/n1.pem").exists());
}

#[test]
fn an_authority_that_is_missing_can_be_made() {
    folder().fails(
        &[
            "cert", "issue", "--role", "node", "--name", "n1", "--dir", "absent",
        ],
        4,
        "reading absent/authority.pem: No such file or directory (os error 2); \
         `migbsp cert init --cluster NAME --dir absent` makes an authority",
    );
}

#[test]
fn a_certificate_ends_with_its_authority() {
    let folder = Folder::new();
    let init = [
        "cert",
        "init",
        "--cluster",
        "lab",
        "--dir",
        "ca",
        "--days",
        "2",
    ];
    folder.stdout(&init);
    folder.stdout(&issue("node", "n1", &[]));
    folder.stdout(&issue("node", "n2", &["--days", "1"]));
    let shown = json(&folder.stdout(&["cert", "show", "ca", "--format", "json"]));
    let left = |index: usize| shown["certificates"][index]["days_left"].as_i64().unwrap();
    // The authority; n1 and the authority; n2 and the authority.
    assert_eq!([0, 1, 2, 3, 4].map(left), [1, 1, 1, 0, 1]);
    assert_eq!(
        shown["certificates"][0]["not_after"],
        shown["certificates"][1]["not_after"]
    );
}

/// Writes certificates that were valid, are valid and will be, with the authority that they end with.
fn write_three(folder: &Path) {
    let day = Duration::from_secs(86_400);
    let now = SystemTime::now();
    let long = Validity::between(now - 100 * day, now + 100 * day).unwrap();
    let authority = Authority::generate("lab".parse().unwrap(), long).unwrap();
    fs::create_dir(folder).unwrap();
    for (name, from, until) in [
        ("old", now - 9 * day, now - 3 * day + day / 2),
        ("young", now + day, now + 9 * day + day / 2),
        ("now", now - day, now + 5 * day + day / 2),
    ] {
        let validity = Validity::between(from, until).unwrap();
        let identity = authority.issue(Role::Node, &name.parse().unwrap(), validity);
        write_identity(folder, &identity.unwrap()).unwrap();
    }
}

#[test]
fn certificates_say_whether_they_are_valid() {
    let folder = Folder::new();
    write_three(&folder.path().join("certs"));
    let text = folder.stdout(&["cert", "show", "certs"]);
    let row = |of: &str| {
        let row = text
            .lines()
            .find(|line| line.contains(of) && line.contains(" node "));
        row.unwrap()
            .split_whitespace()
            .skip(6)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("certs/old.pem"), "-3 expired");
    assert_eq!(row("certs/young.pem"), "9 not yet valid");
    assert_eq!(row("certs/now.pem"), "5 valid");
    let authorities = text
        .lines()
        .filter(|line| line.contains(" authority "))
        .count();
    assert_eq!(
        authorities, 2,
        "once in the table, once with its fingerprint: {text}"
    );
    let files = ["certs/old.pem", "certs/now.pem"];
    let shown = [&["cert", "show", "--format", "json"][..], &files].concat();
    let shown = json(&folder.stdout(&shown));
    assert_eq!(shown["schema"], "migbsp.cert/1");
    let rows = shown["certificates"].as_array().unwrap();
    let fields = |field: &str| {
        rows.iter()
            .map(|row| row[field].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        fields("name"),
        ["old".into(), Value::Null, "now".into(), Value::Null]
    );
    assert_eq!(fields("role"), ["node", "authority", "node", "authority"]);
    assert_eq!(fields("state"), ["expired", "valid", "valid", "valid"]);
    assert_eq!(rows[1]["sha256"], rows[3]["sha256"]);
    assert_eq!(rows[0]["sha256"].as_str().unwrap().len(), 64);
    let csv = folder.stdout(&["cert", "show", "certs", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 7);
}

#[test]
fn what_is_no_certificate_is_refused_by_name() {
    let folder = folder().with("ca/none.pem", "nothing").with("empty/x", "");
    let show = |path: &'static str| ["cert", "show", path];
    folder.fails(&show("ca"), 4, "ca/none.pem: 0 certificates, expected 1");
    folder.fails(
        &show("ca/authority.key"),
        4,
        "ca/authority.key: 0 certificates, expected 1",
    );
    folder.fails(
        &show("empty"),
        4,
        "empty: no certificate; expected files that end in .pem",
    );
    folder.fails(
        &show("absent.pem"),
        4,
        "reading absent.pem: No such file or directory (os error 2)",
    );
}

#[test]
fn the_commands_of_the_guide_run_in_their_order() {
    let folder = Folder::new();
    let home = folder.path().join("home").display().to_string();
    let folder = folder.with_variable("HOME", &home);
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cluster.md");
    let guide = fs::read_to_string(guide).unwrap();
    let mut run = 0;
    for line in guide
        .lines()
        .filter_map(|line| line.strip_prefix("migbsp cert "))
    {
        let command = line.split(" # ").next().unwrap();
        let arguments: Vec<&str> = command.split_whitespace().collect();
        folder.stdout(&[&["cert"], &arguments[..]].concat());
        run += 1;
    }
    assert_eq!(run, GUIDE, "commands of docs/cluster.md");
}

/// How many commands the guide has.
const GUIDE: usize = 6;
