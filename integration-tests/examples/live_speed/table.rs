//! What was measured, for people and for programs.

use std::fs;
use std::io::{Write, stdout};

use serde::Serialize;

/// A figure and what it should be.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) criterion: String,
    /// The most that it should be, or the least for what should be large; `None`: it is for comparison.
    pub(crate) limit: Option<f64>,
    pub(crate) median: f64,
    pub(crate) unit: &'static str,
    /// What the ratio is to, and the ratio.
    pub(crate) ratio: Option<(&'static str, f64)>,
    /// What it is limited by.
    pub(crate) limited_by: &'static str,
}

pub(crate) fn print(rows: &[Row]) {
    line(&format!(
        "| criterion | limit | median | ratio | what limits it |\n|---|---|---|---|---|\n{}\n\nload of the machine: {}",
        rows.iter().map(text).collect::<Vec<_>>().join("\n"),
        load()
    ));
}

pub(crate) fn print_json(rows: &[Row]) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(&(load(), rows))?);
    Ok(())
}

/// Says what is under way, beside the table.
pub(crate) fn say(text: &str) {
    // The reader may have gone.
    drop(writeln!(std::io::stderr(), "{text}"));
}

fn text(row: &Row) -> String {
    let limit = row.limit.map_or_else(
        || "-".to_owned(),
        |limit| format!("{limit:.4} {}", row.unit),
    );
    let ratio = row.ratio.map_or_else(
        || "-".to_owned(),
        |(to, ratio)| format!("{ratio:.2} × {to}"),
    );
    let Row {
        criterion,
        median,
        unit,
        limited_by,
        ..
    } = row;
    format!("| {criterion} | {limit} | {median:.4} {unit} | {ratio} | {limited_by} |")
}

/// How many want a processor: figures mean little without it.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.trim().to_owned()
}

fn line(text: &str) {
    // The reader may have gone.
    drop(writeln!(stdout(), "{text}"));
}
