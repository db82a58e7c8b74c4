//! One form of all answers: a document of lines, tables, lists and figures, which is rendered as text for people and as a part
//! of a page; and rows for programs, as CSV.
//!
//! A command computes an [`Answer`]: data that are JSON as they are, the document about them, and their rows. It renders
//! nothing itself.

use std::io::Write;

use experiments::{CsvTable, Failure, Provenance, Published};
use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::Value;

use crate::chart::{Bars, text_bars};
use crate::text::Layout;

/// A result of a command.
pub trait Answer: Published {
    /// What it says to people.
    fn document(&self) -> Document;

    /// Its rows as CSV, after what made them.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure>;
}

/// Parts below each other, with an empty line between them.
#[derive(Clone, Debug, Default)]
pub struct Document {
    parts: Vec<Part>,
}

/// A part of a document.
#[derive(Clone, Debug)]
pub enum Part {
    /// Lines as they are, without the last line break: a sentence has one.
    Lines(String),
    /// Lines that are broken for files; a terminal has its own.
    Paragraph(String),
    /// A table.
    Table(Table),
    /// Items below a title, a line for each.
    List(String, Vec<String>),
    /// A figure.
    Figure(Figure),
}

impl Document {
    /// A document of these parts.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
        }
    }

    /// Appends lines, if there are any.
    pub fn say(&mut self, lines: impl Into<String>) {
        self.parts.push(Part::Lines(lines.into()));
    }

    /// Appends a paragraph, without its last line break.
    pub fn paragraph(&mut self, lines: impl Into<String>) {
        self.parts.push(Part::Paragraph(lines.into()));
    }

    /// Appends a table.
    pub fn table(&mut self, table: Table) {
        self.parts.push(Part::Table(table));
    }

    /// Appends these parts.
    pub fn extend(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.parts.extend(parts);
    }

    /// The document as text.
    pub fn text(&self, layout: Layout) -> String {
        let parts = self.parts.iter().map(|part| part.text(layout));
        parts.collect::<Vec<String>>().join("\n")
    }

    /// The document as a part of a page.
    pub(crate) fn page(&self) -> Markup {
        html! { @for part in &self.parts { (part.page()) } }
    }
}

impl IntoIterator for Document {
    type Item = Part;
    type IntoIter = std::vec::IntoIter<Part>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.into_iter()
    }
}

impl Part {
    fn text(&self, layout: Layout) -> String {
        match self {
            Self::Lines(lines) => format!("{lines}\n"),
            Self::Paragraph(lines) => layout.paragraph(&format!("{lines}\n")),
            Self::Table(table) => table.text(layout),
            Self::List(title, items) => {
                let items = items.iter().map(|item| format!("  {item}\n"));
                format!("{title}:\n{}", items.collect::<String>())
            }
            Self::Figure(figure) => figure.text(layout),
        }
    }

    fn page(&self) -> Markup {
        match self {
            Self::Lines(lines) | Self::Paragraph(lines) => html! { p { (lines) } },
            Self::Table(table) => table.page(),
            Self::List(title, items) => {
                html! { p { (title) ":" } ul { @for item in items { li { (item) } } } }
            }
            Self::Figure(figure) => {
                html! { figure.forces { (PreEscaped(figure.bars.svg())) } }
            }
        }
    }
}

/// A chart of bars: lines of text, or a picture.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What the lines show.
    pub(crate) caption: String,
    /// A line for each name and value.
    pub(crate) lines: Vec<(String, f64)>,
    /// Characters of all bars together, at most.
    pub(crate) width: usize,
    /// The picture.
    pub(crate) bars: Bars,
}

impl Figure {
    fn text(&self, layout: Layout) -> String {
        let bars = text_bars(&self.lines, self.width, layout);
        format!("{}:\n\n{bars}", self.caption)
    }
}

/// The columns of a table: of each its name, and the cell of a row, as a text for people or as a value for CSV.
pub type Columns<'n, 'a, R, C = Value> = [(&'n str, &'a dyn Fn(&R) -> C)];

/// What is shown of a long table.
#[derive(Clone, Copy, Debug, Default)]
enum TablePart {
    #[default]
    Whole,
    /// The first rows, if they are enough, and a line that says how many others there are.
    First(usize, fn(usize) -> String),
    /// The first of each so many rows.
    FirstOfEach(usize),
}

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows; may be empty.
    caption: String,
    /// Names of the columns.
    headers: Vec<String>,
    /// Each with a cell for every column.
    rows: Vec<Vec<String>>,
    /// The columns that a narrow table can do without, by position, in the order in which they are left out.
    dispensable: Vec<usize>,
    /// What is shown of it unless long tables are shown whole.
    part: TablePart,
    /// What follows it, unless rows are left out; may be empty.
    rest: String,
}

impl Table {
    /// The table of these rows below `headers`.
    pub fn new<H: Into<String>>(
        headers: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        Self {
            headers: headers.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The table of `rows`: of each column its name, and the cell of a row.
    pub fn of<R>(rows: impl IntoIterator<Item = R>, columns: &Columns<'_, '_, R, String>) -> Self {
        let row = |row: R| columns.iter().map(|(_, cell)| cell(&row)).collect();
        Self::new(
            columns.iter().map(|(name, _)| *name),
            rows.into_iter().map(row),
        )
    }

    /// The same below a caption.
    #[must_use]
    pub fn captioned(self, caption: impl Into<String>) -> Self {
        Self {
            caption: caption.into(),
            ..self
        }
    }

    /// The same, which can do without these columns where lines are short: the first one is left out first.
    #[must_use]
    pub fn dispensing(self, columns: &[usize]) -> Self {
        Self {
            dispensable: columns.to_vec(),
            ..self
        }
    }

    /// The same, of which this many rows are enough unless long tables are shown whole; `more` says how many are left out.
    #[must_use]
    pub fn cut(self, rows: usize, more: fn(usize) -> String) -> Self {
        Self {
            part: TablePart::First(rows, more),
            ..self
        }
    }

    /// The same, of which one of each so many rows is enough unless long tables are shown whole.
    #[must_use]
    pub fn thinned(self, every: usize) -> Self {
        Self {
            part: TablePart::FirstOfEach(every),
            ..self
        }
    }

    /// The same, followed by these lines.
    #[must_use]
    pub fn followed(self, rest: impl Into<String>) -> Self {
        Self {
            rest: rest.into(),
            ..self
        }
    }

    /// Its rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The rows that are shown, and what follows them.
    fn shown(&self, layout: Layout) -> (Vec<&Vec<String>>, String) {
        let (few, every, more) = match self.part {
            TablePart::First(few, more) => {
                let (few, left_out) = layout.cut(self.rows.len(), few);
                (few, 1, (0 < left_out).then(|| more(left_out)))
            }
            TablePart::FirstOfEach(every) if !layout.is_whole => (usize::MAX, every, None),
            _ => (usize::MAX, 1, None),
        };
        let rows = self.rows.iter().step_by(every).take(few).collect();
        (rows, more.unwrap_or_else(|| self.rest.clone()))
    }

    fn text(&self, layout: Layout) -> String {
        let (rows, rest) = self.shown(layout);
        let headers: Vec<&str> = self.headers.iter().map(String::as_str).collect();
        let mut text = layout.table(&headers, rows.into_iter().cloned(), &self.dispensable);
        if !self.caption.is_empty() {
            text.insert_str(0, &format!("{}:\n\n", self.caption));
        }
        if !rest.is_empty() {
            text.push_str(&format!("{rest}\n"));
        }
        text
    }

    /// As a part of a page. Columns of numbers are aligned to the right.
    pub(crate) fn page(&self) -> Markup {
        let (rows, rest) = self.shown(Layout::default());
        let columns = 0..self.headers.len();
        let is_number: Vec<bool> = columns.map(|column| is_number(&rows, column)).collect();
        html! {
            div.scroll {
                table {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for (header, is_number) in self.headers.iter().zip(&is_number) {
                                th class=[is_number.then_some("number")] scope="col" { (header) }
                            }
                        }
                    }
                    tbody {
                        @for row in &rows {
                            tr {
                                @for (cell, is_number) in row.iter().zip(&is_number) {
                                    td class=[is_number.then_some("number")] { (cell) }
                                }
                            }
                        }
                    }
                }
            }
            @if !rest.is_empty() { p.rest { (rest.trim()) } }
        }
    }

    /// The same rows as CSV, of the form `schema`.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub(crate) fn csv(
        &self,
        schema: &'static str,
        provenance: &Provenance,
    ) -> Result<String, Failure> {
        let header = self.headers.iter().map(String::as_str);
        let mut table = CsvTable::with_header(schema, provenance, header)?;
        for row in &self.rows {
            table.push(row)?;
        }
        table.text()
    }
}

/// Whether a column has numbers, which may be parts in percent, and nothing else.
fn is_number(rows: &[&Vec<String>], column: usize) -> bool {
    let cells = || rows.iter().map(|row| row[column].as_str());
    let is_part = |character: char| character.is_ascii_digit() || "+-.e %".contains(character);
    cells().any(|cell| !cell.is_empty())
        && cells().all(|cell| cell.chars().all(is_part) || cell == "…")
}

/// Appends a row to `table`, which has the header of `columns`.
///
/// # Errors
///
/// If its output refuses.
pub(crate) fn push<R, W: Write>(
    table: &mut CsvTable<W>,
    columns: &Columns<'_, '_, R>,
    row: &R,
) -> Result<(), Failure> {
    let cells: Vec<Value> = columns.iter().map(|(_, cell)| cell(row)).collect();
    table.push(cells)
}

/// The CSV of `rows`, in the form of an answer.
///
/// # Errors
///
/// If the writer fails, which a buffer in memory does not.
pub fn csv<A: Published, R>(
    provenance: &Provenance,
    rows: impl IntoIterator<Item = R>,
    columns: &Columns<'_, '_, R>,
) -> Result<String, Failure> {
    let header = columns.iter().map(|(name, _)| *name);
    let mut table = CsvTable::with_header(A::SCHEMA, provenance, header)?;
    for row in rows {
        push(&mut table, columns, &row)?;
    }
    table.text()
}

/// The CSV of `rows`, in the form of an answer; their fields are the columns.
///
/// # Errors
///
/// If the writer fails, which a buffer in memory does not.
pub fn csv_of_fields<A: Published, R: Serialize>(
    provenance: &Provenance,
    rows: impl IntoIterator<Item = R>,
) -> Result<String, Failure> {
    let mut table = CsvTable::new(A::SCHEMA, provenance);
    for row in rows {
        table.push(row)?;
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 4]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn columns_of_numbers_are_aligned_and_no_others() {
        let rows = [
            row(["1", "+5.0 %", "p21", "0.5 without the call"]),
            row(["…", "", "7", "1e-3"]),
        ];
        let all: Vec<&Vec<String>> = rows.iter().collect();
        let columns: Vec<bool> = (0..4).map(|column| is_number(&all, column)).collect();
        assert_eq!(columns, [true, true, false, false]);
        let table = Table::new(["#", "share", "name", "why"], rows).captioned("a < b");
        let page = table.page().into_string();
        assert!(page.contains("<caption>a &lt; b</caption>"), "{page}");
        assert!(
            page.contains("<th class=\"number\" scope=\"col\">share</th>"),
            "{page}"
        );
        assert!(page.contains("<td>p21</td>"), "{page}");
    }

    #[test]
    fn parts_are_separated_by_empty_lines_and_long_tables_are_cut() {
        let mut document = Document::default();
        document.say("A sentence.");
        let rows = (0..9).map(|number| vec![number.to_string()]);
        let table = Table::new(["n"], rows).captioned("Numbers");
        document.table(
            table
                .cut(2, |more| format!(" … {more} more"))
                .followed("all"),
        );
        document.extend([Part::List(
            "See".to_owned(),
            vec!["a".to_owned(), "b".to_owned()],
        )]);
        let text = "A sentence.\n\nNumbers:\n\n n\n 0\n 1\n … 7 more\n\nSee:\n  a\n  b\n";
        assert_eq!(document.text(Layout::default()), text);
        let whole = Layout {
            is_whole: true,
            ..Layout::default()
        };
        assert!(document.text(whole).contains(" 8\nall\n\nSee:"));
    }
}
