//! A record in the formats of other tools: timelines for trace viewers, tables for data analysis.

mod happening;
mod otlp;
mod paje;
mod perfetto;
mod spans;
mod tables;

use std::io::Write;
use std::path::{Path, PathBuf};

use experiments::{Failure, Provenance};

use crate::export::happening::Reading;
use crate::table::CsvSink;
#[cfg(feature = "parquet")]
use crate::table::ParquetSink;

pub use tables::Table;

/// A timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// JSON of the trace event format, which Perfetto and Chrome read.
    Perfetto,
    /// Paje, as `pj_dump` reads it.
    Paje,
    /// Spans of OpenTelemetry, as JSON.
    Otlp,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values, as all CSV of this program.
    Csv,
    /// Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// A record, and what made it.
#[derive(Debug)]
pub struct Export {
    folder: PathBuf,
    provenance: Provenance,
}

impl Export {
    /// The record in `folder`.
    #[must_use]
    pub fn new(folder: &Path, provenance: Provenance) -> Self {
        Self {
            folder: folder.to_path_buf(),
            provenance,
        }
    }

    /// Whether the record has what each process did in each superstep.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn is_traced(&self) -> Result<bool, Failure> {
        Ok(self.reading()?.is_traced())
    }

    /// Writes a timeline.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or `output` refuses.
    pub fn timeline(&self, timeline: Timeline, output: &mut dyn Write) -> Result<(), Failure> {
        let (reading, provenance) = (self.reading()?, &self.provenance);
        match timeline {
            Timeline::Perfetto => perfetto::write(reading, provenance, output),
            Timeline::Paje => paje::write(reading, provenance, output),
            Timeline::Otlp => otlp::write(reading, provenance, output),
        }
    }

    /// Writes a table.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or lacks what the table is about, or `output` refuses.
    pub fn table(
        &self,
        table: Table,
        format: TableFormat,
        output: &mut (dyn Write + Send),
    ) -> Result<(), Failure> {
        let reading = self.reading()?;
        let provenance = &self.provenance;
        match format {
            TableFormat::Csv => {
                let mut sink = CsvSink::new(&table.form(), provenance, output)?;
                table.rows(reading, &mut sink)?;
                sink.finish()
            }
            #[cfg(feature = "parquet")]
            TableFormat::Parquet => {
                let mut sink = ParquetSink::new(&table.form(), provenance, output)?;
                table.rows(reading, &mut sink)?;
                sink.finish()
            }
        }
    }

    fn reading(&self) -> Result<Reading, Failure> {
        Reading::open(&self.folder)
    }
}
