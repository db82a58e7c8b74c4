//! The papers' numbers and ours as a self-contained page.

use analysis::page::{Heading, page_of};
use maud::{Markup, PreEscaped, html};

use crate::agreement::StatedReport;
use crate::cell::Table;
use crate::cell_report::CellReport;
use crate::plot::charts;
use crate::report::Report;
use crate::text::{FLAG, decimals, percent, share, signed};
use analysis::text::rounded;

/// The page.
pub fn page(report: &Report) -> String {
    let sections = html! {
        @if !report.means.is_empty() { (means(report)) }
        @if !report.gains.is_empty() { (gains(report)) }
        @for (table, cells) in report.tables() { (section(table, &cells)) }
        @if !report.migrations.is_empty() { (migrations(report)) }
    };
    let mut contents = Vec::new();
    if !report.means.is_empty() {
        contents.push(Heading::new("errors", ERRORS));
    }
    if !report.gains.is_empty() {
        contents.push(Heading::new("savings", SAVINGS));
    }
    let tables = report.tables();
    contents.extend(tables.map(|(table, _)| Heading::new(table.name(), table.title())));
    if !report.migrations.is_empty() {
        contents.push(Heading::new("migrations", MIGRATIONS));
    }
    page_of("The papers' tables and ours", PREFACE, &contents, &sections)
}

fn means(report: &Report) -> Markup {
    html! {
        (Heading::new("errors", ERRORS))
        table {
            tr { th { "over" } th { "scenario" } th { "cells" } th { "error" } th { "without contradictory cells" } }
            @for mean in &report.means {
                tr {
                    td { (mean.over) }
                    td { (mean.scenario) }
                    td.number { (mean.cells) }
                    td.number { (percent(mean.error)) }
                    td.number { (mean.unflagged_error.map_or_else(String::new, percent)) }
                }
            }
        }
    }
}

fn gains(report: &Report) -> Markup {
    html! {
        (Heading::new("savings", SAVINGS))
        table {
            tr { th { "application" } th { "processes" } th { "row" } th { "paper" } th { "ours" } }
            @for gain in &report.gains {
                tr {
                    td { (gain.application.title()) }
                    td.number { (gain.processes) }
                    td.number { (gain.row) }
                    td.number { (format!("{:.0} %", gain.paper * 100.0)) }
                    td.number { (format!("{:.1} %", gain.ours * 100.0)) }
                }
            }
        }
    }
}

fn section(of: Table, cells: &[&CellReport]) -> Markup {
    html! {
        (Heading::new(of.name(), of.title()))
        @for chart in charts(of, cells) { figure { (PreEscaped(chart)) } }
        table {
            tr {
                th { (of.application().row_name()) } th { "processes" } th { "α" } th { "scenario" }
                th { "paper (s)" } th { "ours (s)" } th { "error" } th { "moves" } th {}
            }
            @for cell in cells {
                tr.flagged[cell.flagged] {
                    td.number { (cell.row) }
                    td.number { (cell.processes) }
                    td.number { @if let Some(alpha) = cell.alpha { (alpha) } }
                    td { (cell.scenario) }
                    td.number { (rounded(cell.paper, decimals(of))) }
                    td.number { (rounded(cell.ours, decimals(of))) }
                    td.number { (signed(cell.error)) }
                    td.number { (cell.migrations) }
                    td { @if cell.flagged { (FLAG) } }
                }
            }
        }
    }
}

fn migrations(report: &Report) -> Markup {
    html! {
        (Heading::new("migrations", MIGRATIONS))
        @for total in &report.agreement {
            p {
                "Scenario " (total.scenario) " makes " (total.set) " of " (total.stated) " ("
                (share(total.set, total.stated)) "), " (total.call) " ("
                (share(total.call, total.stated)) ") in the same call; of " (total.named)
                " hosts named, " (total.host) " agree."
            }
        }
        table {
            tr {
                th { "application" } th { "processes" } th { "row" } th { "α" } th { "after" }
                th { "process" } th { "to" } th { "scenario" } th { "ours" }
            }
            @for stated in &report.migrations { (statement(stated)) }
        }
    }
}

fn statement(stated: &StatedReport) -> Markup {
    html! {
        @for ours in &stated.ours {
            tr.missed[ours.set < stated.count] {
                td { (stated.application.title()) }
                td.number { (stated.processes) }
                td.number { (stated.row) }
                td.number { (stated.alpha) }
                td.number { @if let Some(call) = stated.call { (call) } }
                td { (stated.process) }
                td { (stated.destination) }
                td { (ours.scenario) }
                td { @if ours.moves.is_empty() { "stays" } @else { (ours.moves.join(", ")) } }
            }
        }
    }
}

const ERRORS: &str = "Mean absolute relative errors";
const SAVINGS: &str = "Saving of scenario iii compared with scenario i";
const MIGRATIONS: &str = "Published migrations";

const PREFACE: &str = "Every number that the papers print, the number of our run, and the relative error. \
    Charts show our number divided by the papers': 1 is equality. \
    Scenario iii-forced makes the migrations that the papers state; iii-receive-time breaks ties \
    between equal potentials by the time of receiving instead of the rank. Numbers that contradict \
    other numbers of the papers are grey; they count in the means all the same.";
