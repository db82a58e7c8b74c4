//! Licenses and sources of the outside dependencies, as `deny.toml` says. `cargo deny check` reads the same file and
//! checks more; this needs no network and no other program.

use std::process::Command;

use serde::Deserialize;
use spdx::{Expression, ParseMode};

use crate::root;

/// What `deny.toml` says, as far as it is checked here.
#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<LicenseException>,
}

#[derive(Deserialize)]
struct LicenseException {
    allow: Vec<String>,
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// What `cargo metadata` prints.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// The registry; none of a crate of this repository.
    source: Option<String>,
    dependencies: Vec<Requirement>,
}

#[derive(Deserialize)]
struct Requirement {
    name: String,
    req: String,
    path: Option<String>,
}

fn deny() -> Deny {
    toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap()).unwrap()
}

/// All packages that are compiled for this machine, with all features.
fn packages() -> Vec<Package> {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--locked",
            "--offline",
        ])
        .args(["--filter-platform", host.unwrap()])
        .current_dir(root())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{errors}");
    let metadata: Metadata = serde_json::from_slice(&metadata.stdout).unwrap();
    assert!(100 < metadata.packages.len());
    metadata.packages
}

#[test]
fn licenses_are_those_that_are_allowed() {
    let licenses = deny().licenses;
    for package in packages().iter().filter(|package| package.source.is_some()) {
        let Package { name, version, .. } = package;
        let license = package.license.as_deref();
        let license = license.unwrap_or_else(|| panic!("{name} {version} has no license"));
        let expression = Expression::parse_mode(license, ParseMode::LAX).unwrap();
        let excepted = licenses
            .exceptions
            .iter()
            .find(|exception| exception.name == *name);
        let more = excepted.map_or(&[][..], |exception| &exception.allow);
        let is_allowed = |wanted: &spdx::LicenseReq| {
            let wanted = wanted.to_string();
            licenses.allow.contains(&wanted) || more.contains(&wanted)
        };
        assert!(
            expression.evaluate(is_allowed),
            "{name} {version}: {license}"
        );
    }
}

#[test]
fn packages_are_of_the_public_registry_and_none_is_banned() {
    let banned = deny().bans.deny;
    for package in packages() {
        let Package {
            name,
            version,
            source,
            ..
        } = &package;
        if let Some(source) = source {
            assert_eq!(
                source, "registry+https://github.com/rust-lang/crates.io-index",
                "{name}"
            );
        }
        if let Some(Banned { reason, .. }) = banned.iter().find(|banned| banned.name == *name) {
            panic!("{name} {version} is banned: {reason}");
        }
        if source.is_none() {
            let requirements = package.dependencies.iter();
            let any = requirements.filter(|needed| needed.req == "*" && needed.path.is_none());
            let any: Vec<&str> = any.map(|needed| &*needed.name).collect();
            assert!(any.is_empty(), "{name} accepts every version of {any:?}");
        }
    }
}
