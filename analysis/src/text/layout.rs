//! Tables and lines that fit where they are shown.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use textwrap::core::display_width;

/// How much of a text for people is shown, and in which width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Characters of a line, as of a terminal; `None`: no limit, as for files and pipes.
    pub width: Option<usize>,
    /// Whether long tables are shown whole.
    pub is_whole: bool,
}

impl Layout {
    /// `headers` and `rows` as a table for people, without lines that a copy would carry along; numbers
    /// stand to the right. Cells of a table that is too wide have several lines.
    pub fn table(self, headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
        self.reduced_table(headers, rows, &[])
    }

    /// The same, but the columns `dispensable` of a table that is too wide are left out, one after another in
    /// this order until it fits, and a line below it says so.
    pub fn reduced_table(
        self,
        headers: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
        dispensable: &[usize],
    ) -> String {
        let rows: Vec<Vec<String>> = rows.into_iter().collect();
        let mut kept = vec![true; headers.len()];
        let mut table = plain(headers, &rows, &kept);
        let Some(width) = self.width else {
            return trimmed(&table);
        };
        let mut left_out = Vec::new();
        for column in dispensable {
            if natural(&table) <= width {
                break;
            }
            kept[*column] = false;
            left_out.push(headers[*column]);
            table = plain(headers, &rows, &kept);
        }
        if width < natural(&table) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        let mut text = trimmed(&table);
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            let note = format!("(left out for a narrow terminal: {names})");
            text.push_str(&format!("\n{}\n", self.wrapped(&note)));
        }
        text
    }

    /// A paragraph whose lines are broken for files: a terminal has its own.
    pub fn paragraph(self, text: &str) -> String {
        let ends = text.len() - text.trim_end_matches('\n').len();
        match self.width {
            None => text.to_owned(),
            Some(_) => text.trim_end().replace('\n', " ") + &"\n".repeat(ends),
        }
    }

    /// Of a table with `rows` rows, of which `few` are enough: how many are shown, and how many are left out.
    pub fn cut(self, rows: usize, few: usize) -> (usize, usize) {
        // One more row is no longer than the line that says so.
        if self.is_whole || rows <= few.saturating_add(1) {
            (rows, 0)
        } else {
            (few, rows - few)
        }
    }

    /// `text` with lines that are too long broken between words.
    pub fn wrapped(self, text: &str) -> String {
        let Some(width) = self.width else {
            return text.to_owned();
        };
        let wrap = |line: &str| {
            if display_width(line) <= width {
                return line.to_owned();
            }
            let indent: String = line.chars().take_while(|first| *first == ' ').collect();
            let options = textwrap::Options::new(width)
                .subsequent_indent(&indent)
                .break_words(false);
            textwrap::wrap(line, options).join("\n")
        };
        let lines: Vec<String> = text.split('\n').map(wrap).collect();
        lines.join("\n")
    }
}

/// The table of the columns that are `kept`.
fn plain(headers: &[&str], rows: &[Vec<String>], kept: &[bool]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let of = |cells: Vec<String>| -> Vec<String> {
        let cells = cells.into_iter().zip(kept);
        cells
            .filter(|(_, kept)| **kept)
            .map(|(cell, _)| cell)
            .collect()
    };
    let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
    let headers = of(headers);
    let mut numeric = vec![true; headers.len()];
    table.set_header(headers);
    for row in rows {
        let row = of(row.clone());
        for (numeric, cell) in numeric.iter_mut().zip(&row) {
            let number = cell.trim_start_matches(['+', '-']);
            *numeric &=
                number.is_empty() || number.starts_with(|first: char| first.is_ascii_digit());
        }
        table.add_row(row);
    }
    for (column, numeric) in table.column_iter_mut().zip(numeric) {
        if numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Characters of a line of `table`, each cell with a space on either side; the last of them is not printed.
fn natural(table: &Table) -> usize {
    let widths = table.column_max_content_widths();
    let sum: usize = widths.iter().map(|width| usize::from(*width) + 2).sum();
    sum.saturating_sub(1)
}

fn trimmed(table: &Table) -> String {
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(width: usize) -> Layout {
        Layout {
            width: Some(width),
            ..Layout::default()
        }
    }

    fn rows() -> Vec<Vec<String>> {
        let rows = [["a-1", "1", "+5 %"], ["b", "100", ""]];
        rows.map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    const HEADERS: [&str; 3] = ["host", "n", "share"];

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let expected = " host    n  share\n a-1     1   +5 %\n b     100\n";
        assert_eq!(Layout::default().table(&HEADERS, rows()), expected);
        assert_eq!(narrow(17).table(&HEADERS, rows()), expected);
    }

    #[test]
    fn columns_of_a_wide_table_are_left_out_in_their_order() {
        let table = |width| narrow(width).reduced_table(&HEADERS, rows(), &[1, 2]);
        assert!(table(17).ends_with(" b     100\n"), "{}", table(17));
        let without = " host  share\n a-1    +5 %\n b\n\n(left out for\na narrow\nterminal: n)\n";
        assert_eq!(table(14), without);
        assert!(table(9).starts_with(" host\n a-1\n b\n"), "{}", table(9));
    }

    #[test]
    fn cells_of_a_wide_table_have_several_lines() {
        let long = vec![vec!["a".to_owned(), "one two three four five".to_owned()]];
        let text = narrow(16).table(&["", "words"], long);
        assert!(text.lines().all(|line| line.len() <= 16), "{text}");
        assert!(2 < text.lines().count(), "{text}");
    }

    #[test]
    fn long_tables_are_cut_unless_they_are_asked_for() {
        let short = Layout::default();
        assert_eq!(short.cut(20, 20), (20, 0));
        assert_eq!(short.cut(21, 20), (21, 0));
        assert_eq!(short.cut(62, 20), (20, 42));
        let whole = Layout {
            is_whole: true,
            ..short
        };
        assert_eq!(whole.cut(62, 20), (62, 0));
    }

    #[test]
    fn long_lines_are_broken_between_words() {
        assert_eq!(narrow(9).wrapped("  one two\n\nsix"), "  one two\n\nsix");
        assert_eq!(narrow(9).wrapped("  one two six"), "  one two\n  six");
        assert_eq!(Layout::default().wrapped("one two six"), "one two six");
        let paragraph = narrow(9).paragraph("one\ntwo six\n");
        assert_eq!(narrow(9).wrapped(&paragraph), "one two\nsix\n");
        assert_eq!(Layout::default().paragraph("one\ntwo\n"), "one\ntwo\n");
    }
}
