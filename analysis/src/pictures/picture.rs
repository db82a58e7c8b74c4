//! A picture and its data.

use experiments::{CsvTable, Failure, Provenance};

use crate::view::View;

/// A picture and its data.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// As SVG.
    pub(crate) svg: String,
    /// The data.
    pub(crate) table: Table,
}

/// Rows under a header. Where the header has `from` and `to`, a row is about the supersteps from the one to before the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Names of the columns.
    pub(crate) header: Vec<&'static str>,
    /// Each with a cell for every column.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table as CSV, after what made it.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let header = self.header.iter().copied();
        let mut table = CsvTable::with_header(SCHEMA, provenance, header)?;
        for row in &self.rows {
            table.push(row)?;
        }
        table.text()
    }
}

/// Whether supersteps are drawn over a logarithmic axis: all moves are in the first tenth of a long run.
pub(super) fn is_early(view: &View) -> bool {
    let length = view.end - view.first();
    let last = view.placement.moves().last();
    last.is_some_and(|last| 100 <= length && last.superstep - view.first() <= length / 10)
}

/// A superstep as a position.
pub(super) fn position(superstep: u64) -> f64 {
    superstep as f64
}

/// Name and version of the form of all tables.
const SCHEMA: &str = "migbsp.report/1";
