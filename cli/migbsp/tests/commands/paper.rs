//! All of the papers' tables, as `migbsp reproduce` sets them beside ours.
//!
//! What it says is written to `lab/docs/tables.md`, misses included; a test fails when that page is not what
//! the command says. `MIGBSP_UPDATE=1 cargo test -p migbsp --features long-tests paper` writes it anew.

mod page;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use analysis::text::Layout;
use experiments::batch::{Batch, Silent};
use experiments::{Attributed, Provenance, Registry};
use reproduce::{Part, Variant, page as draw, reproduce, summary};
use serde_json::Value;

use crate::charts::check_page;
use crate::invocation::root;
use crate::reproduce::output;

/// The results of all parts: as JSON, as a page, and their summary.
struct Everything {
    report: Value,
    page: String,
    summary: String,
}

/// All parts, run once for all tests.
fn results() -> &'static Everything {
    static EVERYTHING: OnceLock<Everything> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let ties = [Variant::Iii, Variant::ReceiveTime];
        let batch = Batch {
            jobs: None,
            progress: &Silent,
        };
        let report = reproduce(Part::All, &ties, batch).unwrap();
        let provenance = Provenance::of_program(&Registry::shipped()).unwrap();
        Everything {
            report: serde_json::to_value(Attributed::new(&provenance, &report)).unwrap(),
            page: draw(&report),
            summary: summary(&report).text(Layout::default()),
        }
    })
}

fn everything() -> &'static Value {
    &results().report
}

/// Mean absolute relative error of a scenario.
fn mean(report: &Value, over: &str, scenario: &str) -> f64 {
    let means = report["means"].as_array().unwrap();
    let found = means
        .iter()
        .find(|mean| mean["over"] == over && mean["scenario"] == scenario);
    found.unwrap()["error"].as_f64().unwrap()
}

#[test]
fn the_results_of_all_parts_are_as_their_schema_says() {
    let text = everything().to_string();
    assert_eq!(crate::schemas::check(&text, "reproduce"), "reproduce");
}

#[test]
fn errors_stay_within_their_limits() {
    let report = everything();
    assert_eq!(report["schema"], "migbsp.reproduce/1");
    for (over, limits) in [
        ("tables1-5", [0.01, 0.015, 0.04]),
        ("table7", [0.01, 0.015, 0.04]),
        ("all", [0.01, 0.015, 0.04]),
    ] {
        for (scenario, limit) in ["i", "ii", "iii"].into_iter().zip(limits) {
            let error = mean(report, over, scenario);
            assert!(error <= limit, "{over}, scenario {scenario}: {error}");
        }
    }
    // With ten processes no process moves, so the barrier is the same with and without rescheduling.
    let waiting = report["cells"].as_array().unwrap().iter();
    let waiting = waiting.filter(|cell| cell["table"] == "table6" && cell["processes"] == 10);
    for cell in waiting {
        assert!(cell["error"].as_f64().unwrap().abs() < 0.02, "{cell}");
    }
    let gain = &report["gains"][0];
    assert_eq!(
        (&gain["application"], &gain["processes"]),
        (&"lbm".into(), &25.into())
    );
    let ours = gain["ours"].as_f64().unwrap();
    assert!((0.13..0.16).contains(&ours), "{gain}");
}

#[test]
fn the_page_of_tables_is_what_the_command_says() {
    let page = page::page(everything(), &results().summary);
    let path = root().join("lab/docs/tables.md");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (is, should)) in written.lines().zip(page.lines()).enumerate() {
        assert_eq!(is, should, "lab/docs/tables.md:{}", number + 1);
    }
    assert_eq!(
        written.len(),
        page.len(),
        "lab/docs/tables.md is too short or too long"
    );
}

#[test]
fn every_cell_of_the_papers_is_there_and_compared() {
    let cells = everything()["cells"].as_array().unwrap();
    let count = |scenario: &str| {
        let cells = cells.iter().filter(|cell| cell["table"] != "table6");
        cells.filter(|cell| cell["scenario"] == scenario).count()
    };
    assert_eq!(
        ["i", "ii", "iii", "iii-receive-time"].map(count),
        [49, 122, 124, 124]
    );
    assert!(90 < count("iii-forced"));
    let flagged = cells.iter().filter(|cell| cell["flagged"] == true);
    assert!(0 < flagged.count());
    for cell in cells {
        let number = |key: &str| cell[key].as_f64().unwrap();
        let error = number("ours") / number("paper") - 1.0;
        assert!((error - number("error")).abs() < 1e-12, "{cell}");
    }
}

#[test]
fn a_cell_is_what_simulate_says_of_its_experiment() {
    let simulated = |file: &str, assignments: &[&str]| {
        let mut arguments = vec!["simulate", file, "--format", "json"];
        for assignment in assignments {
            arguments.extend(["--set", assignment]);
        }
        let report: Value = serde_json::from_str(&output(&arguments)).unwrap();
        report["runs"][0]["seconds"].as_f64().unwrap()
    };
    let cells = everything()["cells"].as_array().unwrap();
    let cell = |table: &str, row: u64, processes: u64, alpha: Option<u64>, scenario: &str| {
        let found = cells.iter().find(|cell| {
            (cell["table"] == table && cell["row"] == row && cell["processes"] == processes)
                && cell["alpha"].as_u64() == alpha
                && cell["scenario"] == scenario
        });
        found.unwrap()["ours"].as_f64().unwrap()
    };
    for (ours, file, assignments) in [
        (
            cell("table2", 100, 25, Some(8), "iii"),
            "conf/paper/lbm-25.toml",
            &[
                "application.supersteps=100",
                "scheduler.interval=8",
                "scheduler.scenario=iii",
            ][..],
        ),
        (
            cell("table7", 25, 25, Some(2), "ii"),
            "conf/paper/sw-25.toml",
            &[
                "scheduler.delta=0.01",
                "scheduler.interval=2",
                "scheduler.scenario=ii",
            ],
        ),
        (
            cell("table9", 500, 50, None, "i"),
            "conf/paper/lu-50.toml",
            &["application.lu.order=500", "scheduler.scenario=i"],
        ),
        (
            cell("table3", 10, 50, Some(4), "iii-receive-time"),
            "conf/paper/lbm-50.toml",
            &[
                "application.supersteps=10",
                "scheduler.tie_break=receive-time",
                "scheduler.scenario=iii",
            ],
        ),
    ] {
        let seconds = simulated(file, assignments);
        assert_eq!(ours.to_bits(), seconds.to_bits(), "{file} {assignments:?}");
    }
}

#[test]
fn everything_is_drawn_on_one_page() {
    let Everything { report, page, .. } = results();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.trim_end().ends_with("</html>"), "{page}");
    let cells = report["cells"].as_array().unwrap().iter();
    let tables: BTreeSet<_> = cells.map(|cell| cell["table"].as_str().unwrap()).collect();
    assert!(tables.len() <= page.matches("<svg").count());
    check_page(page);
}
