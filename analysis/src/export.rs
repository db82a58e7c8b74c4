//! A record in the formats of other tools: timelines for trace viewers, tables for data analysis.
//!
//! A record is read once (`happening`), as spans of time for timelines (`spans`) or as rows for tables (`tables`). A
//! format is one file that writes spans or takes rows.

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

pub(crate) use tables::Cell;
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

    /// Writes a table as comma-separated values.
    ///
    /// # Errors
    ///
    /// If the record cannot be read, or lacks what the table is about, or `output` refuses.
    pub fn table(&self, table: Table, output: &mut dyn Write) -> Result<(), Failure> {
        table.write(self.reading()?, &self.provenance, output)
    }

    fn reading(&self) -> Result<Reading, Failure> {
        Reading::open(&self.folder)
    }
}
