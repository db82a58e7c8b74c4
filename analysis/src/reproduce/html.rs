//! The papers' numbers and ours as a self-contained page.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

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

/// The heading of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    id: String,
    title: String,
}

impl Heading {
    pub(crate) fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
        }
    }
}

impl Render for Heading {
    fn render(&self) -> Markup {
        html! { h2 id=(self.id) { (self.title) } }
    }
}

/// A page with a title, a paragraph, a table of contents, and sections.
pub(crate) fn page_of(
    title: &str,
    preface: &str,
    contents: &[Heading],
    sections: &Markup,
) -> String {
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
                nav aria-label="Contents" {
                    ul {
                        @for heading in contents {
                            li { a href=(format!("#{}", heading.id)) { (heading.title) } }
                        }
                    }
                }
                (sections)
            }
        }
    };
    page.into_string() + "\n"
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

/// Style of the page.
const STYLE: &str = ":root { color-scheme: light dark; --page: #fff; --ink: #222; --muted: #767676; --line: #e1e1e1; --missed: #fdf3e7; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --page: #0d1117; --ink: #e6edf3; --muted: #919191; --line: #30363d; --missed: #3a2a12; --link: #79c0ff; } }
body { font: 15px/1.5 sans-serif; color: var(--ink); background: var(--page); max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--link); }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.15rem 0.7rem; border-bottom: 1px solid var(--line); text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.flagged { color: var(--muted); }
tr.missed { background: var(--missed); }
figure { margin: 1rem 0; overflow-x: auto; }
";
