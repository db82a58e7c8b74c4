//! Which crate may use which, and which crates own an outside dependency.

use std::collections::BTreeMap;

use toml::Table;

use crate::{members, root};

/// Folder and floor. A crate depends only on lower floors.
const FLOORS: [(&str, u32); 16] = [
    ("bsp", 0),
    ("settings", 0),
    ("migbsp", 1),
    ("simulator", 1),
    ("relay", 1),
    ("workloads", 1),
    ("protocol", 2),
    ("agents", 3),
    ("experiments", 4),
    ("analysis", 5),
    ("cli", 6),
    ("cli/migbsp", 8),
    ("integration-tests", 9),
    ("examples/life", 9),
    ("examples/mandelbrot", 9),
    ("examples/policy", 9),
];

/// Outside dependencies that may be used in one folder only, and where.
const OWNERS: [(&str, &str); 26] = [
    ("actix", "agents"),
    ("actix-rt", "agents"),
    ("integer-encoding", "agents"),
    ("perf-event2", "agents"),
    ("sysinfo", "agents"),
    ("brotli", "analysis"),
    ("quinn", "protocol"),
    ("rcgen", "protocol"),
    ("rustls", "protocol"),
    ("x509-parser", "protocol"),
    ("clap", "cli"),
    ("clap_complete", "cli"),
    ("clap_complete_nushell", "cli"),
    ("clap_mangen", "cli"),
    ("config", "settings"),
    ("etcetera", "cli"),
    ("hyper", "cli"),
    ("hyper-util", "cli"),
    ("indicatif", "cli"),
    ("maud", "analysis"),
    ("parquet", "analysis"),
    ("plotters", "analysis"),
    ("ratatui", "cli"),
    ("statrs", "analysis"),
    ("terminal_size", "cli"),
    ("tracing-subscriber", "cli"),
];

/// All that crates without input and output may use from outside.
const PURE: [(&str, &[&str]); 4] = [
    // Random numbers are for its test kit alone, behind a feature; the encoding is that of what workers of a farm share.
    (
        "bsp",
        &["bytes", "rand_chacha", "rmp-serde", "serde", "thiserror"],
    ),
    ("migbsp", &["libm", "rand_chacha", "serde", "thiserror"]),
    (
        "simulator",
        &[
            "roxmltree",
            "serde",
            "smallvec",
            "strsim",
            "thiserror",
            "toml",
            "winnow",
        ],
    ),
    (
        "workloads",
        &[
            "bytes",
            "crc32fast",
            "csv",
            "libm",
            "rand",
            "rand_chacha",
            "seq_io",
            "serde",
            "thiserror",
        ],
    ),
];

/// Dependencies of each folder: own ones and outside ones, without those for tests.
fn dependencies() -> BTreeMap<&'static str, Vec<String>> {
    let read = |folder: &'static str| {
        let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: Table = text.parse().unwrap();
        let table = manifest
            .get("dependencies")
            .and_then(|value| value.as_table().cloned());
        (folder, table.unwrap_or_default().keys().cloned().collect())
    };
    FLOORS.into_iter().map(|(folder, _)| read(folder)).collect()
}

#[test]
fn crates_depend_on_lower_floors_only() {
    let floors = BTreeMap::from(FLOORS);
    for (folder, dependencies) in dependencies() {
        for dependency in &dependencies {
            if let Some(floor) = floors.get(dependency.as_str()) {
                let own = floors[folder];
                assert!(
                    floor < &own,
                    "{folder} (floor {own}) uses {dependency} (floor {floor})"
                );
            }
        }
    }
}

#[test]
fn workloads_depend_on_the_programming_interface_alone() {
    let dependencies = dependencies();
    let own = |name: &&String| FLOORS.iter().any(|(folder, _)| folder == name);
    let used: Vec<_> = dependencies["workloads"].iter().filter(own).collect();
    assert_eq!(used, ["bsp"]);
}

#[test]
fn outside_dependencies_have_one_owner() {
    let owners = BTreeMap::from(OWNERS);
    for (folder, dependencies) in dependencies() {
        for dependency in &dependencies {
            if let Some(owner) = owners.get(dependency.as_str()) {
                assert_eq!(
                    owner, &folder,
                    "{dependency} belongs to {owner}, but {folder} uses it"
                );
            }
        }
    }
}

#[test]
fn pure_crates_use_nothing_that_acts() {
    let dependencies = dependencies();
    for (folder, allowed) in PURE {
        for dependency in &dependencies[folder] {
            let is_own = FLOORS.iter().any(|(own, _)| own == dependency);
            assert!(
                is_own || allowed.contains(&dependency.as_str()),
                "{folder} uses {dependency}"
            );
        }
    }
}

#[test]
fn every_folder_is_in_the_table() {
    assert_eq!(members(), FLOORS.map(|(folder, _)| folder));
}
