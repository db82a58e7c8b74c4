//! `reproduce du2007-…`: what migrations cost, beside the paper's figure.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::charts::check_page;
use crate::invocation::{Folder, root};

const FIGURE: [&str; 2] = ["reproduce", "du2007-figure1"];

fn results() -> Value {
    let arguments = [&FIGURE[..], &["--format", "json"]].concat();
    serde_json::from_str(&Folder::new().stdout(&arguments)).unwrap()
}

fn number(object: &Value, key: &str) -> f64 {
    let number = object[key].as_f64();
    number.unwrap_or_else(|| panic!("{key} of {object}"))
}

#[test]
fn costs_grow_with_the_state_as_the_paper_says_but_for_its_high_end() {
    let json = results();
    assert_eq!(json["schema"], "migbsp.reproduce-du2007/1");
    let checks = json["checks"].as_array().unwrap();
    let verdict = |check: &Value| {
        let id = check["id"].as_str().unwrap().to_owned();
        let (ours, least, most) = (
            number(check, "ours"),
            number(check, "least"),
            number(check, "most"),
        );
        assert_eq!(check["holds"], (least..=most).contains(&ours), "{check}");
        (id, check["holds"].as_bool().unwrap())
    };
    let verdicts: Vec<(String, bool)> = checks.iter().map(verdict).collect();
    let expected = [
        ("low-end", true),
        ("high-end", false),
        ("formula", true),
        ("linear", true),
        ("alpha0", true),
        ("mu", true),
        ("alpha1", true),
        ("definition", true),
    ];
    assert_eq!(verdicts, expected.map(|(id, holds)| (id.to_owned(), holds)));
    let ours = |id: &str| {
        let check = checks.iter().find(|check| check["id"] == id);
        number(check.unwrap(), "ours")
    };
    assert!((ours("low-end") - 0.010_789).abs() < 1e-6);
    assert!((ours("high-end") - 15.898_7).abs() < 1e-4);
    assert!((ours("alpha0") - 0.000_402_6).abs() < 1e-7);
    assert!((ours("mu") - 2.23 / 89.1).abs() < 1e-7);
    assert!((ours("alpha1") - 2.23).abs() < 1e-5);
    assert!((number(&json, "bandwidth") - 89.1e6).abs() < 1.0);
}

#[test]
fn every_point_is_a_move_that_simulate_makes() {
    let json = results();
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 13);
    let [first, .., last] = &points[..] else {
        panic!("{points:?}")
    };
    assert_eq!(
        (&first["state_bytes"], &first["paper_seconds"]),
        (&415_000.into(), &0.01.into())
    );
    assert_eq!(
        (&last["state_bytes"], &last["paper_seconds"]),
        (&635_220_000.into(), &15.46.into())
    );
    let experiment = root().join("conf/du2007/figure1.toml");
    let experiment = experiment.to_str().unwrap();
    for point in [first, &points[6], last] {
        let folder = Folder::new();
        let memory = format!("application.synthetic.memory={}", point["state_bytes"]);
        folder.stdout(&["simulate", experiment, "--out", "kept", "--set", &memory]);
        let events = fs::read_to_string(folder.path().join("kept/iii/events.jsonl")).unwrap();
        let events = events
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let moved: Vec<Value> = events
            .filter(|event: &Value| event["event"] == "moved")
            .collect();
        assert_eq!(moved.len(), 1, "{moved:?}");
        assert_eq!(
            (&moved[0]["took"], &moved[0]["bytes"]),
            (&point["seconds"], &point["image_bytes"])
        );
        folder.stdout(&["verify", "kept"]);
    }
}

#[test]
fn the_factor_is_learned_from_the_first_move() {
    let experiment = fs::read_to_string(root().join("conf/du2007/figure1.toml")).unwrap();
    let stated = "base = \"400 us\"\ndata_rate = \"0.025 us/B\"\n";
    assert!(experiment.contains(stated), "{experiment}");
    let back = "\n[[scheduler.script]]\nsuperstep = 6\nprocess = \"p1\"\nto = \"source-1\"\n";
    let experiment = experiment
        .replace(stated, "source = \"learnt\"\n")
        .replace("supersteps = 4", "supersteps = 8")
        .replace("../platforms", "platforms");
    let platform = fs::read_to_string(root().join("conf/platforms/du2007.toml")).unwrap();
    let folder = Folder::new()
        .with("learnt.toml", &(experiment + back))
        .with("platforms/du2007.toml", &platform);
    folder.stdout(&["simulate", "learnt.toml", "--out", "kept"]);
    let events = fs::read_to_string(folder.path().join("kept/iii/events.jsonl")).unwrap();
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let events: Vec<Value> = events.collect();
    let all = |kind: &str| -> Vec<&Value> {
        let of_kind = events.iter().filter(|event| event["event"] == kind);
        of_kind.collect()
    };
    let (calls, moves) = (all("call"), all("moved"));
    assert_eq!((calls.len(), moves.len()), (2, 2), "{events:?}");
    // The first prediction knows the link alone.
    let predicted = |call: &Value| number(&call["migrations"][0], "cost");
    let took = number(moves[0], "took");
    assert!(
        (took / predicted(calls[0]) - 2.23).abs() < 0.001,
        "{calls:?}"
    );
    let overlap = number(&calls[1]["learned"], "overlap");
    assert!((overlap - 2.23).abs() < 0.001, "{calls:?}");
    let error = predicted(calls[1]) / number(moves[1], "took") - 1.0;
    assert!(error.abs() < 1e-4, "{error}");
}

#[test]
fn the_figure_is_shown_in_all_forms() {
    let folder = Folder::new().with_variable("MIGBSP__SCHEDULER__TRANSFER_FACTOR", "9");
    let text = folder.stdout(&[&FIGURE[..], &["--html", "page.html", "--jobs", "1"]].concat());
    assert!(text.starts_with("Figure 1: "), "{text}");
    assert!(
        text.contains(" 635.220  15.8987  15.8987   15.8809  +0.11 %  15.46  +2.84 %\n"),
        "{text}"
    );
    let missed: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with("missed"))
        .collect();
    assert!(
        missed.len() == 1 && missed[0].contains("high-end"),
        "{missed:?}"
    );
    assert_eq!(folder.csv(&FIGURE).lines().count(), 1 + 13);
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 1, "{page}");
    assert!(page.contains(">15.8987</td>"), "{page}");
    check_page(&page);
}

#[test]
fn a_factor_needs_states_that_cross_the_network() {
    let experiment = root().join("conf/du2007/figure1.toml");
    let experiment = experiment.to_str().unwrap();
    let arguments = ["simulate", experiment, "--set", "scheduler.payment=migrant"];
    let ended = Folder::new().run(&arguments);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    for words in [
        "invalid value `2.23` for `scheduler.transfer_factor`: needs `scheduler.payment = \"transfer\"`",
        "figure1.toml:29\n",
        "help: state the cost in `scheduler.migration.data_rate`",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    }
}

#[test]
fn options_of_other_parts_and_unknown_parts_are_refused() {
    let folder = Folder::new();
    for (options, message) in [
        (
            &["--ties", "rank"][..],
            "--ties does not apply to du2007, whose moves are given",
        ),
        (
            &["--summary"],
            "--summary does not apply to du2007, whose moves are given",
        ),
        (
            &["--instances", "3"],
            "--instances applies to chen2008 only",
        ),
    ] {
        folder.fails(&[&FIGURE[..], options].concat(), 2, message);
    }
    let ended = folder.run(&["reproduce", "du2007-figure2"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("du2007-figure1"), "{ended:?}");
    let help = folder.stdout(&["reproduce", "--help"]);
    assert!(help.contains("The du2007 parts are"), "{help}");
}

const TABLE1: [&str; 4] = ["reproduce", "du2007-table1", "--seeds", "1..2"];

#[test]
fn choices_of_hosts_are_compared_under_every_condition_in_all_forms() {
    let folder = Folder::new().with_variable("MIGBSP__LOAD__DISCIPLINE", "shared");
    let arguments = [&TABLE1[..], &["--format", "json"]].concat();
    let text = folder.stdout(&[&arguments[..], &["--jobs", "1"]].concat());
    let again = Folder::new().stdout(&[&arguments[..], &["--jobs", "3"]].concat());
    assert_eq!(text, again, "equal seeds");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], "migbsp.reproduce-du2007-table1/1");
    assert_eq!(
        (&json["part"], &json["seeds"]),
        (&"table1".into(), &2.into())
    );
    let tables = json["tables"].as_array().unwrap();
    let condition = |table: &Value| format!("{} {}", table["network"], table["discipline"]);
    let conditions: BTreeSet<String> = tables.iter().map(condition).collect();
    assert_eq!((tables.len(), conditions.len()), (6, 6), "{conditions:?}");
    for row in tables
        .iter()
        .flat_map(|table| table["rows"].as_array().unwrap())
    {
        check_row(row);
    }
    let checks = json["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 11);
    for check in checks {
        assert!(
            check["id"].is_string() && check["claim"].is_string(),
            "{check}"
        );
        let (value, limit) = (number(check, "value"), number(check, "limit"));
        let is_most = check["claim"].as_str().unwrap().ends_with("at most");
        let holds = if is_most {
            value <= limit
        } else {
            limit <= value
        };
        assert_eq!(check["holds"], holds, "{check}");
    }
    let table = folder.stdout(&TABLE1);
    let verdicts = table
        .lines()
        .filter(|line| line.ends_with("holds") || line.ends_with("missed"));
    assert_eq!(verdicts.count(), checks.len(), "{table}");
    assert!(
        table.contains("Every cell is a mean over 2 seeds"),
        "{table}"
    );
    assert_eq!(folder.csv(&TABLE1).lines().count(), 1 + 6 * 7 * 6);
}

/// Checks what must hold in a row, whatever is drawn.
#[track_caller]
fn check_row(row: &Value) {
    let cells = row["cells"].as_array().unwrap();
    let seconds = |cell: &Value| number(&cell["seconds"], "value");
    let strategies: Vec<&str> = cells
        .iter()
        .map(|cell| cell["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(
        strategies,
        ["dsa", "mcm", "etm", "rs", "dsa-plus", "clairvoyant"]
    );
    assert_eq!(cells[0]["to_dsa"], 1.0);
    let best = seconds(&cells[5]);
    for (place, cell) in cells.iter().enumerate() {
        // The clairvoyant choice is the best with every seed, and the paper has four.
        assert!(best <= seconds(cell) && 0.0 < best, "{row}");
        assert_eq!(cell["paper"].is_number(), place < 4, "{row}");
        let bands = cell["bands"].as_array().unwrap().iter();
        let sum: f64 = bands.map(|share| share.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{cell}");
    }
}

#[test]
fn seeds_are_an_option_of_choices_of_hosts_only() {
    let folder = Folder::new();
    for part in ["table1", "chen2008-table2", "du2007-figure1", "du2007-cost"] {
        let arguments = ["reproduce", part, "--seeds", "1..3"];
        folder.fails(&arguments, 2, "--seeds applies to du2007-table1 only");
    }
    for (options, message) in [
        (
            &["--ties", "rank"][..],
            "--ties does not apply to du2007-table1",
        ),
        (&["--summary"], "--summary does not apply to du2007-table1"),
        (
            &["--instances", "3"],
            "--instances applies to chen2008 only",
        ),
        (&["--moves", "3"], "--moves applies to du2007-cost only"),
        (
            &["--html", "p.html"],
            "--html does not apply to du2007-table1",
        ),
    ] {
        folder.fails(&[&TABLE1[..2], options].concat(), 2, message);
    }
    for seeds in ["3..1", "1,1", "x", ""] {
        let ended = folder.run(&["reproduce", "du2007-table1", "--seeds", seeds]);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(2), ""),
            "{seeds}: {ended:?}"
        );
        assert!(ended.stderr.contains("--seeds"), "{ended:?}");
    }
}

#[test]
fn measured_costs_refuse_the_options_of_other_parts() {
    let cost = ["reproduce", "du2007-cost"];
    for (option, message) in [
        (&["--ties", "rank"][..], "--ties does not apply to du2007"),
        (
            &["--instances", "3"],
            "--instances applies to chen2008 only",
        ),
        (
            &["--html", "page.html"],
            "--html does not apply to du2007-cost",
        ),
        (&["--moves", "0"], "--moves"),
    ] {
        let ended = Folder::new().run(&[&cost[..], option].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(message), "{ended:?}");
    }
    let other = ["reproduce", "table1", "--moves", "3"];
    Folder::new().fails(&other, 2, "--moves applies to du2007-cost only");
}
