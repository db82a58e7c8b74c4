//! What goes to stdout.

use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// One object, with a `schema`
    Json,
    /// Rows under a header
    Csv,
}

/// Writes `text` to stdout.
///
/// # Errors
///
/// If stdout does not take it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes `value` to stdout as indented JSON and a line break.
///
/// # Errors
///
/// If stdout does not take it.
pub(crate) fn print_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).expect("results are plain data");
    text.push('\n');
    print(&text)
}

/// Writes a line to stderr; that it cannot be written is nobody's concern.
pub(crate) fn warn(line: &str) {
    let _lost = writeln!(io::stderr().lock(), "{line}");
}

/// `headers` and `rows` as a table for people, without lines that a copy would carry along.
pub(crate) fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(headers);
    for row in rows {
        table.add_row(row);
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}
