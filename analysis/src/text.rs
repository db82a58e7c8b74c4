//! Numbers, quantities and tables as text for people.

use bsp::units::Bytes;
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
    /// stand to the right. The columns `dispensable` of a table that is too wide are left out, one after another in
    /// this order until it fits, and a line below it says so; cells of one that is too wide even so have several lines.
    pub(crate) fn table(
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

/// The text of a value; nothing without one.
pub(crate) fn maybe<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, text)
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

/// `number` with this many `decimals`, or with an exponent if that would show too few digits or too many.
pub fn rounded(number: f64, decimals: u8) -> String {
    let size = number.abs();
    let least = 10_f64.powi(1 - i32::from(decimals)).min(0.1);
    if size == 0.0 || (least..1e9).contains(&size) {
        format!("{number:.*}", usize::from(decimals))
    } else {
        format!("{number:.*e}", usize::from(decimals))
    }
}

/// `number` with the noun `name`.
pub fn counted(number: usize, name: &str) -> String {
    match (number, name.ends_with('s')) {
        (1, _) => format!("1 {name}"),
        (_, true) => format!("{number} {name}es"),
        (_, false) => format!("{number} {name}s"),
    }
}

/// A saving or a cost of `seconds` in a run of `of_seconds`; what is within rounding is nothing.
pub fn significant(seconds: f64, of_seconds: f64) -> f64 {
    if seconds.abs() <= of_seconds.abs() * ROUNDED {
        0.0
    } else {
        seconds
    }
}

/// Part of a makespan that counts as rounding.
const ROUNDED: f64 = 1e-9;

/// `seconds` that something took: three digits with a unit below a minute, then two units.
pub fn duration(seconds: f64) -> String {
    let size = seconds.abs();
    let (scale, unit) = match size {
        // Shorter times are rounding.
        ..1e-9 => return "0 s".to_owned(),
        ..1e-6 => (1e9, "ns"),
        ..1e-3 => (1e6, "us"),
        ..1.0 => (1e3, "ms"),
        ..60.0 => (1.0, "s"),
        _ => return age(seconds),
    };
    let shown = three_digits(seconds * scale);
    match (shown.as_str(), unit) {
        ("1000", "ns") => "1 us".to_owned(),
        ("1000", "us") => "1 ms".to_owned(),
        ("1000", "ms") => "1 s".to_owned(),
        ("60", "s") => "1 min".to_owned(),
        _ => format!("{shown} {unit}"),
    }
}

/// `seconds` since something began, in whole seconds: two units at most, as in "2 h 4 min".
pub fn age(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s")];
    if !seconds.is_finite() {
        return format!("{seconds} s");
    }
    let sign = if seconds <= -0.5 { "-" } else { "" };
    let whole = seconds.abs().round();
    let first = UNITS.iter().position(|(size, _)| *size <= whole);
    let Some(first) = first.filter(|first| *first < 3) else {
        return format!("{sign}{whole} s");
    };
    let ((size, unit), (part, next)) = (UNITS[first], UNITS[first + 1]);
    // Rounding may carry: 59 min 59.7 s are an hour.
    let parts = (whole / part).round();
    let (count, rest) = ((parts / (size / part)).floor(), parts % (size / part));
    if first == 0 || count < UNITS[first - 1].0 / size {
        let rest = if rest < 1.0 {
            String::new()
        } else {
            format!(" {rest} {next}")
        };
        format!("{sign}{count} {unit}{rest}")
    } else {
        format!("{sign}1 {}", UNITS[first - 1].1)
    }
}

/// `bytes` of data: three digits with a decimal unit.
pub fn data(bytes: f64) -> String {
    let mut scaled = bytes;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if scaled.abs() < 999.5 {
            return format!("{} {unit}", three_digits(scaled));
        }
        scaled /= 1e3;
    }
    format!("{} PB", three_digits(scaled))
}

/// How much of all has been transferred, after `number` of `of` parts with `bytes` together.
pub fn transferred(bytes: u64, number: usize, of: usize) -> String {
    let parts = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let bytes = Bytes(bytes).as_f64();
    if number == 0 || number == of {
        return data(bytes);
    }
    format!(
        "{} of about {}",
        data(bytes),
        data(bytes / parts(number) * parts(of))
    )
}

/// A number with three digits, without zeros at the end of a fraction.
fn three_digits(number: f64) -> String {
    let decimals = match number.abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    without_zeros(&format!("{number:.decimals$}"))
}

/// `number` without zeros at the end of a fraction.
pub(crate) fn without_zeros(number: &str) -> String {
    let Some((whole, fraction)) = number.split_once('.') else {
        return number.to_owned();
    };
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// The unit of all times of a table: that in which the longest one is at least 1, but no longer one than seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnit {
    name: &'static str,
    per_second: f64,
}

impl TimeUnit {
    /// Seconds.
    pub const SECONDS: Self = Self {
        name: "s",
        per_second: 1.0,
    };

    /// The unit for these times in seconds.
    pub fn of(times: impl IntoIterator<Item = f64>) -> Self {
        let sizes = times.into_iter().map(f64::abs);
        let longest = sizes
            .filter(|size| size.is_finite())
            .fold(0.0_f64, f64::max);
        let (name, per_second) = match longest {
            0.0 | 1.0.. => return Self::SECONDS,
            1e-3.. => ("ms", 1e3),
            1e-6.. => ("us", 1e6),
            _ => ("ns", 1e9),
        };
        Self { name, per_second }
    }

    /// The heading of a column of times.
    pub fn heading(self) -> &'static str {
        match self.name {
            "s" => "seconds",
            name => name,
        }
    }

    /// Its symbol, as in `5 ms`.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// `seconds` as a number of this unit.
    pub fn text(self, seconds: f64, decimals: u8) -> String {
        rounded(seconds * self.per_second, decimals)
    }
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
        assert_eq!(Layout::default().table(&HEADERS, rows(), &[]), expected);
        assert_eq!(narrow(17).table(&HEADERS, rows(), &[]), expected);
    }

    #[test]
    fn columns_of_a_wide_table_are_left_out_in_their_order() {
        let table = |width| narrow(width).table(&HEADERS, rows(), &[1, 2]);
        assert!(table(17).ends_with(" b     100\n"), "{}", table(17));
        let without = " host  share\n a-1    +5 %\n b\n\n(left out for\na narrow\nterminal: n)\n";
        assert_eq!(table(14), without);
        assert!(table(9).starts_with(" host\n a-1\n b\n"), "{}", table(9));
    }

    #[test]
    fn cells_of_a_wide_table_have_several_lines() {
        let long = vec![vec!["a".to_owned(), "one two three four five".to_owned()]];
        let text = narrow(16).table(&["", "words"], long, &[]);
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

    #[test]
    fn small_and_large_numbers_stay_readable() {
        assert_eq!(rounded(0.0, 3), "0.000");
        assert_eq!(rounded(0.018_49, 3), "0.018");
        assert_eq!(rounded(-678.476_4, 3), "-678.476");
        assert_eq!(rounded(0.000_123_4, 3), "1.234e-4");
        assert_eq!(rounded(0.9, 1), "0.9");
        assert_eq!(rounded(5_155_463_917_530.8, 3), "5.155e12");
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "values are passed on or are zero")]
    fn rounding_errors_are_no_seconds() {
        assert_eq!(significant(6.577e-16, 5.0), 0.0);
        assert_eq!(significant(-1e-12, 5.0), 0.0);
        assert_eq!(significant(0.0, 0.0), 0.0);
        assert_eq!(significant(1e-6, 5.0), 1e-6);
        assert_eq!(significant(6.577e-16, 0.0), 6.577e-16);
    }

    #[test]
    fn durations_have_three_digits_or_two_units() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (6.577e-16, "0 s"),
            (12.34e-9, "12.3 ns"),
            (999.9e-9, "1 us"),
            (0.087_16, "87.2 ms"),
            (0.999_96, "1 s"),
            (1.0, "1 s"),
            (59.96, "1 min"),
            (59.94, "59.9 s"),
            (200.0, "3 min 20 s"),
            (7_440.0, "2 h 4 min"),
            (-7_440.0, "-2 h 4 min"),
            (-0.5, "-500 ms"),
            (f64::INFINITY, "inf s"),
        ] {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn ages_are_whole_seconds_in_two_units() {
        for (seconds, text) in [
            (1e-2, "0 s"),
            (42.4, "42 s"),
            (59.7, "1 min"),
            (180.0, "3 min"),
            (3_599.6, "1 h"),
            (7_440.0, "2 h 4 min"),
            (7_199.0, "2 h"),
            (86_399.0, "1 d"),
            (172_800.0, "2 d"),
            (100_000.0, "1 d 4 h"),
            (1e9, "11574 d 2 h"),
        ] {
            assert_eq!(age(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn what_is_still_to_be_transferred_is_estimated_from_the_parts_that_were() {
        assert_eq!(transferred(0, 0, 64), "0 B");
        assert_eq!(transferred(520_093_696, 31, 64), "520 MB of about 1.07 GB");
        assert_eq!(transferred(1_073_741_824, 64, 64), "1.07 GB");
    }

    #[test]
    fn data_has_a_decimal_unit() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (75_000.0, "75 kB"),
            (999_600.0, "1 MB"),
            (22_500_000.0, "22.5 MB"),
            (1.234e9, "1.23 GB"),
            (5e18, "5000 PB"),
        ] {
            assert_eq!(data(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn the_longest_time_decides() {
        let text = |times: &[f64]| {
            let unit = TimeUnit::of(times.iter().copied());
            let times = times.iter().map(|time| unit.text(*time, 3));
            (unit.heading(), times.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(
            text(&[0.001, 2.5]),
            ("seconds", "1.000e-3 2.500".to_owned())
        );
        assert_eq!(text(&[0.000_8, 0.002_1]), ("ms", "0.800 2.100".to_owned()));
        assert_eq!(text(&[-1.5e-6]), ("us", "-1.500".to_owned()));
        assert_eq!(text(&[2e-8, 0.0]), ("ns", "20.000 0.000".to_owned()));
        assert_eq!(text(&[0.0]), ("seconds", "0.000".to_owned()));
        assert_eq!(TimeUnit::of([]).name(), "s");
    }
}
