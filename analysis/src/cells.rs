//! Tables as comma-separated values, in which a column is its name and the cell of a row.

use std::io::Write;

use bsp::Rank;
use bsp::units::{Instant, Seconds};
use experiments::{CsvTable, Failure, Provenance};
use serde::Serialize;

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Integer(u64),
    Real(f64),
    Text(String),
    Missing,
}

/// The columns of a table: of each its name, and the cell of a row.
pub(crate) type Columns<'a, R> = [(&'a str, &'a dyn Fn(&R) -> Cell)];

/// Appends a row to `table`, which has the header of `columns`.
///
/// # Errors
///
/// If its output refuses.
pub(crate) fn push<R, W: Write>(
    table: &mut CsvTable<W>,
    columns: &Columns<'_, R>,
    row: &R,
) -> Result<(), Failure> {
    let cells: Vec<Cell> = columns.iter().map(|(_, cell)| cell(row)).collect();
    table.push(cells)
}

/// The table of `rows`, of the form `schema`.
///
/// # Errors
///
/// If the writer fails, which a buffer in memory does not.
pub(crate) fn csv<R>(
    (schema, provenance): (&'static str, &Provenance),
    rows: impl IntoIterator<Item = R>,
    columns: &Columns<'_, R>,
) -> Result<String, Failure> {
    let header = columns.iter().map(|(name, _)| *name);
    let mut table = CsvTable::with_header(schema, provenance, header)?;
    for row in rows {
        push(&mut table, columns, &row)?;
    }
    table.text()
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Integer(bsp::numbers::length(number))
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

/// In seconds.
impl From<Seconds> for Cell {
    fn from(time: Seconds) -> Self {
        Self::Real(time.get())
    }
}

/// In seconds since the run began.
impl From<Instant> for Cell {
    fn from(instant: Instant) -> Self {
        Self::Real(instant.get())
    }
}

impl From<Rank> for Cell {
    fn from(rank: Rank) -> Self {
        Self::Text(rank.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}
