//! `cert init`, `cert issue`, `cert revoke` and `cert show`; and those of the guides, in their order.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use protocol::identity::files::{
    read_authority, read_identity, read_revocations, write_authority, write_identity,
};
use protocol::identity::{Authority, Identity, Role, Validity};
use serde_json::Value;

use crate::invocation::{Folder, root};

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
        "ca/authority.key: other users can read this key (mode 644): chmod 600 it",
    );
}

#[test]
fn existing_certificate_files_are_not_overwritten() {
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
        "--name authority: reserved for the files of the authority; choose another name",
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
            "invalid name \"N_1\": must be lower-case letters",
        ),
        (
            issue("node", "n1", &["--days", "0"]),
            "0 is not in 1..=36500",
        ),
        (
            vec!["cert", "init", "--cluster", "a/b", "--dir", "b"],
            "invalid name \"a/b\"",
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
    let long = Validity::new(now - 100 * day, now + 100 * day).unwrap();
    let authority = Authority::generate("lab".parse().unwrap(), long).unwrap();
    fs::create_dir(folder).unwrap();
    for (name, from, until) in [
        ("old", now - 9 * day, now - 3 * day + day / 2),
        ("young", now + day, now + 9 * day + day / 2),
        ("now", now - day, now + 5 * day + day / 2),
    ] {
        let validity = Validity::new(from, until).unwrap();
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
    let csv = folder.csv(&["cert", "show", "certs"]);
    assert_eq!(csv.lines().count(), 7);
}

#[test]
fn a_monitor_learns_by_the_exit_code_that_certificates_end() {
    let folder = Folder::new();
    write_three(&folder.path().join("certs"));
    let within =
        |time: &'static str, of: &'static str| ["cert", "show", "--expires-within", time, of];
    let check = |arguments: &[&str], code: i32, message: &str| {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stdout.contains("SHA-256"), "{ended:?}");
        assert!(ended.stderr.contains(message), "{ended:?}");
    };
    check(&within("5d", "certs/now.pem"), 0, "");
    check(
        &within("6d", "certs/now.pem"),
        3,
        "error: --expires-within: now of lab ends at 2",
    );
    check(
        &within("1s", "certs/old.pem"),
        3,
        "error: --expires-within: old of lab ends at 2",
    );
    check(&within("1s", "certs"), 3, "old of lab ends at 2");
    check(
        &within("101d", "certs/now.pem"),
        3,
        "authority of lab ends at 2",
    );
    let ended = folder.run(&within("7", "certs"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("`7` has no unit"), "{ended:?}");
}

#[test]
fn invalid_certificate_files_are_refused_by_name() {
    let foreign = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let folder = folder()
        .with("ca/none.pem", "nothing")
        .with("ca/other.pem", foreign)
        .with("other/other.pem", foreign)
        .with("empty/x", "");
    let show = |path: &'static str| ["cert", "show", path];
    // A folder may have certificates of other programs.
    let shown = folder.run(&show("ca"));
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("authority"), "{shown:?}");
    for file in [
        "ca/none.pem: 0 certificates, expected 1",
        "ca/other.pem: not an X.509 certificate",
    ] {
        let named = format!(" WARN not shown: {file}");
        assert!(shown.stderr.contains(&named), "{shown:?}");
    }
    let other = folder.run(&show("other"));
    assert!(
        other
            .stderr
            .contains("error: other: no certificate; the folder"),
        "{other:?}"
    );
    folder.fails(
        &show("ca/none.pem"),
        4,
        "ca/none.pem: 0 certificates, expected 1",
    );
    folder.fails(
        &show("ca/authority.key"),
        4,
        "ca/authority.key: 0 certificates, expected 1",
    );
    folder.fails(
        &show("empty"),
        4,
        "empty: no certificate; the folder must have files that end in .pem",
    );
    folder.fails(
        &show("absent.pem"),
        4,
        "reading absent.pem: No such file or directory (os error 2)",
    );
}

/// What `cert revoke` does in a folder in which `ca` has an authority.
fn revoke<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["cert", "revoke", "--dir", "ca"][..], more].concat()
}

/// The numbers on the list in `ca`, which its authority has signed.
fn revoked(folder: &Folder) -> Vec<String> {
    let ca = folder.path().join("ca");
    let list = read_revocations(&ca).unwrap().unwrap();
    assert!(read_authority(&ca).unwrap().has_signed(&list));
    list.serials().iter().map(ToString::to_string).collect()
}

#[test]
fn the_list_of_the_revoked_grows() {
    let folder = folder();
    let names = ["n1", "n2", "n3", "n4"];
    for name in names {
        folder.stdout(&issue("node", name, &["--out", "certs"]));
    }
    let [one, two, three, _] = names.map(|name| {
        let identity = read(&folder, "certs", name);
        identity.certificate().serial.to_string()
    });
    let check = |arguments: &[&str], shown: &[&str], expect: &[&String]| {
        let text = folder.stdout(&revoke(arguments));
        for line in shown {
            assert!(text.contains(line), "{line:?} in {text}");
        }
        let count = format!(
            "ca/authority.crl now names {} in all. Copy it",
            expect.len()
        );
        assert!(text.contains(&count), "{text}");
        let effect = "each reads it within 2 s, and ends connections to them.";
        assert!(text.contains(effect), "{text}");
        let mut expect: Vec<String> = expect.iter().copied().cloned().collect();
        expect.sort();
        assert_eq!(revoked(&folder), expect);
    };
    let shown = format!("Revoked in lab:\n\n  node n1  {one}\n\n");
    check(&["certs/n1.pem"], &[&shown], &[&one]);
    let shown = [
        format!("  node n1      {one}  (was already)\n"),
        format!("  node n2      {two}\n"),
        format!("  certificate  {three}\n"),
    ];
    check(
        &[
            "certs/n1.pem",
            "certs/n2.pem",
            "--serial",
            &three.to_uppercase(),
        ],
        &shown.each_ref().map(String::as_str),
        &[&one, &two, &three],
    );
    fs::copy(
        folder.path().join("ca/authority.crl"),
        folder.path().join("certs/authority.crl"),
    )
    .unwrap();
    read(&folder, "certs", "n4");
    let own = read_identity(&folder.path().join("certs"), &"n1".parse().unwrap());
    let error = own.unwrap_err().to_string();
    assert!(
        error.contains("the certificate of n1 is revoked"),
        "{error}"
    );
}

#[test]
fn revoked_certificates_are_marked_in_the_list() {
    let folder = folder();
    for name in ["n1", "n2"] {
        folder.stdout(&issue("node", name, &[]));
    }
    folder.stdout(&revoke(&["ca/n2.pem"]));
    let files = ["ca/n1.pem", "ca/n2.pem"];
    let shown = [&["cert", "show", "--format", "json"][..], &files].concat();
    let shown = json(&folder.stdout(&shown));
    let rows = shown["certificates"].as_array().unwrap();
    let states: Vec<_> = rows.iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, ["valid", "valid", "revoked", "valid"]);
    assert_eq!(rows[2]["serial"], *revoked(&folder)[0]);
    fs::write(folder.path().join("ca/authority.crl"), "none").unwrap();
    let expect = "ca/authority.crl: the list of revocations: expected one list";
    for arguments in [vec!["cert", "show", "ca"], revoke(&["ca/n1.pem"])] {
        let ended = folder.run(&arguments);
        assert_eq!(ended.code, Some(4));
        assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    }
}

#[test]
fn only_what_the_authority_issued_is_revoked() {
    let folder = folder();
    folder.stdout(&issue("node", "n1", &[]));
    for (dir, cluster) in [("far", "elsewhere"), ("twin", "lab")] {
        folder.stdout(&["cert", "init", "--cluster", cluster, "--dir", dir]);
        folder.stdout(&[
            "cert", "issue", "--role", "node", "--name", "n1", "--dir", dir,
        ]);
    }
    let of_another = |file: &'static str| revoke(&["ca/n1.pem", file]);
    folder.fails(
        &of_another("far/n1.pem"),
        4,
        "far/n1.pem: issued for the cluster `elsewhere`: must be for `lab`, the cluster of the authority in ca",
    );
    folder.fails(
        &of_another("twin/n1.pem"),
        4,
        "twin/n1.pem: issued by another authority of `lab`: must be issued by the one in ca",
    );
    folder.fails(
        &of_another("ca/authority.pem"),
        4,
        "ca/authority.pem: the certificate of an authority: must be one of a node, a Set Manager or a client",
    );
    folder.fails(
        &of_another("absent.pem"),
        4,
        "reading absent.pem: No such file or directory (os error 2)",
    );
    folder.fails(
        &["cert", "revoke", "--dir", "absent", "ca/n1.pem"],
        4,
        "reading absent/authority.pem: No such file or directory (os error 2); \
         `migbsp cert init --cluster NAME --dir absent` makes an authority",
    );
    for (arguments, expect) in [
        (vec![], "<FILE>..."),
        (vec!["--serial", "0x1"], "invalid serial number \"0x1\""),
    ] {
        let ended = folder.run(&revoke(&arguments));
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{arguments:?}");
        assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    }
    let list = folder.path().join("ca/authority.crl");
    assert!(!list.exists());
    folder.stdout(&["cert", "revoke", "--dir", "twin", "twin/n1.pem"]);
    fs::copy(folder.path().join("twin/authority.crl"), list).unwrap();
    folder.fails(
        &revoke(&["ca/n1.pem"]),
        4,
        "ca/authority.crl: not signed by the authority beside it: put its own list there, or remove this one",
    );
}

#[test]
fn an_authority_that_has_ended_revokes_nothing() {
    let folder = Folder::new();
    let (ca, day) = (folder.path().join("ca"), Duration::from_secs(86_400));
    let past = Validity::new(SystemTime::now() - 9 * day, SystemTime::now() - day).unwrap();
    let authority = Authority::generate("lab".parse().unwrap(), past).unwrap();
    fs::create_dir(&ca).unwrap();
    write_authority(&ca, &authority).unwrap();
    let ended = folder.run(&revoke(&["--serial", "b5"]));
    assert_eq!(ended.code, Some(4));
    let expect = "the authority of lab ended at 2";
    assert!(ended.stderr.contains(expect), "{}", ended.stderr);
    assert!(!ca.join("authority.crl").exists());
}

#[test]
fn the_commands_of_the_guides_run_in_their_order() {
    for (guide, count) in GUIDES {
        let folder = Folder::new();
        let home = folder.path().join("home").display().to_string();
        let folder = folder.with_variable("HOME", &home);
        let text = fs::read_to_string(root().join(guide)).unwrap();
        let mut run = 0;
        for line in text
            .lines()
            .filter_map(|line| line.strip_prefix("migbsp cert "))
        {
            let command = line.split(" # ").next().unwrap();
            let arguments: Vec<&str> = command.split_whitespace().collect();
            folder.stdout(&[&["cert"], &arguments[..]].concat());
            run += 1;
        }
        assert_eq!(run, count, "commands of {guide}");
    }
}

/// How many commands the guides have.
const GUIDES: [(&str, usize); 2] = [("docs/guide/cluster.md", 6), ("docs/guide/service.md", 11)];
