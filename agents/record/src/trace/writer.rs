//! Writing a trace.

use std::io::{self, Write};

use super::columns::Columns;
use super::{MAGIC, TracedSuperstep};
use crate::{Superstep, Traced};

/// A trace being written.
#[derive(Debug)]
pub(crate) struct TraceWriter<W> {
    output: W,
    columns: Columns,
    /// What has been traced of the superstep that has not ended.
    superstep: TracedSuperstep,
    body: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Begins the trace of a run of `processes` processes.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub(crate) fn new(mut output: W, processes: usize) -> io::Result<Self> {
        let number = u32::try_from(processes).map_err(io::Error::other)?;
        output.write_all(MAGIC)?;
        output.write_all(&number.to_le_bytes())?;
        Ok(Self {
            output,
            columns: Columns::new(processes),
            superstep: TracedSuperstep {
                processes: vec![None; processes],
                ..TracedSuperstep::default()
            },
            body: Vec::new(),
        })
    }

    /// Adds what a process did in the superstep that ends next.
    pub(crate) fn add(&mut self, traced: Traced) {
        if let Some(place) = self.superstep.processes.get_mut(traced.rank.index()) {
            *place = Some(traced);
        }
    }

    /// The superstep of what has been added has ended.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub(crate) fn end(&mut self, ended: &Superstep) -> io::Result<()> {
        self.superstep.index = ended.index;
        self.superstep.started = ended.started;
        self.superstep.ended = ended.ended;
        self.body.clear();
        self.columns.encode(&self.superstep, &mut self.body);
        self.superstep.processes.fill(None);
        let length = u32::try_from(self.body.len()).map_err(io::Error::other)?;
        self.output.write_all(&length.to_le_bytes())?;
        let checksum = crc32fast::hash(&self.body);
        self.output.write_all(&checksum.to_le_bytes())?;
        self.output.write_all(&self.body)
    }

    /// The output.
    pub(crate) const fn output(&mut self) -> &mut W {
        &mut self.output
    }
}
