//! The values that SimGrid computes for the same applications on the same platforms, from
//! `integration-tests/data/simgrid/applications.csv` (column `seconds_exact`: SimGrid 4.1 with exact
//! max-min sharing). Everything takes part: programs, agents, barrier, network.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::invocation::{Folder, root};

/// How far two programs may be apart that add the same numbers in another order.
const TOLERANCE: f64 = 1e-9;

#[derive(Debug, serde::Deserialize)]
struct Row {
    label: String,
    app: String,
    platform: String,
    options: String,
    model_options: Option<String>,
    processes: u32,
    supersteps: u64,
    mode: String,
    barrier: String,
    seconds_exact: f64,
    messages: u64,
}

impl Row {
    /// The value of `name=value` among the options.
    fn option(&self, name: &str) -> Option<String> {
        let prefix = format!("{name}=");
        self.options
            .split(' ')
            .find_map(|option| option.strip_prefix(&prefix))
            .map(str::to_owned)
    }
}

/// What `placement.order` calls a mapping.
fn order(map: &str) -> &'static str {
    match map {
        "fill" => "fill",
        "rr" => "round-robin",
        other => panic!("map {other}"),
    }
}

/// The experiment that a row describes.
fn experiment(row: &Row, platforms: &Path) -> String {
    let or = |name: &str, default: &str| row.option(name).unwrap_or_else(|| default.to_owned());
    let model = row.model_options.clone().unwrap_or_default();
    let shape = if row.barrier == "native" {
        "ideal"
    } else {
        "central"
    };
    let mut text = String::new();
    write!(
        text,
        r#"
{application}
[platform]
file = "{platform}"
model = "{network}"
cross_traffic = {cross_traffic}
[placement]
order = "{order}"
per_host = {per_host}
offset = {offset}
[network]
start = "{start}"
[barrier]
shape = "{shape}"
message = {message}
[scheduler]
policy = "none"
"#,
        application = application(row),
        platform = platforms.join(&row.platform).display(),
        network = if model.contains("CM02") {
            "ideal"
        } else {
            "lv08"
        },
        cross_traffic = !model.contains("crosstraffic:0"),
        order = order(&or("--map", "fill")),
        per_host = or("--ppn", "1"),
        offset = or("--offset", "0"),
        start = if row.mode == "rdv" {
            "rendezvous"
        } else {
            "eager"
        },
        message = or("--ctrl", "8"),
    )
    .unwrap();
    text
}

/// The section of what computes. Smith-Waterman and LU are not told their supersteps.
fn application(row: &Row) -> String {
    let or = |name: &str, default: &str| row.option(name).unwrap_or_else(|| default.to_owned());
    let processes = row.processes;
    match row.app.as_str() {
        "lbm" => format!(
            "[application]\nworkload = 'synthetic'\nprocesses = {processes}\nsupersteps = {}\n\
             [application.synthetic]\ninstructions = [{}]\nbytes = [{}]\nshifts = [{}]\nring = {}\n",
            row.supersteps,
            or("-F", "1e9"),
            or("-B", "1e5"),
            or("--shifts", "1"),
            or("--ring", "0") == "1",
        ),
        // A cell's bytes are given there, those of a row of cells here.
        "sw" => format!(
            "[application]\nworkload = 'smith-waterman'\nprocesses = {processes}\n\
             [application.smith-waterman]\nmultiplier = 1\nbytes = {}\n",
            f64::from(processes) * or("-B", "1e5").parse::<f64>().unwrap(),
        ),
        "lu" => format!(
            "[application]\nworkload = 'lu'\nprocesses = {processes}\n\
             [application.lu]\norder = {}\nrows = {}\ncolumns = {}\n\
             update_instructions = {}\ndivision_instructions = {}\nelement_bytes = {}\n",
            or("-n", ""),
            or("-M", ""),
            or("-N", ""),
            or("--upd", ""),
            or("--div", ""),
            or("--elem", ""),
        ),
        other => panic!("app {other}"),
    }
}

#[test]
fn applications_take_as_long_as_in_simgrid() {
    let file = root().join("integration-tests/data/simgrid/applications.csv");
    let mut misses = Vec::new();
    let mut rows = 0;
    for row in csv::Reader::from_path(file).unwrap().deserialize::<Row>() {
        let row = row.unwrap();
        rows += 1;
        let text = experiment(&row, &root().join("conf/platforms"));
        let folder = Folder::new().with("row.toml", text);
        let text = folder.stdout(&["simulate", "row.toml", "--format", "json"]);
        let report: Value = serde_json::from_str(&text).unwrap();
        let run = &report["runs"][0];
        let seconds = run["seconds"].as_f64().unwrap();
        let error = (seconds - row.seconds_exact).abs() / row.seconds_exact;
        if TOLERANCE < error {
            misses.push(format!(
                "{}: {seconds} s, not {} s",
                row.label, row.seconds_exact
            ));
        }
        // SimGrid counts the messages of its barrier too: one to the master and one back.
        let barrier = match row.barrier.as_str() {
            "par" => 2 * u64::from(row.processes - 1) * row.supersteps,
            _ => 0,
        };
        assert_eq!(run["messages"], row.messages - barrier, "{}", row.label);
        assert_eq!(run["supersteps"], row.supersteps, "{}", row.label);
    }
    assert_eq!(rows, 20);
    assert!(misses.is_empty(), "{misses:#?}");
}
