//! Tries other readings of the papers on all their cells: each alone, and some together.
//!
//! ```text
//! cargo run --release -p integration-tests --example readings
//! ```
//!
//! A reading is a switch of `[scheduler]` (`docs/model.md`, "Decisions"). For each, `migbsp reproduce all` is run with
//! the switch set, and a row of a table in Markdown is printed: mean absolute relative errors of scenario ii and of
//! scenario iii, of all cells and by application, the migrations that agree with those that the papers state, and how
//! many migrations the runs of scenario iii make in all. The table is in `docs/model.md`.

use std::io::{self, Write as _};

use experiments::batch::{Batch, Silent};
use reproduce::{AgreementTotal, Part, Report, Table, Variant, reproduce_with};

/// The switches of each row, without their section; none: the defaults.
const READINGS: [&[&str]; 12] = [
    &[],
    &["idle_candidate=judged"],
    &["process_time=own"],
    &["process_time=own-without-barrier"],
    &["occupied_by=computing-migrant"],
    &["occupied_by=computing-set"],
    &["bytes_superstep=first"],
    &["set_load=multiplied"],
    &["threshold_over=movers"],
    &["idle_candidate=judged", "threshold_over=movers"],
    &["idle_candidate=judged", "occupied_by=computing-migrant"],
    &["idle_candidate=judged", "own_set=ignored"],
];

/// The means that a row has: the cells, and the scenario.
const MEANS: [(&str, Variant); 6] = [
    ("all", Variant::Ii),
    ("all", Variant::Iii),
    ("tables1-5", Variant::Iii),
    ("table7", Variant::Iii),
    ("table9", Variant::Iii),
    ("fig16", Variant::Iii),
];

fn main() -> anyhow::Result<()> {
    let means = MEANS.map(|(over, variant)| match over {
        "all" => variant.name().to_owned(),
        _ => over.to_owned(),
    });
    print(&format!(
        "| reading | {} | process and Set | call, too | host | moves |",
        means.join(" | ")
    ))?;
    print(&format!("|---|{}", "---|".repeat(MEANS.len() + 4)))?;
    for switches in READINGS {
        let reading: Vec<String> = switches
            .iter()
            .map(|switch| format!("scheduler.{switch}"))
            .collect();
        let variants = [Variant::Ii, Variant::Iii];
        let batch = Batch {
            jobs: None,
            progress: &Silent,
        };
        let report = reproduce_with(Part::All, &variants, &reading, batch)?;

        print(&row(switches, &report))?;
    }
    Ok(())
}

/// The row of a reading.
fn row(switches: &[&str], report: &Report) -> String {
    let name = if switches.is_empty() {
        "as decided".to_owned()
    } else {
        let codes: Vec<String> = switches
            .iter()
            .map(|switch| format!("`{switch}`"))
            .collect();
        codes.join(", ")
    };
    let means = MEANS.map(|(over, variant)| {
        let mut all = report.means.iter();
        let mean = all.find(|mean| mean.over == over && mean.scenario == variant.name());
        mean.map_or_else(String::new, |mean| format!("{:.2} %", mean.error * 100.0))
    });
    let iii = Variant::Iii.name();
    let mut totals = report.agreement.iter();
    let total = totals.find(|total| total.scenario == iii);
    let count = |of: fn(&AgreementTotal) -> usize| {
        total.map_or_else(String::new, |total| of(total).to_string())
    };
    let moves: usize = report
        .cells
        .iter()
        .filter(|cell| cell.scenario == iii && cell.table != Table::Table6.name())
        .map(|cell| cell.migrations)
        .sum();
    format!(
        "| {name} | {} | {} | {} | {} | {moves} |",
        means.join(" | "),
        count(|total| total.set),
        count(|total| total.call),
        count(|total| total.host),
    )
}

/// Each row when its runs are over: all of them take minutes.
fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}
