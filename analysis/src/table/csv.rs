//! Tables as comma-separated values.

use std::io::Write;

use experiments::{CsvTable, Failure, Provenance};

use crate::refused::refused;
use crate::table::{Cell, Form, TableSink};

/// A table under its header, after comments that say what made it.
pub(crate) struct CsvSink<'a> {
    table: CsvTable<&'a mut (dyn Write + Send)>,
}

impl<'a> CsvSink<'a> {
    /// Begins a table.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub(crate) fn new(
        form: &Form<'_>,
        provenance: &Provenance,
        output: &'a mut (dyn Write + Send),
    ) -> Result<Self, Failure> {
        let header = form.columns.iter().map(|(name, _)| *name);
        let begun = CsvTable::streamed(form.schema, provenance, header, output);
        Ok(Self {
            table: begun.map_err(refused)?,
        })
    }

    /// Completes the table.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.table.finish().map_err(refused)
    }
}

impl TableSink for CsvSink<'_> {
    fn push(&mut self, row: &[Cell<'_>]) -> Result<(), Failure> {
        self.table.push(row)
    }
}
