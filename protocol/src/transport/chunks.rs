//! A payload in chunks, each with a checksum: an error is found before the whole payload has arrived.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | length of the chunk: [`CHUNK_LEN`], less in the last one |
//! | 4..8 | CRC-32 of the chunk |
//! | 8.. | the chunk |
//!
//! The cipher of QUIC detects what the network changes. The checksum detects errors in memory and in programs.

use std::time::Duration;

use bytes::Bytes;
use quinn::{SendStream, WriteError};
use tokio::sync::mpsc;

use crate::transport::Refusal;
use crate::transport::stream_reader::{Pace, StreamError, StreamReader};

/// Bytes of each chunk of a state but the last.
///
/// The first chunk is sent when it is packed, and the last one unpacked when it has arrived: the longer chunks are, the
/// less of packing and unpacking is done while a state is sent.
pub const CHUNK_LEN: usize = 64 << 10;

/// Writes `before`, then `payload` without copying it.
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

/// Writes `before`, then a payload of `length` bytes as its chunks become available.
///
/// Returns whether all chunks became available, each of the right length.
pub(super) async fn write_chunks(
    stream: &mut SendStream,
    before: Bytes,
    length: u64,
    mut chunks: mpsc::Receiver<Bytes>,
) -> Result<bool, WriteError> {
    stream.write_chunk(before).await?;
    let mut left = length;
    while 0 < left {
        let Some(chunk) = chunks.recv().await else {
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

/// Reads a payload of `length` bytes into one piece of memory.
///
/// The memory doubles as bytes arrive, and reserved memory is not touched before: an announced length alone costs
/// almost nothing. Fails if it does not keep its [`Pace`].
pub(super) async fn read(
    reader: &mut StreamReader,
    length: u64,
    limit: Duration,
) -> Result<Bytes, StreamError> {
    let memory = || Refusal::Memory { bytes: length };
    let whole = usize::try_from(length).map_err(|_| memory())?;
    let mut payload = Vec::new();
    let mut pace = Pace::default();
    while payload.len() < whole {
        let begin = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        let reading = read_chunk(reader, &mut payload, (begin, length));
        pace.wait("a state", limit, reading).await??;
        pace.gain(CHUNK_LEN);
    }
    Ok(payload.into())
}

/// Reads a payload of `length` bytes and sends each valid chunk to `chunks`. If the receiver is gone, the rest is
/// discarded. Fails if the payload does not keep its [`Pace`].
pub(super) async fn read_chunks(
    reader: &mut StreamReader,
    (length, limit): (u64, Duration),
    chunks: &mpsc::Sender<Bytes>,
) -> Result<(), StreamError> {
    let mut begin = 0;
    let mut pace = Pace::default();
    while begin < length {
        let mut chunk = Vec::new();
        let reading = read_chunk(reader, &mut chunk, (begin, length));
        pace.wait("a state", limit, reading).await??;
        pace.gain(chunk.len());
        begin += u64::from(length_of(chunk.len()));
        // A receiver that has given up reports its reason elsewhere.
        drop(chunks.send(chunk.into()).await);
    }
    Ok(())
}

/// Appends the chunk that begins at byte `begin` of a payload of `length` bytes.
async fn read_chunk(
    reader: &mut StreamReader,
    payload: &mut Vec<u8>,
    (begin, length): (u64, u64),
) -> Result<(), StreamError> {
    let memory = || Refusal::Memory { bytes: length };
    let chunk = next_len(length - begin);
    let expected = read_header(reader, begin, chunk).await?;
    let mut hasher = crc32fast::Hasher::new();
    let end = payload.len() + chunk;
    while payload.len() < end {
        let left = end - payload.len();
        let Some(bytes) = reader.read_some(left).await? else {
            let found = begin + u64::from(length_of(chunk - left));
            return Err(Refusal::Ended {
                what: "a state",
                found,
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
    let found = hasher.finalize();
    if found != expected {
        let at = begin;
        return Err(Refusal::Corrupted {
            at,
            found,
            expected,
        }
        .into());
    }
    Ok(())
}

/// The length of the next chunk, when `left` bytes are left.
fn next_len(left: u64) -> usize {
    usize::try_from(left).map_or(CHUNK_LEN, |left| left.min(CHUNK_LEN))
}

/// Reads the header of a chunk of `length` bytes, and returns its checksum.
async fn read_header(
    reader: &mut StreamReader,
    begin: u64,
    length: usize,
) -> Result<u32, StreamError> {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = reader.read_array("the header of a chunk").await?;
    let found = u32::from_le_bytes([l0, l1, l2, l3]);
    let expected = length_of(length);
    if found != expected {
        let at = begin;
        return Err(Refusal::Chunk {
            at,
            found,
            expected,
        }
        .into());
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
