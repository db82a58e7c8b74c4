//! The rows of a superstep as columns of differences.

use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank};
use integer_encoding::VarInt;

use crate::Traced;
use crate::trace::TracedSuperstep;

/// The values of the process in each column, in the superstep that was encoded or decoded last.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    rows: Vec<[u64; COLUMNS]>,
}

impl Columns {
    /// Of `processes` processes, before the first superstep.
    pub(super) fn new(processes: usize) -> Self {
        Self {
            rows: vec![[0; COLUMNS]; processes],
        }
    }

    /// The number of processes.
    pub(super) const fn processes(&self) -> usize {
        self.rows.len()
    }

    /// Appends `superstep` to `body`.
    pub(super) fn encode(&mut self, superstep: &TracedSuperstep, body: &mut Vec<u8>) {
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
    pub(super) fn decode(
        &mut self,
        body: &[u8],
        superstep: &mut TracedSuperstep,
    ) -> Result<(), String> {
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
