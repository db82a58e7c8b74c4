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

mod columns;
mod reader;
mod writer;

use bsp::units::Instant;

pub use reader::{TraceError, TraceReader};
pub(super) use writer::TraceWriter;

use super::Traced;

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

#[cfg(test)]
mod tests;
