//! The answer as a part of a page.

use maud::{Markup, PreEscaped, html};

use crate::explain::report::{CallReport, Explanation};
use crate::explain::sheet::Sheet;
use crate::explain::sheets::{gained, paid, sheets};
use crate::text::{Layout, counted, rounded};

/// A call in one line: when it was, what it moved, what that took and whether it paid.
pub(crate) fn call_line(answer: &Explanation) -> String {
    let Some(call) = answer.calls.first() else {
        return String::new();
    };
    let mut parts = vec![format!("After superstep {}", call.summary.superstep)];
    parts.push(moved(call));
    parts.push(format!("cost {} s", rounded(call.summary.cost_seconds, 4)));
    if let Some(payback) = &call.payback {
        parts.push(format!("{} s per superstep", gained(payback)));
        parts.push(format!("paid after: {}", paid(payback)));
    }
    parts.join(" · ")
}

fn moved(call: &CallReport) -> String {
    match &call.moved[..] {
        [] => "no move".to_owned(),
        several => counted(several.len(), "move"),
    }
}

/// The answer: its sentences, its tables and, if asked for, the chart of the potentials.
pub(crate) fn answer_page(answer: &Explanation, has_chart: bool) -> Markup {
    let forces = answer.forces.as_ref().filter(|_| has_chart);
    html! {
        @for sentence in &answer.sentences { p { (sentence) } }
        @for sheet in sheets(answer, Layout::default()) { (table(&sheet)) }
        @if let Some(forces) = forces {
            figure.forces { (PreEscaped(forces.svg())) }
        }
    }
}

/// A table of an answer.
pub(crate) fn table(sheet: &Sheet) -> Markup {
    let is_number = |cell: &str| {
        let digits = cell.trim_start_matches(['+', '-']);
        digits.starts_with(|first: char| first.is_ascii_digit())
    };
    html! {
        div.scroll {
            table {
                caption { (sheet.caption) }
                thead { tr { @for header in &sheet.headers { th scope="col" { (header) } } } }
                tbody {
                    @for row in &sheet.rows {
                        tr { @for cell in row { td.number[is_number(cell)] { (cell) } } }
                    }
                }
            }
        }
        @if !sheet.rest.is_empty() { p.rest { (sheet.rest.trim()) } }
    }
}
