//! The papers' numbers and ours as a self-contained page.

use analysis::chart::{Lines, Scale, Series, Style};
use analysis::page::{Heading, page_of};
use analysis::text::rounded;
use maud::{Markup, PreEscaped, html};

use crate::published::{Application, Table};
use crate::report::{CellReport, Report, StatedReport};
use crate::runs::Variant;
use crate::text::{FLAG, decimals, percent, share, signed};

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

/// The charts of a table as SVG, one for each interval, or for each number of processes.
///
/// Numbers of one table differ by three orders of magnitude: each of ours is divided by that of the papers, so that 1
/// is equality.
fn charts(table: Table, cells: &[&CellReport]) -> Vec<String> {
    let mut groups: Vec<Option<u32>> = cells.iter().filter_map(|cell| group(table, cell)).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
        .into_iter()
        .map(|group| chart(table, group, cells).svg())
        .collect()
}

/// The chart of a cell; `None`: all of the table, because scenario i has no interval.
fn group(table: Table, cell: &CellReport) -> Option<Option<u32>> {
    match table {
        Table::Table6 | Table::Fig16 => Some(None),
        Table::Table9 => Some(Some(cell.processes)),
        _ if cell.scenario == Variant::I.name() => None,
        _ => Some(cell.alpha),
    }
}

fn chart(table: Table, drawn: Option<u32>, cells: &[&CellReport]) -> Lines {
    let mut series: Vec<Series> = Vec::new();
    let mut last = None;
    for variant in Variant::ALL {
        let own = cells.iter().filter(|cell| {
            cell.scenario == variant.name() && group(table, cell).is_none_or(|group| group == drawn)
        });
        let points: Vec<(f64, f64)> = own
            .map(|cell| (horizontal(table, cell), cell.ours / cell.paper))
            .collect();
        if points.is_empty() {
            continue;
        }
        let scenario = variant.scenario();
        series.push(Series {
            name: variant.name().to_owned(),
            points,
            style: match variant {
                Variant::I | Variant::Ii | Variant::Iii => Style::Line,
                Variant::Forced => Style::Dashed,
                Variant::ReceiveTime => Style::Marks,
            },
            // All that is compared with one scenario of the papers has one colour.
            is_paired: last.replace(scenario) == Some(scenario),
        });
    }
    let name = drawn.map_or_else(String::new, |number| match table {
        Table::Table9 => format!(", {number} processes"),
        _ => format!(", α = {number}"),
    });
    Lines {
        title: format!("{}{name}", table.title()),
        note: String::new(),
        x_label: horizontal_name(table).to_owned(),
        y_label: "ours / paper".to_owned(),
        x_is_log: true,
        y_scale: Scale::Around(1.0),
        series,
        ..Lines::default()
    }
}

fn horizontal(table: Table, cell: &CellReport) -> f64 {
    let number = if is_over_processes(table) {
        cell.processes
    } else {
        u32::try_from(cell.row).unwrap_or(u32::MAX)
    };
    f64::from(number)
}

fn horizontal_name(table: Table) -> &'static str {
    if is_over_processes(table) {
        "processes"
    } else if table.application() == Application::LatticeBoltzmann {
        "supersteps"
    } else {
        "order of the matrix"
    }
}

const fn is_over_processes(table: Table) -> bool {
    matches!(table, Table::Table6 | Table::Table7 | Table::Fig16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interval_has_a_chart_of_ratios() {
        let cell = |scenario, alpha, row| CellReport {
            table: "table2",
            row,
            processes: 25,
            alpha,
            scenario,
            paper: 2.0,
            ours: 3.0,
            error: 0.5,
            flagged: false,
            migrations: 0,
        };
        let cells = [
            cell("i", None, 10),
            cell("ii", Some(4), 10),
            cell("ii", Some(8), 10),
            cell("iii", Some(8), 10),
            cell("iii-forced", Some(8), 10),
        ];
        let cells: Vec<&CellReport> = cells.iter().collect();
        let charts = charts(Table::Table2, &cells);
        assert_eq!(charts.len(), 2);
        assert!(charts[0].contains("α = 4"), "{}", charts[0]);
        assert!(charts[0].contains(" i: 1.5000 at 10.00"), "{}", charts[0]);
        for name in ["i", "ii", "iii", "iii-forced"] {
            let description = format!(" {name}: 1.5000 at 10.00");
            assert!(charts[1].contains(&description), "{name}: {}", charts[1]);
        }
        assert!(!charts[1].contains("iii-receive-time"), "{}", charts[1]);
        let drawn = chart(Table::Table2, Some(8), &cells);
        let paired: Vec<bool> = drawn.series.iter().map(|series| series.is_paired).collect();
        assert_eq!(paired, [false, false, false, true]);
    }
}
