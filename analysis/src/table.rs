//! Tables whose columns have types, for CSV and Parquet.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;

use std::borrow::Cow;

use experiments::Failure;
use serde::Serialize;

pub(crate) use csv::CsvSink;
#[cfg(feature = "parquet")]
pub(crate) use parquet::ParquetSink;

/// What a table is, without its rows.
#[derive(Clone, Debug)]
pub(crate) struct Form<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Name and version of its form.
    pub(crate) schema: &'static str,
    /// The names of its columns, and their types.
    pub(crate) columns: Vec<(&'a str, Kind)>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Integer,
    Real,
    Text,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell<'a> {
    Integer(u64),
    Real(f64),
    Text(Cow<'a, str>),
    Missing,
}

/// Takes the rows of a table.
pub(crate) trait TableSink {
    /// Adds a row, with a cell for each column.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    fn push(&mut self, row: &[Cell<'_>]) -> Result<(), Failure>;
}
