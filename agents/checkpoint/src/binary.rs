//! Numbers and bytes of fixed lengths, little-endian, read within bounds.

use bsp::Rank;
use bsp::units::Instructions;
use bytes::Bytes;

use super::piece::Condition;

/// Reads bytes from the front.
#[derive(Debug)]
pub(super) struct Reader {
    bytes: Bytes,
    offset: u64,
}

/// The bytes end before what should come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended;

impl Reader {
    pub(super) const fn new(bytes: Bytes) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The number of bytes that have been read.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes that have not.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes that have not been read.
    pub(super) fn rest(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The next `length` bytes, without a copy.
    pub(super) fn take(&mut self, length: usize) -> Result<Bytes, Ended> {
        if self.bytes.len() < length {
            return Err(Ended);
        }
        self.offset += u64::try_from(length).expect("lengths fit 64 bits");
        Ok(self.bytes.split_to(length))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Ended> {
        let bytes = self.take(N)?;
        Ok(<[u8; N]>::try_from(&bytes[..]).expect("as long as asked for"))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Ended> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Ended> {
        self.array().map(u64::from_le_bytes)
    }

    /// A [`Condition`]; `None`: a number that means none.
    pub(super) fn condition(&mut self) -> Result<Option<Condition>, Ended> {
        let (number, superstep) = (self.u32()?, self.u64()?);
        Ok(match (number, superstep) {
            (RUNNING, 0) => Some(Condition::Running),
            (HALTED, superstep) => Some(Condition::Halted { superstep }),
            _ => None,
        })
    }

    pub(super) fn rank(&mut self) -> Result<Rank, Ended> {
        self.u32().map(Rank)
    }

    pub(super) fn work(&mut self) -> Result<Instructions, Ended> {
        self.u64().map(Instructions)
    }
}

/// Appends `condition`, as [`Reader::condition`] reads it.
pub(super) fn write_condition(bytes: &mut Vec<u8>, condition: Condition) {
    let (number, superstep) = match condition {
        Condition::Running => (RUNNING, 0),
        Condition::Halted { superstep } => (HALTED, superstep),
    };
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&superstep.to_le_bytes());
}

const RUNNING: u32 = 0;
const HALTED: u32 = 1;
