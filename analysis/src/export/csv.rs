//! Tables as comma-separated values.

use std::io::Write;

use experiments::{CsvTable, Failure, Provenance};

use crate::export::refused::refused;
use crate::export::tables::{Cell, Table, TableSink};

/// A table under its header, after comments that say what made it.
pub(super) struct CsvSink<'a> {
    table: CsvTable<&'a mut (dyn Write + Send)>,
}

impl<'a> CsvSink<'a> {
    /// Begins `table`.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub(super) fn new(
        table: Table,
        provenance: &Provenance,
        output: &'a mut (dyn Write + Send),
    ) -> Result<Self, Failure> {
        let header = table.columns().iter().map(|(name, _)| *name);
        let begun = CsvTable::streamed(table.schema(), provenance, header, output);
        Ok(Self {
            table: begun.map_err(refused)?,
        })
    }

    /// Completes the table.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.table.finish().map_err(refused)
    }
}

impl TableSink for CsvSink<'_> {
    fn push(&mut self, row: &[Cell<'_>]) -> Result<(), Failure> {
        self.table.push(row)
    }
}
