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

/// A table of an answer. Columns of numbers are aligned to the right.
pub(crate) fn table(sheet: &Sheet) -> Markup {
    let columns = 0..sheet.headers.len();
    let is_number: Vec<bool> = columns.map(|column| is_number(sheet, column)).collect();
    html! {
        div.scroll {
            table {
                caption { (sheet.caption) }
                thead {
                    tr {
                        @for (header, is_number) in sheet.headers.iter().zip(&is_number) {
                            th class=[is_number.then_some("number")] scope="col" { (header) }
                        }
                    }
                }
                tbody {
                    @for row in &sheet.rows {
                        tr {
                            @for (cell, is_number) in row.iter().zip(&is_number) {
                                td class=[is_number.then_some("number")] { (cell) }
                            }
                        }
                    }
                }
            }
        }
        @if !sheet.rest.is_empty() { p.rest { (sheet.rest.trim()) } }
    }
}

/// Whether a column has numbers, which may be parts in percent, and nothing else.
fn is_number(sheet: &Sheet, column: usize) -> bool {
    let cells = || sheet.rows.iter().map(|row| row[column].as_str());
    let is_part = |character: char| character.is_ascii_digit() || "+-.e %".contains(character);
    cells().any(|cell| !cell.is_empty())
        && cells().all(|cell| cell.chars().all(is_part) || cell == "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_aligned_and_no_others() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let sheet = Sheet {
            caption: "a < b".to_owned(),
            headers: vec!["#", "share", "name", "why"],
            rows: vec![
                row(["1", "+5.0 %", "p21", "0.5 without the call"]),
                row(["…", "", "7", "1e-3"]),
            ],
            ..Sheet::default()
        };
        let columns: Vec<bool> = (0..4).map(|column| is_number(&sheet, column)).collect();
        assert_eq!(columns, [true, true, false, false]);
        let page = table(&sheet).into_string();
        assert!(page.contains("<caption>a &lt; b</caption>"), "{page}");
        assert!(
            page.contains("<th class=\"number\" scope=\"col\">share</th>"),
            "{page}"
        );
        assert!(page.contains("<td>p21</td>"), "{page}");
    }
}
