//! The paper's numbers and ours as a self-contained page.

use maud::{Markup, PreEscaped, html};

use crate::chart::{Lines, Series, Style};
use crate::reproduce::chen::cell::{Cell, Quantity, Report};
use crate::reproduce::chen::part::Part;
use crate::reproduce::chen::sheet::{Sheet, curves, names, sheets, short, title};
use crate::reproduce::chen::text::preface;
use crate::reproduce::html::page_of;

/// The page.
pub fn page(part: Part, report: &Report) -> String {
    let charts: Vec<String> = match part {
        Part::Figures => curves(report).map(chart).collect(),
        Part::Table2 | Part::Table3 | Part::Table4 => Vec::new(),
    };
    let tables = html! {
        @for (index, sheet) in sheets(part, report).iter().enumerate() {
            (table(sheet, charts.get(index)))
        }
    };
    page_of(
        "Load rebalancing: the paper's numbers and ours",
        &preface(part, report.instances),
        &tables,
    )
}

fn table(sheet: &Sheet, chart: Option<&String>) -> Markup {
    html! {
        h2 { (sheet.title) }
        @if let Some(chart) = chart { figure { (PreEscaped(chart)) } }
        table {
            tr { @for header in &sheet.headers { th { (header) } } }
            @for row in &sheet.rows {
                tr { @for cell in row { td.number[is_number(cell)] { (cell) } } }
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|first: char| first.is_ascii_digit())
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
    };
    let mut series: Vec<Series> = names(cells).iter().map(line).collect();
    series.push(Series {
        name: "lower bound".to_owned(),
        points: points(&|cell| cell.quantity == Quantity::LowerBound),
        style: Style::Dashed,
    });
    let lines = Lines {
        title: title(&cells[0]),
        note: String::new(),
        x_label: "target: highest level of a machine".to_owned(),
        y_label: "cost of migration (seconds)".to_owned(),
        x_is_log: false,
        series,
    };
    lines.svg()
}
