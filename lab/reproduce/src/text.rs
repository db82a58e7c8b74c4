//! The papers' numbers and ours as text.

use std::collections::BTreeMap;

use analysis::document::{self, Document, Part};
use analysis::text::rounded;
use bsp::numbers::{length, real};

use crate::published::Table;
use crate::report::{CellReport, Report, StatedReport};

/// Tables first, then the conclusions.
pub(crate) fn document(report: &Report) -> Document {
    let tables = report.tables();
    let tables = tables.flat_map(|(table, cells)| cells_table(table, &cells));
    let mut document = Document::of(tables);
    if !report.migrations.is_empty() {
        document.extend(migrations(&report.migrations));
    }
    document.extend(conclusions(report, means));
    document
}

/// Conclusions: `means` of the errors, then gains, then migrations.
fn conclusions(report: &Report, means: fn(&Report) -> [Part; 2]) -> impl Iterator<Item = Part> {
    let means = (!report.means.is_empty()).then(|| means(report));
    let gains = (!report.gains.is_empty()).then(|| gains(report));
    let tables = means.into_iter().chain(gains).flatten();
    tables.chain(agreement(report).map(Part::Lines))
}

/// A sentence on each scenario: the number of published migrations that it makes.
fn agreement(report: &Report) -> impl Iterator<Item = String> {
    report.agreement.iter().map(|total| {
        format!(
            "Of {} migrations that the papers state, scenario {} makes {} ({}), and {} ({}) in the same call; \
             of {} hosts named, {} agree.",
            total.stated,
            total.scenario,
            total.set,
            share(total.set, total.stated),
            total.call,
            share(total.call, total.stated),
            total.named,
            total.host,
        )
    })
}

/// A table below its title.
fn titled(title: &str, table: document::Table) -> [Part; 2] {
    [Part::Lines(title.to_owned()), Part::Table(table)]
}

/// `part` of `whole` in percent.
pub(super) fn share(part: usize, whole: usize) -> String {
    let part = real(length(part)) / real(length(whole));
    format!("{:.0} %", part * 100.0)
}

/// A relative error in percent, with its sign.
pub(super) fn signed(error: f64) -> String {
    format!("{:+.2} %", error * 100.0)
}

/// A mean relative error in percent.
pub(super) fn percent(error: f64) -> String {
    format!("{:.2} %", error * 100.0)
}

/// Number of decimals of a table.
pub(super) const fn decimals(table: Table) -> u8 {
    if table.is_makespans() { 2 } else { 4 }
}

fn cells_table(of: Table, cells: &[&CellReport]) -> [Part; 2] {
    let row = of.application().row_name();
    let headers = [
        row,
        "processes",
        "α",
        "scenario",
        "paper",
        "ours",
        "error",
        "moves",
        "",
    ];
    let rows = cells.iter().map(|cell| {
        vec![
            cell.row.to_string(),
            cell.processes.to_string(),
            cell.alpha
                .map_or_else(String::new, |alpha| alpha.to_string()),
            cell.scenario.to_owned(),
            rounded(cell.paper, decimals(of)),
            rounded(cell.ours, decimals(of)),
            signed(cell.error),
            cell.migrations.to_string(),
            if cell.flagged { FLAG } else { "" }.to_owned(),
        ]
    });
    let table = document::Table::new(headers, rows).dispensing(&[7, 8]);
    titled(&format!("{} (seconds)", of.title()), table)
}

fn migrations(statements: &[StatedReport]) -> [Part; 2] {
    let headers = [
        "",
        "processes",
        "row",
        "α",
        "after",
        "process",
        "to",
        "scenario",
        "ours",
    ];
    let rows = statements.iter().flat_map(|stated| {
        stated.ours.iter().map(|ours| {
            vec![
                stated.application.title().to_owned(),
                stated.processes.to_string(),
                stated.row.to_string(),
                stated.alpha.to_string(),
                stated
                    .call
                    .map_or_else(String::new, |call| call.to_string()),
                stated.process.clone(),
                stated.destination.clone(),
                ours.scenario.to_owned(),
                if ours.moves.is_empty() {
                    "stays".to_owned()
                } else {
                    ours.moves.join(", ")
                },
            ]
        })
    });
    let table = document::Table::new(headers, rows).dispensing(&[0]);
    titled("Published migrations", table)
}

fn means(report: &Report) -> [Part; 2] {
    let headers = [
        "over",
        "scenario",
        "cells",
        "error",
        "without flagged",
        "cells",
    ];
    let rows = report.means.iter().map(|mean| {
        vec![
            mean.over.clone(),
            mean.scenario.to_owned(),
            mean.cells.to_string(),
            percent(mean.error),
            mean.unflagged_error.map_or_else(String::new, percent),
            mean.unflagged_cells.to_string(),
        ]
    });
    titled(
        "Mean absolute relative errors",
        document::Table::new(headers, rows),
    )
}

fn gains(report: &Report) -> [Part; 2] {
    let headers = ["", "processes", "row", "α", "paper", "ours"];
    let rows = report.gains.iter().map(|gain| {
        vec![
            gain.application.title().to_owned(),
            gain.processes.to_string(),
            gain.row.to_string(),
            gain.alpha
                .map_or_else(String::new, |alpha| alpha.to_string()),
            format!("{:.0} %", gain.paper * 100.0),
            format!("{:.1} %", gain.ours * 100.0),
        ]
    });
    titled(
        "Saving of scenario iii compared with scenario i",
        document::Table::new(headers, rows),
    )
}

/// Mark of a cell that contradicts other cells of the papers.
pub(super) const FLAG: &str = "contradicts other cells";

/// Means by part and scenario, then gains, then migrations.
pub fn summary(report: &Report) -> Document {
    Document::of(conclusions(report, means_by_scenario))
}

fn means_by_scenario(report: &Report) -> [Part; 2] {
    let mut rows: Vec<(&str, BTreeMap<&str, f64>)> = Vec::new();
    for mean in &report.means {
        if rows.last().is_none_or(|(over, _)| *over != mean.over) {
            rows.push((&mean.over, BTreeMap::new()));
        }
        if let Some((_, errors)) = rows.last_mut() {
            errors.insert(mean.scenario, mean.error);
        }
    }
    let mut scenarios: Vec<&str> = Vec::new();
    for mean in &report.means {
        if !scenarios.contains(&mean.scenario) {
            scenarios.push(mean.scenario);
        }
    }
    let headers: Vec<&str> = ["over"].into_iter().chain(scenarios.clone()).collect();
    let rows = rows.into_iter().map(|(over, errors)| {
        let error = |scenario: &&str| {
            errors
                .get(scenario)
                .copied()
                .map_or_else(String::new, percent)
        };
        let over = over.to_owned();
        let errors = scenarios.iter().map(error);
        [over].into_iter().chain(errors).collect::<Vec<String>>()
    });
    titled(
        "Mean absolute relative errors",
        document::Table::new(headers, rows),
    )
}
