//! Which crate may use which, and which crates own an outside dependency.

use std::collections::BTreeMap;

use toml::Table;

use crate::{members, root};

/// Folder and floor. A crate depends only on lower floors.
const FLOORS: [(&str, u32); 31] = [
    ("bsp", 0),
    ("experiments/settings", 1),
    ("model", 1),
    ("simulator", 1),
    ("external", 1),
    ("workloads", 1),
    ("protocol", 2),
    ("agents/record", 3),
    ("agents/core", 4),
    ("agents/checkpoint", 5),
    ("agents/simulated", 5),
    ("agents/machines", 6),
    ("agents/hosts", 7),
    ("experiments", 8),
    ("analysis", 9),
    ("cli/relay", 2),
    ("cli", 10),
    ("lab/rules", 2),
    ("lab/algorithms", 2),
    ("lab/chaos", 11),
    ("lab/rebalancing", 11),
    ("lab/reproduce", 12),
    ("cli/migbsp", 13),
    ("integration-tests", 14),
    ("integration-tests/fuzz", 14),
    ("examples/life", 14),
    ("examples/poisson", 14),
    ("examples/pagerank", 14),
    ("examples/mandelbrot", 14),
    ("examples/my-program", 14),
    ("examples/policy", 14),
];

/// Outside dependencies that may be used in some folders only, and where: in a folder and in those below it.
const OWNERS: &[(&str, &[&str])] = &[
    (
        "actix",
        &["agents/core", "agents/simulated", "agents/hosts"],
    ),
    ("actix-rt", &["agents/simulated", "agents/hosts"]),
    ("integer-encoding", &["agents/record"]),
    ("libfuzzer-sys", &["integration-tests/fuzz"]),
    ("perf-event2", &["agents/hosts"]),
    ("prometheus-client", &["agents/hosts"]),
    ("sysinfo", &["agents/hosts"]),
    ("brotli", &["lab/rebalancing"]),
    ("quinn", &["protocol"]),
    // Benchmarks of `workloads` alone compare with it.
    ("rayon", &[]),
    ("rcgen", &["protocol"]),
    // Fuzz targets compile what the tests of `protocol` have.
    ("rustls", &["protocol", "integration-tests/fuzz"]),
    // Crates with types that are written as JSON; behind a feature.
    (
        "schemars",
        &[
            "bsp",
            "model",
            "protocol",
            "agents/core",
            "agents/record",
            "experiments",
            "analysis",
            "cli",
            "lab",
        ],
    ),
    ("x509-parser", &["protocol"]),
    ("clap", &["cli", "lab"]),
    ("clap_complete", &["cli"]),
    ("clap_complete_nushell", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("config", &["experiments/settings"]),
    ("console", &["cli"]),
    ("etcetera", &["cli"]),
    ("hyper", &["agents/hosts", "cli"]),
    ("hyper-util", &["agents/hosts", "cli"]),
    ("indicatif", &["cli"]),
    ("maud", &["analysis", "lab/reproduce"]),
    ("opentelemetry", &["cli"]),
    ("opentelemetry-otlp", &["cli"]),
    ("opentelemetry_sdk", &["cli"]),
    ("plotters", &["analysis"]),
    ("sd-notify", &["cli"]),
    ("statrs", &["analysis"]),
    ("terminal_size", &["cli"]),
    ("tracing-subscriber", &["cli"]),
];

/// All that crates without input and output may use from outside.
const PURE: [(&str, &[&str]); 4] = [
    // Random numbers are for its test kit alone, and schemas for a test of the command, behind features; the encoding is that
    // of what workers of a farm share.
    (
        "bsp",
        &[
            "bytemuck",
            "bytes",
            "rand_chacha",
            "rmp-serde",
            "schemars",
            "serde",
            "smallvec",
            "thiserror",
        ],
    ),
    (
        "model",
        &["libm", "rand_chacha", "schemars", "serde", "thiserror"],
    ),
    (
        "simulator",
        &[
            "roxmltree",
            "serde",
            "smallvec",
            "strsim",
            "thiserror",
            "toml",
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

/// Dependencies of each folder: own ones as their folders and outside ones as they are called, without those for tests.
fn dependencies() -> BTreeMap<&'static str, Vec<String>> {
    let folders = folders();
    let read = |folder: &'static str| {
        let manifest = manifest(folder);
        let table = manifest
            .get("dependencies")
            .and_then(|value| value.as_table().cloned());
        let names = table.unwrap_or_default();
        let names = names.keys().map(|name| folders.get(name).unwrap_or(name));
        (folder, names.cloned().collect())
    };
    FLOORS.into_iter().map(|(folder, _)| read(folder)).collect()
}

/// The folder of each crate of the workspace that others use, by the name that they use.
fn folders() -> BTreeMap<String, String> {
    let manifest = manifest("");
    let all = manifest["workspace"]["dependencies"].as_table().unwrap();
    let folder = |(name, value): (&String, &toml::Value)| {
        let path = value.get("path")?.as_str()?;
        Some((name.clone(), path.to_owned()))
    };
    all.iter().filter_map(folder).collect()
}

fn manifest(folder: &str) -> Table {
    let text = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    text.parse().unwrap()
}

#[test]
fn crates_depend_on_lower_floors_only() {
    let floors = BTreeMap::from(FLOORS);
    for (folder, dependencies) in dependencies() {
        for dependency in &dependencies {
            if let Some(floor) = floors.get(dependency.as_str()) {
                let own = floors[folder];
                assert!(
                    *floor < own,
                    "{folder} (floor {own}) uses {dependency} (floor {floor})"
                );
            }
        }
    }
}

#[test]
fn programs_of_users_have_nothing_of_the_laboratory() {
    let dependencies = dependencies();
    let mut used = vec!["cli", "experiments"];
    let mut place = 0;
    while let Some(folder) = used.get(place) {
        assert!(!folder.starts_with("lab/"), "{folder}");
        let own = FLOORS.map(|(own, _)| own).into_iter();
        let more = own.filter(|own| dependencies[folder].iter().any(|name| name == own));
        let more: Vec<&str> = more.filter(|own| !used.contains(own)).collect();
        used.extend(more);
        place += 1;
    }
    assert!(used.contains(&"agents/core"), "{used:?}");
}

#[test]
fn workloads_depend_on_the_programming_interface_alone() {
    let dependencies = dependencies();
    let own = |name: &&String| FLOORS.iter().any(|(folder, _)| folder == name);
    let used: Vec<_> = dependencies["workloads"].iter().filter(own).collect();
    assert_eq!(used, ["bsp"]);
}

#[test]
fn outside_dependencies_have_owners() {
    let owners = BTreeMap::from_iter(OWNERS.iter().copied());
    for (folder, dependencies) in dependencies() {
        for dependency in &dependencies {
            if let Some(owners) = owners.get(dependency.as_str()) {
                let is_owner =
                    |owner: &&str| folder == *owner || folder.starts_with(&format!("{owner}/"));
                assert!(
                    owners.iter().any(is_owner),
                    "{dependency} belongs to {owners:?}, but {folder} uses it"
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
