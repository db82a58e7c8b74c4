//! Our numbers by the papers' as charts.

use crate::application::Application;
use crate::cell::Table;
use crate::cell_report::CellReport;
use crate::run::Variant;
use analysis::chart::{Lines, Scale, Series, Style};

/// The charts of a table as SVG, one for each interval, or for each number of processes.
///
/// Numbers of one table differ by three orders of magnitude: each of ours is divided by that of the papers, so that 1
/// is equality.
pub(super) fn charts(table: Table, cells: &[&CellReport]) -> Vec<String> {
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
