//! The trace of a record, `trace.bin`: what each process did in each superstep.
//!
//! It is a file of its own because it has a row for each process and superstep, where `events.jsonl` has a line for each
//! superstep. All integers without a length of their own are varints, as in Protocol Buffers; signed ones are zigzag.
//!
//! If a run is traced, the agent of a process records what it did when it arrives at a barrier (`Event::Traced`). On
//! real hosts nodes send that with their part of the record, and the journal of the client holds the end of a superstep
//! back until it has the traces of all processes that have not halted. The writer of the record collects them and
//! writes a block for each superstep.
//!
//! | part | content |
//! |---|---|
//! | head | [`MAGIC`], the number of processes (32 bits, little-endian) |
//! | block, one for each superstep in order | length of the body and its CRC-32 (32 bits each, little-endian), body |
//! | body | the superstep, when it started, how long it lasted; then six columns, each by rank |
//! | columns | one plus twice the host, and one more in its last superstep, or 0 if the process did not run; after which time it began to compute, how long it computed, how long it exchanged; bytes sent and received |
//!
//! Times are whole nanoseconds, rounded. A value of a column is the difference from that of the same process in the block
//! before, so what repeats takes one byte. The other columns have no value for a process that did not run. A row takes 6
//! bytes if it repeats, and about 14 if all of its times differ by milliseconds.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use bsp::numbers::length;
use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank};
use integer_encoding::VarInt;

use crate::reader::{TRACE, is_complete};
use crate::{Superstep, Traced};

/// A superstep of all processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedSuperstep {
    /// The superstep, from 0.
    pub index: u64,
    /// The time when the first Manager started the superstep.
    pub started: Instant,
    /// The time when all processes had arrived.
    pub ended: Instant,
    /// What each process did, by rank; `None`: it had halted before.
    pub processes: Vec<Option<Traced>>,
}

/// The first bytes of a trace.
const MAGIC: &[u8; 16] = b"migbsp.trace/1\n\0";

/// The values of the process in each column, in the superstep that was encoded or decoded last.
#[derive(Clone, Debug)]
struct Columns {
    rows: Vec<[u64; COLUMNS]>,
}

impl Columns {
    /// Of `processes` processes, before the first superstep.
    fn new(processes: usize) -> Self {
        Self {
            rows: vec![[0; COLUMNS]; processes],
        }
    }

    /// The number of processes.
    const fn processes(&self) -> usize {
        self.rows.len()
    }

    /// Appends `superstep` to `body`.
    fn encode(&mut self, superstep: &TracedSuperstep, body: &mut Vec<u8>) {
        let started = nanoseconds(superstep.started - Instant::START);
        let lasted = nanoseconds(superstep.ended - superstep.started);
        for number in [superstep.index, started, lasted] {
            write(body, number);
        }
        let mut rows = self.rows.clone();
        for (row, traced) in rows.iter_mut().zip(&superstep.processes) {
            match traced {
                Some(traced) => *row = row_of(traced, superstep.started),
                None => row[STATE] = 0,
            }
        }
        for column in 0..COLUMNS {
            for (row, before) in rows.iter().zip(&self.rows) {
                if column == STATE || row[STATE] != 0 {
                    write(body, row[column].wrapping_sub(before[column]).cast_signed());
                }
            }
        }
        self.rows = rows;
    }

    /// Reads what [`Self::encode`] wrote into `superstep`.
    ///
    /// # Errors
    ///
    /// If `body` is something else.
    fn decode(&mut self, body: &[u8], superstep: &mut TracedSuperstep) -> Result<(), String> {
        let mut rest = body;
        superstep.index = read(&mut rest)?;
        let started: u64 = read(&mut rest)?;
        let lasted: u64 = read(&mut rest)?;
        superstep.started = instant(started);
        superstep.ended = instant(started.saturating_add(lasted));
        for column in 0..COLUMNS {
            for row in &mut self.rows {
                if column == STATE || row[STATE] != 0 {
                    let difference: i64 = read(&mut rest)?;
                    row[column] = row[column].wrapping_add(difference.cast_unsigned());
                }
            }
        }
        if !rest.is_empty() {
            return Err(format!("{} bytes too many", rest.len()));
        }
        let index = superstep.index;
        superstep.processes.clear();
        for (rank, row) in self.rows.iter().enumerate() {
            let traced = traced(row, (index, Rank::from_index(rank)), superstep.started)?;
            superstep.processes.push(traced);
        }
        Ok(())
    }
}

fn row_of(traced: &Traced, superstep_started: Instant) -> [u64; COLUMNS] {
    [
        1 + 2 * u64::from(traced.host.0) + u64::from(traced.halted),
        nanoseconds(traced.started - superstep_started),
        nanoseconds(traced.computation),
        nanoseconds(traced.exchange),
        traced.sent.0,
        traced.received.0,
    ]
}

fn traced(
    row: &[u64; COLUMNS],
    (superstep, rank): (u64, Rank),
    superstep_started: Instant,
) -> Result<Option<Traced>, String> {
    let [state, started, computation, exchange, sent, received] = *row;
    let Some(state) = state.checked_sub(1) else {
        return Ok(None);
    };
    let host = state / 2;
    let host = u32::try_from(host).map_err(|_| format!("{rank} is on host {host}"))?;
    let since_start = superstep_started - Instant::START;
    let started = (since_start + seconds(started)).max(Seconds::ZERO);
    Ok(Some(Traced {
        superstep,
        rank,
        host: HostId(host),
        started: Instant::new(started.get()).expect("a time of at least zero"),
        computation: seconds(computation),
        exchange: seconds(exchange),
        sent: Bytes(sent),
        received: Bytes(received),
        halted: state % 2 == 1,
    }))
}

/// Whole nanoseconds, rounded; times before the superstep's start are negative numbers, wrapped.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the conversion saturates, after 292 years"
)]
fn nanoseconds(time: Seconds) -> u64 {
    ((time.get() * 1e9).round() as i64).cast_unsigned()
}

fn seconds(nanoseconds: u64) -> Seconds {
    Seconds::new(nanoseconds.cast_signed() as f64 / 1e9).expect("an integer is finite")
}

fn instant(nanoseconds: u64) -> Instant {
    Instant::new(nanoseconds as f64 / 1e9).expect("a count is finite and not negative")
}

fn write(body: &mut Vec<u8>, number: impl VarInt) {
    let mut bytes = [0; 10];
    let length = number.encode_var(&mut bytes);
    body.extend_from_slice(&bytes[..length]);
}

fn read<T: VarInt>(rest: &mut &[u8]) -> Result<T, String> {
    let (number, length) = T::decode_var(rest).ok_or("a number is missing or too long")?;
    *rest = &rest[length..];
    Ok(number)
}

const COLUMNS: usize = 6;

/// The column of the host, and of whether the process halts.
const STATE: usize = 0;

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

#[cfg(test)]
mod tests;
