//! The papers' numbers and ours as charts.

use crate::chart::{Lines, Series, Style};
use crate::reproduce::application::Application;
use crate::reproduce::cell::Table;
use crate::reproduce::cell_report::CellReport;
use crate::reproduce::run::Variant;

/// The charts of a table as SVG, one for each interval, or for each number of processes.
///
/// Times of one table differ by three orders of magnitude: a time is divided by the published one of
/// scenario i, so that rescheduling gains below 1. Table 6 is drawn in seconds.
pub(super) fn charts(table: Table, cells: &[&CellReport]) -> Vec<String> {
    let mut groups: Vec<Option<u32>> = cells.iter().filter_map(|cell| group(table, cell)).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
        .into_iter()
        .map(|group| chart(table, group, cells).svg())
        .collect()
}

/// The chart of a cell; `None`: none, because other cells are divided by it.
fn group(table: Table, cell: &CellReport) -> Option<Option<u32>> {
    match table {
        Table::Table6 | Table::Fig16 => Some(None),
        Table::Table9 => Some(Some(cell.processes)),
        _ if cell.scenario == Variant::I.name() => None,
        _ => Some(cell.alpha),
    }
}

fn chart(table: Table, drawn: Option<u32>, cells: &[&CellReport]) -> Lines {
    let mut series = Vec::new();
    for variant in Variant::ALL {
        let own = || {
            cells
                .iter()
                .filter(|cell| cell.scenario == variant.name() && group(table, cell) == Some(drawn))
        };
        let points = |value: &dyn Fn(&CellReport) -> f64| -> Vec<(f64, f64)> {
            let point = |cell: &&&CellReport| {
                (
                    horizontal(table, cell),
                    value(cell) / unit(table, cell, cells),
                )
            };
            own().map(|cell| point(&cell)).collect()
        };
        if own().next().is_none() {
            continue;
        }
        let is_printed = matches!(variant, Variant::I | Variant::Ii | Variant::Iii);
        if is_printed && !(variant == Variant::I && table.is_makespans()) {
            series.push(Series {
                name: format!("{}, paper", variant.name()),
                points: points(&|cell| cell.paper),
                style: Style::Marks,
            });
        }
        series.push(Series {
            name: format!("{}, ours", variant.name()),
            points: points(&|cell| cell.ours),
            style: if is_printed {
                Style::Line
            } else {
                Style::Dashed
            },
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
        y_label: if table.is_makespans() {
            "time by the papers' scenario i".to_owned()
        } else {
            "seconds".to_owned()
        },
        x_is_log: true,
        series,
    }
}

/// The divisor of a value.
fn unit(table: Table, cell: &CellReport, cells: &[&CellReport]) -> f64 {
    if !table.is_makespans() {
        return 1.0;
    }
    let alone = cells.iter().find(|other| {
        other.scenario == Variant::I.name()
            && (other.row, other.processes) == (cell.row, cell.processes)
    });
    alone.map_or(f64::NAN, |alone| alone.paper)
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
    fn every_interval_has_a_chart_of_both() {
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
        for name in [
            "ii, paper",
            "ii, ours",
            "iii, paper",
            "iii, ours",
            "iii-forced, ours",
        ] {
            assert!(charts[1].contains(name), "{name}: {}", charts[1]);
        }
    }
}
