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
use tokio::sync::mpsc;

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

/// Writes a payload of `length` bytes behind `before`, as it is made; whether all of it came, in pieces as long as a
/// chunk, but for the last.
pub(super) async fn write_pieces(
    stream: &mut SendStream,
    before: Bytes,
    length: u64,
    mut pieces: mpsc::Receiver<Bytes>,
) -> Result<bool, WriteError> {
    stream.write_chunk(before).await?;
    let mut left = length;
    while 0 < left {
        let Some(chunk) = pieces.recv().await else {
            return Ok(false);
        };
        let expected = next_len(left);
        if chunk.len() != expected {
            return Ok(false);
        }
        left -= u64::from(length_of(expected));
        let header = header(&chunk);
        stream.write_all_chunks(&mut [header, chunk]).await?;
    }
    Ok(true)
}

/// Reads a payload of `length` bytes into one piece.
///
/// Its memory grows with what has come, twice as much each time, and what is reserved is not touched
/// before: an announcement alone costs next to nothing.
pub(super) async fn read(source: &mut Source, length: u64) -> Result<Bytes, Fault> {
    let memory = || Refusal::Memory { bytes: length };
    let whole = usize::try_from(length).map_err(|_| memory())?;
    let mut payload = Vec::new();
    while payload.len() < whole {
        let begin = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        read_chunk(source, &mut payload, (begin, length)).await?;
    }
    Ok(payload.into())
}

/// Reads a payload of `length` bytes and hands on every chunk that is intact; if nobody takes them any more, they are
/// forgotten.
pub(super) async fn read_pieces(
    source: &mut Source,
    length: u64,
    pieces: &mpsc::Sender<Bytes>,
) -> Result<(), Fault> {
    let mut begin = 0;
    while begin < length {
        let mut chunk = Vec::new();
        read_chunk(source, &mut chunk, (begin, length)).await?;
        begin += u64::from(length_of(chunk.len()));
        // Whoever does not want it any more has said why elsewhere.
        drop(pieces.send(chunk.into()).await);
    }
    Ok(())
}

/// Appends the chunk that begins at byte `begin` of a payload of `length` bytes.
async fn read_chunk(
    source: &mut Source,
    payload: &mut Vec<u8>,
    (begin, length): (u64, u64),
) -> Result<(), Fault> {
    let memory = || Refusal::Memory { bytes: length };
    let chunk = next_len(length - begin);
    let expected = checksum_of_next(source, begin, chunk).await?;
    let mut hasher = crc32fast::Hasher::new();
    let end = payload.len() + chunk;
    while payload.len() < end {
        let left = end - payload.len();
        let Some(bytes) = source.some(left).await? else {
            let met = begin + u64::from(length_of(chunk - left));
            return Err(Refusal::Ended {
                what: "a state",
                met,
                expected: length,
            }
            .into());
        };
        if payload.capacity() < payload.len() + bytes.len() {
            let more = payload.len().max(RESERVED_MIN).max(bytes.len());
            let more = more.min(usize::try_from(length).map_err(|_| memory())? - payload.len());
            payload.try_reserve_exact(more).map_err(|_| memory())?;
        }
        hasher.update(&bytes);
        payload.extend_from_slice(&bytes);
    }
    let met = hasher.finalize();
    if met != expected {
        let at = begin;
        return Err(Refusal::Corrupted { at, met, expected }.into());
    }
    Ok(())
}

/// How long the next chunk is when so many bytes are left.
fn next_len(left: u64) -> usize {
    usize::try_from(left).map_or(CHUNK_LEN, |left| left.min(CHUNK_LEN))
}

/// The checksum that the chunk of `length` bytes should have.
async fn checksum_of_next(source: &mut Source, begin: u64, length: usize) -> Result<u32, Fault> {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = source.array("the header of a chunk").await?;
    let met = u32::from_le_bytes([l0, l1, l2, l3]);
    let expected = length_of(length);
    if met != expected {
        let at = begin;
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
