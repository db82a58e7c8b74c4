//! Reading a trace.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bsp::numbers::length;

use super::columns::Columns;
use super::{MAGIC, TracedSuperstep};
use crate::files::{TRACE, is_complete};

/// The trace of a record, superstep by superstep.
#[derive(Debug)]
pub struct TraceReader {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes that have been read.
    offset: u64,
    /// Whether the run has ended: nothing may be cut off.
    is_complete: bool,
    columns: Columns,
    /// The superstep that was read last.
    superstep: Option<TracedSuperstep>,
    body: Vec<u8>,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path}: byte {offset}: {message}")]
pub struct TraceError {
    /// Which file.
    pub path: PathBuf,
    /// From which byte on.
    pub offset: u64,
    /// What is wrong.
    pub message: String,
}

impl TraceReader {
    /// The trace of the record in `directory`, whose run has `processes` processes. `None`: the run was not traced.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is another file.
    pub fn open(directory: &Path, processes: usize) -> Result<Option<Self>, TraceError> {
        let path = directory.join(TRACE);
        let at = |offset, message| TraceError {
            path: path.clone(),
            offset,
            message,
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at(0, format!("cannot be read: {error}"))),
        };
        let mut file = BufReader::new(file);
        let mut magic = [0; MAGIC.len()];
        let mut number = [0; 4];
        let head = file.read_exact(&mut magic);
        head.and_then(|()| file.read_exact(&mut number))
            .map_err(|error| at(0, format!("no head of a trace: {error}")))?;
        if magic != *MAGIC {
            let text =
                "it is no trace, or one of another version; this program reads \"migbsp.trace/1\"";
            return Err(at(0, text.to_owned()));
        }
        let found = u32::from_le_bytes(number);
        if usize::try_from(found) != Ok(processes) {
            let text = format!("it is of {found} processes, and the record of {processes}");
            return Err(at(length(MAGIC.len()), text));
        }
        Ok(Some(Self {
            is_complete: is_complete(directory),
            path,
            file,
            offset: length(MAGIC.len() + number.len()),
            columns: Columns::new(processes),
            superstep: None,
            body: Vec::new(),
        }))
    }

    /// The next superstep; `None` after the last one. If the run did not end, a last superstep that is cut off is none.
    ///
    /// # Errors
    ///
    /// If it is cut off, changed, or out of order.
    pub fn next_superstep(&mut self) -> Result<Option<&TracedSuperstep>, TraceError> {
        let Some(checksum) = self.read_body()? else {
            return Ok(None);
        };
        if crc32fast::hash(&self.body) != checksum {
            return Err(self.error("its checksum is wrong: it was changed".to_owned()));
        }
        let mut superstep = self.superstep.take().unwrap_or_default();
        let expected = (!superstep.processes.is_empty()).then(|| superstep.index + 1);
        let decoded = self.columns.decode(&self.body, &mut superstep);
        decoded.map_err(|message| self.error(message))?;
        let index = superstep.index;
        if expected.is_some_and(|expected| expected != index) || index == u64::MAX {
            return Err(self.error(format!("superstep {index} is out of order")));
        }
        self.offset += length(self.body.len()) + 8;
        Ok(Some(self.superstep.insert(superstep)))
    }

    /// Reads the next body; returns its checksum, or `None` at the end.
    fn read_body(&mut self) -> Result<Option<u32>, TraceError> {
        let mut head = Vec::new();
        self.read(8, &mut head)?;
        let (bytes, checksum) = match *head {
            [] => return Ok(None),
            [a, b, c, d, e, f, g, h] => (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            ),
            _ => return self.cut_off(),
        };
        if BODY_MIN + ROW_MAX * length(self.columns.processes()) < u64::from(bytes) {
            return Err(self.error(format!("a superstep of {bytes} bytes is too long")));
        }
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let read = self.read(u64::from(bytes), &mut body);
        self.body = body;
        read?;
        if length(self.body.len()) < u64::from(bytes) {
            return self.cut_off();
        }
        Ok(Some(checksum))
    }

    /// Appends the next `bytes` bytes, or those that are left.
    fn read(&mut self, bytes: u64, to: &mut Vec<u8>) -> Result<(), TraceError> {
        let read = (&mut self.file).take(bytes).read_to_end(to);
        read.map(drop)
            .map_err(|error: io::Error| self.error(format!("cannot be read: {error}")))
    }

    fn cut_off(&self) -> Result<Option<u32>, TraceError> {
        if self.is_complete {
            return Err(self.error("it is cut off".to_owned()));
        }
        Ok(None)
    }

    fn error(&self, message: String) -> TraceError {
        TraceError {
            path: self.path.clone(),
            offset: self.offset,
            message,
        }
    }
}

/// Bytes of a body without rows, at most.
const BODY_MIN: u64 = 30;

/// Bytes of a row, at most.
const ROW_MAX: u64 = 60;
