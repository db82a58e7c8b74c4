//! Every number of an experiment and of a platform, replaced by numbers of any magnitude.
//!
//! What is read runs to its end, or is refused; nothing panics. Runs that are long by themselves, with many processes or
//! supersteps, are prepared and not run, and so are those on platforms that change for ever, which a long superstep
//! waits for. Each number takes a few of the extremes in turn. The long form tries all, and draws pairs of numbers:
//!
//! ```text
//! SETTINGS_PAIRS=100000 cargo test --workspace --test runs -- settings
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{env, fs};

use experiments::{PreparedExperiment, Registry, Scenario};
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::Value;

/// Two Sets of hosts; a host has a load, another an availability, and a link is congested.
const PLATFORM: &str = r#"
core = { bandwidth = 1e9, latency = 1e-5 }
[[set]]
name = "a"
hosts = 3
first = 1
speed = 1e9
cores = 2
send_overhead = 1e-6
link = { bandwidth = 1e8, latency = 1e-5 }
loopback = { bandwidth = 1e9 }
limiter = 1e8
uplink = { bandwidth = 1e8, latency = 1e-5 }
[[set]]
name = "b"
hosts = 4
speed = [1e9, 2e9, 1e9, 2e9]
link = { bandwidth = 1e8 }
torus = [2, 2]
uplink = { bandwidth = 1e8, latency = 0 }
[[host]]
hosts = "a-1"
cores = 4
[[availability]]
hosts = "a-2"
points = [[0.5, 0.5], [1.5, 1]]
[[load]]
hosts = "b-2"
points = [[0.25, 0.5]]
[[congestion]]
link = "core"
bandwidth = [[1, 1e7]]
latency = [[1, 1e-3]]
"#;

/// What makes the platform change for ever.
const PERIODS: &str = "\
[[availability]]\nhosts = \"a-3\"\npoints = [[0.5, 0.5], [1.5, 1]]\nperiod = 3\n\
[[congestion]]\nlink = \"a_link_1\"\nbandwidth = [[1, 1e7]]\nperiod = 4\n";

/// Four processes on them, with what most experiments have.
const EXPERIMENT: &str = r#"
[application]
workload = "synthetic"
processes = 4
supersteps = 12
[application.synthetic]
instructions = [1e8]
bytes = [1e4]
memory = 1e5
[application.synthetic.dynamics]
kind = "jump"
start = 3
every = 5
jitter = 0.1
[platform]
file = "platform.toml"
latency_factor = 2.0
bandwidth_factor = 0.9
weight_size = 8775.0
[placement]
max_per_host = 4
[elasticity]
pool = ["b-4"]
date = 0.5
creation = [0.25]
[checkpoint]
interval = 0.5
bytes = 1000
[scheduler]
interval = 2
window = 0.1
[scheduler.migration]
base = 0.01
"#;

/// What each experiment has in addition, and how the keys begin whose numbers are replaced.
const VARIANTS: [(&[&str], &str); 6] = [
    (&["scheduler.payment=migrant"], ""),
    (
        &[
            "scheduler.payment=transfer",
            "scheduler.transfer_factor=1.5",
        ],
        "",
    ),
    (&["scheduler.policy=adaptive", "elasticity.pool=[]"], ""),
    (
        &["scheduler.payment=transfer", "scheduler.link_probes=0.5"],
        "scheduler.link_probes",
    ),
    (
        &[
            "load.kind=jobs",
            "load.sets=[\"a\"]",
            "scheduler.policy=none",
        ],
        "load.",
    ),
    (
        &[
            "congestion.kind=levels",
            "congestion.links=[\"a_uplink\"]",
            "scheduler.policy=none",
        ],
        "congestion.",
    ),
];

const EXTREMES: [&str; 14] = [
    "0",
    "-1",
    "1",
    "1e-320",
    "1e-9",
    "1e9",
    "1e18",
    "1e308",
    "-1e308",
    "4294967295",
    "9223372036854775808",
    "18446744073709551615",
    "nan",
    "inf",
];

/// The key of a number, or of a list of numbers.
struct Key {
    path: String,
    is_list: bool,
}

impl Key {
    /// The assignment of a number.
    fn set(&self, number: &str) -> String {
        if self.is_list {
            format!("{}=[{number}]", self.path)
        } else {
            format!("{}={number}", self.path)
        }
    }
}

/// The assignments of a variant of the experiment in `folder`, and the keys whose numbers are replaced.
fn experiment(folder: &Path, (variant, prefix): (&[&str], &str)) -> (Vec<String>, Vec<Key>) {
    let variant: Vec<String> = variant.iter().map(|text| (*text).to_owned()).collect();
    let loaded = experiments::load(&folder.join("e.toml"), &variant, &Registry::shipped());
    let effective = serde_json::to_value(loaded.unwrap().experiment.effective()).unwrap();
    let mut keys = Vec::new();
    numbers(&effective, "", &mut keys);
    keys.retain(|key| key.path.starts_with(prefix));
    assert!(!keys.is_empty(), "{prefix}");
    (variant, keys)
}

fn numbers(value: &Value, path: &str, found: &mut Vec<Key>) {
    let key = |is_list| Key {
        path: path.to_owned(),
        is_list,
    };
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                numbers(value, &path, found);
            }
        }
        Value::Number(_) => found.push(key(false)),
        Value::Array(items) if items.first().is_some_and(Value::is_number) => {
            found.push(key(true));
        }
        _ => {}
    }
}

/// Loads and prepares the experiment in `folder`, and runs it if it is small. Returns the refusal, if there is one.
fn attempt(folder: &Path, assignments: &[String]) -> Result<(), String> {
    let registry = Registry::shipped();
    let text = |error: experiments::Failure| error.to_string();
    let loaded = experiments::load(&folder.join("e.toml"), assignments, &registry).map_err(text)?;
    let application = &loaded.experiment.application;
    let is_small =
        application.processes <= 64 && application.supersteps.is_none_or(|all| all <= 64);
    let prepared = PreparedExperiment::new(loaded).map_err(text)?;
    let is_steady = !String::from_utf8_lossy(&prepared.loaded.platform_text().map_err(text)?)
        .contains("period");
    if is_small && is_steady && prepared.platform.hosts().len() <= 64 {
        let run = prepared.run(Scenario::Iii, &registry, &mut |_| {});
        run.map_err(|failure| failure.to_string())?;
    }
    Ok(())
}

/// The same; a panic is noted, with what led to it.
fn try_out(folder: &Path, assignments: &[String], what: &str, panics: &mut Vec<String>) {
    let result = catch_unwind(AssertUnwindSafe(|| attempt(folder, assignments)));
    match result {
        Err(_) => panics.push(what.to_owned()),
        Ok(Err(refusal)) => assert!(refusal.len() < 2000, "{what}: {refusal}"),
        Ok(Ok(())) => {}
    }
}

fn folder(platform: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("platform.toml"), platform).unwrap();
    fs::write(folder.path().join("e.toml"), EXPERIMENT).unwrap();
    folder
}

/// The number of pairs that the long form draws.
fn pairs() -> Option<u64> {
    env::var("SETTINGS_PAIRS")
        .ok()
        .map(|pairs| pairs.parse().unwrap())
}

/// Some of the extremes; all of them in the long form.
fn extremes(turn: usize) -> impl Iterator<Item = &'static str> {
    let many = if pairs().is_some() { EXTREMES.len() } else { 2 };
    EXTREMES
        .into_iter()
        .cycle()
        .skip(5 * turn % EXTREMES.len())
        .take(many)
}

#[test]
fn every_number_of_an_experiment_is_run_or_refused() {
    let folder = folder(PLATFORM);
    let mut panics = Vec::new();
    let mut tried = 0;
    for variant in VARIANTS {
        let (variant, keys) = experiment(folder.path(), variant);
        attempt(folder.path(), &variant).unwrap();
        for (turn, key) in keys.iter().enumerate() {
            for extreme in extremes(turn + tried) {
                let all: Vec<String> = variant.iter().cloned().chain([key.set(extreme)]).collect();
                tried += 1;
                try_out(folder.path(), &all, &all.join(" "), &mut panics);
            }
        }
    }
    assert!(
        panics.is_empty(),
        "{} of {tried} panic:\n{}",
        panics.len(),
        panics.join("\n")
    );
}

#[test]
fn pairs_of_numbers_are_run_or_refused() {
    let pairs = pairs().unwrap_or(100);
    let folder = folder(PLATFORM);
    let variants = VARIANTS.map(|variant| experiment(folder.path(), variant));
    let mut panics = Vec::new();
    for seed in 0..pairs {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        let (variant, keys) = variants.choose(&mut draws).unwrap();
        let mut all = variant.clone();
        for _ in 0..2 {
            let key = keys.choose(&mut draws).unwrap();
            all.push(key.set(EXTREMES.choose(&mut draws).unwrap()));
        }
        try_out(folder.path(), &all, &all.join(" "), &mut panics);
    }
    assert!(
        panics.is_empty(),
        "{} panic:\n{}",
        panics.len(),
        panics.join("\n")
    );
}

#[test]
fn every_number_of_a_platform_is_run_or_refused() {
    let mut panics = Vec::new();
    let all = [PLATFORM, PERIODS].concat();
    // A number begins after a blank or a bracket.
    let starts: Vec<usize> = all
        .match_indices([' ', '['])
        .map(|(at, _)| at + 1)
        .filter(|at| all[*at..].starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    assert!(30 < starts.len());
    for (turn, start) in starts.into_iter().enumerate() {
        // Numbers before the periods are tried on a platform without them, which is run.
        let text = if start < PLATFORM.len() {
            PLATFORM
        } else {
            &all
        };
        let rest = &text[start..];
        let end = rest.find([' ', ',', ']', '\n']).unwrap();
        for extreme in extremes(turn) {
            let folder = folder(&[&text[..start], extreme, &rest[end..]].concat());
            let line = text[..start].matches('\n').count() + 1;
            let what = format!("line {line}: {extreme} for {}", &rest[..end]);
            try_out(folder.path(), &[], &what, &mut panics);
        }
    }
    assert!(
        panics.is_empty(),
        "{} panic:\n{}",
        panics.len(),
        panics.join("\n")
    );
}
