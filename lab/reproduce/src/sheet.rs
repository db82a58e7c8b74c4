//! Results as tables of texts, for a terminal or a page.

use analysis::document::{Document, Table};
use analysis::page::{Heading, page_of};
use maud::{Markup, PreEscaped, Render, html};

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    title: String,
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    pub(crate) fn new(
        title: impl Into<String>,
        headers: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        Self {
            title: title.into(),
            headers: headers.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.into_iter().collect(),
        }
    }
}

/// What a check says of a claim.
pub(crate) fn verdict(holds: bool) -> String {
    if holds { "holds" } else { "missed" }.to_owned()
}

/// The tables, then `notes`, whose lines are broken for files.
pub(crate) fn document(sheets: Vec<Sheet>, notes: String) -> Document {
    let mut document = Document::default();
    for sheet in sheets {
        document.say(sheet.title);
        document.table(Table::new(sheet.headers, sheet.rows));
    }
    document.paragraph(notes);
    document
}

/// A page with a section for each table, below the chart of the same place, if there is one.
pub(crate) fn page(title: &str, notes: &str, sheets: &[Sheet], charts: &[String]) -> String {
    let numbered = sheets.iter().zip(1..);
    let heading =
        |(sheet, number): (&Sheet, usize)| Heading::new(&format!("section-{number}"), &sheet.title);
    let contents: Vec<Heading> = numbered.map(heading).collect();
    let sections = html! {
        @for (index, (sheet, heading)) in sheets.iter().zip(&contents).enumerate() {
            (heading)
            @if let Some(chart) = charts.get(index) { figure { (PreEscaped(chart)) } }
            (sheet)
        }
    };
    page_of(title, notes, &contents, &sections)
}

impl Render for Sheet {
    fn render(&self) -> Markup {
        html! {
            table {
                tr { @for header in &self.headers { th { (header) } } }
                @for row in &self.rows {
                    tr { @for cell in row { td.number[is_number(cell)] { (cell) } } }
                }
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|first: char| first.is_ascii_digit())
}
