//! The paper's numbers and ours as a self-contained page.

use crate::chen::Part;
use crate::chen::cell::{Cell, Quantity, Report};
use crate::chen::sheet::{curves, names, sheets, short, title};
use crate::chen::text::preface;
use crate::sheet;
use analysis::chart::{Lines, Scale, Series, Style};

/// The page.
pub fn page(part: Part, report: &Report) -> String {
    let charts: Vec<String> = match part {
        Part::Figures => curves(report).map(chart).collect(),
        Part::Table2 | Part::Table3 | Part::Table4 => Vec::new(),
    };
    sheet::page(
        "Load rebalancing: the paper's numbers and ours",
        &preface(part, report.instances),
        &sheets(part, report),
        &charts,
    )
}

/// Costs of each algorithm, and the lower bound, by target.
fn chart(cells: &[Cell]) -> String {
    let points = |is_own: &dyn Fn(&Cell) -> bool| {
        let own = cells.iter().filter(|cell| is_own(cell));
        let point = |cell: &Cell| {
            (
                cell.target.unwrap_or(f64::NAN),
                cell.ours.unwrap_or(f64::NAN),
            )
        };
        own.map(point).collect()
    };
    let line = |name: &&str| Series {
        name: short(name),
        points: points(&|cell| {
            cell.quantity == Quantity::Cost && cell.algorithm.as_deref() == Some(*name)
        }),
        style: Style::Line,
        ..Series::default()
    };
    let mut series: Vec<Series> = names(cells).iter().map(line).collect();
    series.push(Series {
        name: "lower bound".to_owned(),
        points: points(&|cell| cell.quantity == Quantity::LowerBound),
        style: Style::Dashed,
        ..Series::default()
    });
    let costs = series.iter().flat_map(|series| &series.points);
    let costs: Vec<f64> = costs.map(|(_, cost)| *cost).collect();
    let lines = Lines {
        title: title(&cells[0]),
        note: String::new(),
        x_label: "target: highest level of a machine".to_owned(),
        y_label: "cost of migration (seconds)".to_owned(),
        x_is_log: false,
        y_scale: Scale::of(&costs),
        series,
    };
    lines.svg()
}
