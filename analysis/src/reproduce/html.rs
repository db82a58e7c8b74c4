//! The papers' numbers and ours as a self-contained page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::reproduce::agreement::StatedReport;
use crate::reproduce::cell::Table;
use crate::reproduce::cell_report::CellReport;
use crate::reproduce::plot::charts;
use crate::reproduce::report::Report;
use crate::reproduce::text::{FLAG, decimals, percent, share, signed};
use crate::text::rounded;

/// The page.
pub fn page(report: &Report) -> String {
    let sections = html! {
        @if !report.means.is_empty() { (means(report)) }
        @if !report.gains.is_empty() { (gains(report)) }
        @for (table, cells) in report.tables() { (section(table, &cells)) }
        @if !report.migrations.is_empty() { (migrations(report)) }
    };
    page_of("The papers' tables and ours", PREFACE, &sections)
}

/// A page with a title, a paragraph, and sections.
pub(in crate::reproduce) fn page_of(title: &str, preface: &str, sections: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p { (preface) }
                (sections)
            }
        }
    };
    page.into_string() + "\n"
}

fn means(report: &Report) -> Markup {
    html! {
        h2 { "Mean absolute relative errors" }
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
        h2 { "Saving of scenario iii compared with scenario i" }
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
        h2 id=(of.name()) { (of.title()) }
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
        h2 id="migrations" { "Published migrations" }
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

const PREFACE: &str = "Every number that the papers print, the number of our run, and the relative error. \
    Scenario iii-forced makes the migrations that the papers state; iii-receive-time breaks ties \
    between equal potentials by the time of receiving instead of the rank. Numbers that contradict \
    other numbers of the papers are grey; they count in the means all the same.";

/// Style of the page.
const STYLE: &str = "body { font: 15px/1.5 sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.15rem 0.7rem; border-bottom: 1px solid #e1e1e1; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.flagged { color: #888; }
tr.missed { background: #fdf3e7; }
figure { margin: 1rem 0; overflow-x: auto; }
";
