//! A ring of strips on two Sets of real hosts with a limited link between them: `conf/heat-ring.toml`, live.
//!
//! The processes of every pair of neighbours start on different sides of the link. The run has to end with two
//! crossings, which is what the best placement has; no plan may make more than ten supersteps longer; and predictions
//! of the placement in force may be off by 15 % (median over all calls).
//!
//! Needs the right to make namespaces (root), the programs `ip` and `tc`, and the queueing discipline `tbf`; where one
//! of them is missing, the test says so and does nothing. What the test suite runs is short and checks the outputs, the
//! record, and that at most half of the crossings are left; times of one short run prove nothing. The long form prints
//! the supersteps around every plan and checks all conditions:
//!
//! ```text
//! LINK_RUNS=20 cargo test --workspace --test commands -- limited_link --nocapture
//! ```
//!
//! | variable | meaning |
//! |---|---|
//! | `LINK_RUNS` | number of runs, whose conditions are checked |
//! | `LINK_RATE` | rate of the link, as `tc` writes it; without it `10mbit` |
//! | `LINK_SET` | settings of the experiment, separated by spaces, as `scheduler.policy=migbsp` |
//! | `LINK_RECORDS` | folder that receives the record of every run |

mod network;
mod supersteps;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;

use self::network::Network;
use self::supersteps::{Errors, Plan, Trace, percent};
use crate::invocation::{Folder, root};

/// Crossings at the start: all pairs of neighbours.
const CROSSINGS: usize = 16;

/// Crossings of the best placement: a ring in two parts is cut twice.
const BEST_CROSSINGS: usize = 2;

/// Supersteps that a plan may make longer.
const LONGER_MAX: usize = 10;

/// The median error of the predictions of the placement in force.
const ERROR_MAX: f64 = 0.15;

#[test]
fn a_ring_placed_badly_ends_with_the_cut_of_the_best_placement() {
    let rate = env::var("LINK_RATE").unwrap_or_else(|_| "10mbit".to_owned());
    let Some(mut network) = Network::new(&rate) else {
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
    let traces: Vec<Trace> = (1..=runs.unwrap_or(1))
        .map(|number| {
            let record = records.join(format!("run-{number}"));
            run(&folder, &record, runs.is_none());
            let trace = Trace::read(&record.join("iii/events.jsonl"));
            eprintln!("run {number}: {trace}");
            trace
        })
        .collect();
    let (of_placements, of_plans) = (
        errors(&traces, Trace::errors),
        errors(&traces, Trace::errors_of_plans),
    );
    eprintln!("errors of predictions: of placements in force {of_placements}; of plans {of_plans}");
    let is_better = |trace: &Trace| 2 * trace.crossings_at_the_end() <= CROSSINGS;
    assert!(
        runs.is_some() || traces.iter().all(is_better),
        "it keeps most crossings"
    );
    let problems = problems(&traces, of_placements.median);
    assert!(runs.is_none() || problems.is_empty(), "{problems:#?}");
}

/// The conditions that runs do not keep.
fn problems(traces: &[Trace], median: f64) -> Vec<String> {
    let mut problems = Vec::new();
    for (trace, number) in traces.iter().zip(1..) {
        let crossings = trace.crossings_at_the_end();
        if crossings != BEST_CROSSINGS {
            problems.push(format!("run {number} ends with {crossings} crossings"));
        }
        let plans = trace.plans().into_iter();
        for Plan { superstep, longer } in plans.filter(|plan| LONGER_MAX < plan.longer) {
            problems.push(format!(
                "run {number}: the plan after superstep {superstep} makes {longer} supersteps longer"
            ));
        }
    }
    if ERROR_MAX < median {
        let (median, max) = (percent(median), percent(ERROR_MAX));
        problems.push(format!(
            "predictions of the placement in force are {median} off, more than {max}"
        ));
    }
    problems
}

/// The errors of all runs together.
fn errors(traces: &[Trace], of: impl Fn(&Trace) -> Vec<f64>) -> Errors {
    Errors::new(traces.iter().flat_map(of).collect())
}

/// Runs the ring on the nodes, into a record that `verify` confirms.
fn run(folder: &Folder, record: &Path, is_short: bool) {
    let began = Instant::now();
    while Network::client(folder, &["status"]).code != Some(0) {
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
    let ended = Network::client(folder, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let live: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(live["run"]["verified"].is_string(), "{live}");
    folder.stdout(&["verify", record.to_str().unwrap()]);
}
