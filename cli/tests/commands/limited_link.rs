//! A ring of strips on two Sets of real hosts with a limited link between them: `conf/heat-ring.toml`, live.
//!
//! Every pair of neighbours starts on both sides of the link. The run has to end with two crossings, which is what
//! the best placement has, and no plan may make more than ten supersteps longer.
//!
//! Needs the right to make namespaces (root), the programs `ip` and `tc`, and the queueing discipline `tbf`; where one
//! of them is missing, the test says so and does nothing. What the test suite runs is short and checks the outputs,
//! the record and the crossings. The long form checks both conditions in each of many runs and prints the supersteps
//! around every plan:
//!
//! ```text
//! LINK_RUNS=20 cargo test --release -p migbsp-cli --test commands limited_link -- --nocapture
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `LINK_RUNS` | number of runs; both conditions are checked in each |
//! | `LINK_RATE` | rate of the link, as `tc` writes it; without it `100mbit` |
//! | `LINK_SET` | settings of the experiment, separated by spaces, as `scheduler.policy=migbsp` |
//! | `LINK_RECORDS` | folder that receives the record of every run |

mod network;
mod supersteps;

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;

use self::network::Network;
use self::supersteps::Trace;
use crate::invocation::{Folder, root};

/// Crossings of the best placement: a ring in two parts is cut twice.
const BEST_CROSSINGS: usize = 2;

/// Supersteps that a plan may make longer.
const LONGER_MAX: usize = 10;

#[test]
fn a_ring_placed_badly_ends_with_the_cut_of_the_best_placement() {
    let rate = env::var("LINK_RATE").unwrap_or_else(|_| "100mbit".to_owned());
    let Some(mut network) = Network::new(&rate) else {
        eprintln!("SKIPPED: no network namespaces here; they take root, `ip`, and `tc` with `tbf`");
        return;
    };
    let folder = Folder::new();
    network.start_nodes(&folder);
    let runs: Option<usize> = env::var("LINK_RUNS").ok().map(|runs| runs.parse().unwrap());
    let records = match env::var_os("LINK_RECORDS") {
        Some(records) => PathBuf::from(records),
        None => folder.path().join("records"),
    };
    fs::create_dir_all(&records).unwrap();
    let records = fs::canonicalize(records).unwrap();
    let mut problems = Vec::new();
    for number in 1..=runs.unwrap_or(1) {
        let record = records.join(format!("run-{number}"));
        run(&network, &folder, &record, runs.is_none());
        let trace = Trace::read(&record.join("iii/events.jsonl"));
        eprintln!("run {number}: {trace}");
        let crossings = trace.crossings_at_the_end();
        if crossings != BEST_CROSSINGS {
            problems.push(format!("run {number} ends with {crossings} crossings"));
        }
        for plan in trace.plans() {
            // Times of one short run on a busy machine prove nothing.
            if runs.is_some() && LONGER_MAX < plan.longer {
                let (at, longer) = (plan.superstep, plan.longer);
                problems.push(format!(
                    "run {number}: the plan after superstep {at} makes {longer} supersteps longer"
                ));
            }
        }
        eprintln!();
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Runs the ring on the nodes, into a record that `verify` confirms.
fn run(network: &Network, folder: &Folder, record: &std::path::Path, is_short: bool) {
    let began = Instant::now();
    while network.client(folder, &["status"]).code != Some(0) {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "nodes do not come up"
        );
    }
    let experiment = root().join("conf/heat-ring.toml");
    let mut words = vec!["run", experiment.to_str().unwrap(), "--format", "json"];
    words.extend(["--force", "--out", record.to_str().unwrap()]);
    if is_short {
        words.extend(["--set", "application.supersteps=120"]);
    }
    let settings = env::var("LINK_SET").unwrap_or_default();
    for setting in settings.split_whitespace() {
        words.extend(["--set", setting]);
    }
    let ended = network.client(folder, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let live: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(live["run"]["verified"].is_string(), "{live}");
    folder.stdout(&["verify", record.to_str().unwrap()]);
}
