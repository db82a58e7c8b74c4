//! A payload cut into chunks, each with a checksum, so that it is read into place and what is broken is
//! found before all of it has come.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | length of the chunk: [`CHUNK_LEN`], less in the last one |
//! | 4..8 | CRC-32 of the chunk |
//! | 8.. | the chunk |
//!
//! QUIC's own cipher already finds what the network breaks; the checksum is for memory and for ourselves.

use bytes::Bytes;
use quinn::{SendStream, WriteError};

use crate::transport::Refusal;
use crate::transport::source::{Fault, Source};

/// Bytes of every chunk of a state but the last.
pub const CHUNK_LEN: usize = 1 << 20;

/// Writes `payload` behind `before`, sharing its memory.
pub(super) async fn write(
    stream: &mut SendStream,
    before: Bytes,
    mut payload: Bytes,
) -> Result<(), WriteError> {
    stream.write_chunk(before).await?;
    while !payload.is_empty() {
        let chunk = payload.split_to(payload.len().min(CHUNK_LEN));
        let header = header(&chunk);
        stream.write_all_chunks(&mut [header, chunk]).await?;
    }
    Ok(())
}

/// Reads a payload of `length` bytes.
///
/// Its memory grows with what has come, twice as much each time, and what is reserved is not touched
/// before: an announcement alone costs next to nothing.
pub(super) async fn read(source: &mut Source, length: u64) -> Result<Bytes, Fault> {
    let memory = || Refusal::Memory { bytes: length };
    let length = usize::try_from(length).map_err(|_| memory())?;
    let mut payload = Vec::new();
    while payload.len() < length {
        let begin = payload.len();
        let chunk = CHUNK_LEN.min(length - begin);
        let expected = checksum_of_next(source, begin, chunk).await?;
        let mut hasher = crc32fast::Hasher::new();
        while payload.len() < begin + chunk {
            let left = begin + chunk - payload.len();
            let Some(bytes) = source.some(left).await? else {
                return Err(Refusal::ended("a state", payload.len(), length).into());
            };
            if payload.capacity() < payload.len() + bytes.len() {
                let more = payload.len().max(RESERVED_MIN).max(bytes.len());
                let more = more.min(length - payload.len());
                payload.try_reserve_exact(more).map_err(|_| memory())?;
            }
            hasher.update(&bytes);
            payload.extend_from_slice(&bytes);
        }
        let met = hasher.finalize();
        if met != expected {
            let at = u64::try_from(begin).unwrap_or(u64::MAX);
            return Err(Refusal::Corrupted { at, met, expected }.into());
        }
    }
    Ok(payload.into())
}

/// The checksum that the chunk of `length` bytes should have.
async fn checksum_of_next(source: &mut Source, begin: usize, length: usize) -> Result<u32, Fault> {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = source.array("the header of a chunk").await?;
    let met = u32::from_le_bytes([l0, l1, l2, l3]);
    let expected = length_of(length);
    if met != expected {
        let at = u64::try_from(begin).unwrap_or(u64::MAX);
        return Err(Refusal::Chunk { at, met, expected }.into());
    }
    Ok(u32::from_le_bytes([c0, c1, c2, c3]))
}

fn header(chunk: &[u8]) -> Bytes {
    let length = length_of(chunk.len()).to_le_bytes();
    let checksum = crc32fast::hash(chunk).to_le_bytes();
    Bytes::from([length, checksum].concat())
}

fn length_of(chunk: usize) -> u32 {
    u32::try_from(chunk).expect("a chunk has less than 4 GiB")
}

const RESERVED_MIN: usize = 64 << 10;
