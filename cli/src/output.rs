//! What goes to stdout.

use std::borrow::Cow;
use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use analysis::document::Answer;
use analysis::text::Layout;
use clap::ValueEnum;
use experiments::{Attributed, Failure, Provenance, Published};

use crate::failure::CommandFailure;

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// One object, with a `schema` and what made it
    Json,
    /// Rows under a header, after comments (#) that say what made them
    Csv,
}

/// Writes `text` to stdout.
///
/// # Errors
///
/// If stdout does not take it.
pub fn print(text: &str) -> Result<(), CommandFailure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(tamed(text).as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes a text for people to stdout, as wide as the terminal; long tables are shown whole if `is_whole`.
///
/// # Errors
///
/// If stdout does not take it.
pub fn print_text(
    is_whole: bool,
    text: impl FnOnce(Layout) -> String,
) -> Result<(), CommandFailure> {
    let width = width(env::var("COLUMNS").ok().as_deref(), || {
        let stdout = io::stdout();
        let size = terminal_size::terminal_size_of(&stdout);
        size.filter(|_| stdout.is_terminal())
            .map(|(width, _)| usize::from(width.0))
    });
    let layout = Layout { width, is_whole };
    print(&layout.wrapped(&text(layout)))
}

/// Characters of a line: those that the variable `COLUMNS` states, or those of the terminal; none for files and
/// pipes, which have lines of any length.
fn width(columns: Option<&str>, of_terminal: impl FnOnce() -> Option<usize>) -> Option<usize> {
    let stated = columns.and_then(|columns| columns.trim().parse().ok());
    let width = stated.filter(|width| 0 < *width).or_else(of_terminal)?;
    Some(width.max(NARROWEST))
}

/// Lines shorter than these hold no table.
const NARROWEST: usize = 20;

/// Writes a result to stdout as indented JSON and a line break.
///
/// # Errors
///
/// If stdout does not take it.
///
/// # Panics
///
/// If the result is no plain data, which no JSON can hold.
pub fn print_json<T: Published>(provenance: &Provenance, result: &T) -> Result<(), CommandFailure> {
    let attributed = Attributed::new(provenance, result);
    let mut text = serde_json::to_string_pretty(&attributed).expect("results are plain data");
    text.push('\n');
    print(&text)
}

/// Writes an answer to stdout in this format; of the table, long tables are shown whole if `is_whole`.
///
/// # Errors
///
/// If stdout does not take it, or its provenance is not known.
pub fn show<A: Answer>(
    answer: &A,
    (format, is_whole): (Format, bool),
    provenance: impl FnOnce() -> Result<Provenance, Failure>,
) -> Result<(), CommandFailure> {
    match format {
        Format::Table => print_text(is_whole, |layout| answer.document().text(layout)),
        Format::Json => print_json(&provenance()?, answer),
        Format::Csv => print(&answer.csv(&provenance()?)?),
    }
}

/// Writes a line to stderr; errors of stderr are ignored.
pub(crate) fn warn(line: &str) {
    let _lost = writeln!(io::stderr().lock(), "{}", tamed(line));
}

/// `text` with control characters escaped, except line breaks and tabs: contents and names of files end up in
/// results and messages. The escapes are those of JSON.
fn tamed(text: &str) -> Cow<'_, str> {
    let obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut tamed = String::with_capacity(text.len());
    for character in text.chars() {
        if obeyed(character) {
            write!(tamed, "\\u{:04x}", u32::from(character)).expect("a string takes everything");
        } else {
            tamed.push(character);
        }
    }
    Cow::Owned(tamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_columns_or_the_terminal_say() {
        let terminal = || Some(132);
        assert_eq!(width(Some("60"), terminal), Some(60));
        assert_eq!(width(Some("3"), terminal), Some(NARROWEST));
        for columns in [None, Some(""), Some("0"), Some("wide")] {
            assert_eq!(width(columns, terminal), Some(132), "{columns:?}");
            assert_eq!(width(columns, || None), None, "{columns:?}");
        }
    }

    #[test]
    fn control_characters_are_escaped_and_nothing_else() {
        let plain = "größe\tof a\n主机";
        assert!(matches!(tamed(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(
            tamed("\"a\u{1b}[2J\r\u{9b}\n\""),
            "\"a\\u001b[2J\\u000d\\u009b\n\""
        );
    }
}
