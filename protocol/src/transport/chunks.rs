//! A payload in chunks, each with a checksum: an error is found before the whole payload has arrived.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | length of the chunk: [`CHUNK_LEN`], less in the last one, which may be empty |
//! | 4..8 | CRC-32 of the chunk |
//! | 8.. | the chunk |
//!
//! The length of a payload is not announced, so that it can be sent while it is encoded: it ends with the first chunk that
//! is shorter than [`CHUNK_LEN`]. A stream that ends without one is incomplete.
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

/// What a payload that arrives may take.
#[derive(Clone, Copy)]
pub(super) struct PayloadLimits {
    /// Bytes of all chunks.
    pub(super) bytes: u64,
    /// The time in which it has to end, or grow by 1 MiB.
    pub(super) unfinished: Duration,
}

/// Writes `payload` without copying it.
pub(super) async fn write(stream: &mut SendStream, mut payload: Bytes) -> Result<(), WriteError> {
    loop {
        let chunk = payload.split_to(payload.len().min(CHUNK_LEN));
        let is_last = chunk.len() < CHUNK_LEN;
        stream
            .write_all_chunks(&mut [header(&chunk), chunk])
            .await?;
        if is_last {
            return Ok(());
        }
    }
}

/// Writes a payload as its chunks become available. Returns its length; `None` if not all of its chunks have become
/// available, or one is too long.
pub(super) async fn write_chunks(
    stream: &mut SendStream,
    mut chunks: mpsc::Receiver<Bytes>,
) -> Result<Option<u64>, WriteError> {
    let mut length = 0;
    while let Some(chunk) = chunks.recv().await {
        let chunk_len = chunk.len();
        if CHUNK_LEN < chunk_len {
            return Ok(None);
        }
        length += u64::from(length_of(chunk_len));
        stream
            .write_all_chunks(&mut [header(&chunk), chunk])
            .await?;
        if chunk_len < CHUNK_LEN {
            return Ok(Some(length));
        }
    }
    Ok(None)
}

/// Reads a payload into one piece of memory, which doubles as bytes arrive. Fails if it does not keep its [`Pace`].
pub(super) async fn read(
    reader: &mut StreamReader,
    limits: PayloadLimits,
) -> Result<Bytes, StreamError> {
    let mut payload = Vec::new();
    let mut pace = Pace::default();
    loop {
        let begin = payload.len();
        let at = u64::try_from(begin).unwrap_or(u64::MAX);
        let reading = read_chunk(reader, &mut payload, at, limits.bytes);
        pace.wait("a state", limits.unfinished, reading).await??;
        if payload.len() - begin < CHUNK_LEN {
            return Ok(payload.into());
        }
        pace.gain(CHUNK_LEN);
    }
}

/// Reads a payload and sends each valid chunk to `chunks`, the last one too if it is empty. If the receiver is gone, the
/// rest is discarded. Fails if the payload does not keep its [`Pace`].
pub(super) async fn read_chunks(
    reader: &mut StreamReader,
    limits: PayloadLimits,
    chunks: &mpsc::Sender<Bytes>,
) -> Result<(), StreamError> {
    let mut begin = 0;
    let mut pace = Pace::default();
    loop {
        let mut chunk = Vec::new();
        let reading = read_chunk(reader, &mut chunk, begin, limits.bytes);
        pace.wait("a state", limits.unfinished, reading).await??;
        let length = chunk.len();
        pace.gain(length);
        begin += u64::from(length_of(length));
        // A receiver that has given up reports its reason elsewhere.
        drop(chunks.send(chunk.into()).await);
        if length < CHUNK_LEN {
            return Ok(());
        }
    }
}

/// Appends the chunk that begins at byte `begin` of a payload of at most `limit` bytes. Memory is reserved for bytes that
/// have arrived.
async fn read_chunk(
    reader: &mut StreamReader,
    payload: &mut Vec<u8>,
    begin: u64,
    limit: u64,
) -> Result<(), StreamError> {
    let (length, expected) = read_header(reader, begin, limit).await?;
    let mut hasher = crc32fast::Hasher::new();
    let end = payload.len() + length;
    while payload.len() < end {
        let left = end - payload.len();
        let count = |length: usize| begin + u64::from(length_of(length));
        let Some(bytes) = reader.read_some(left).await? else {
            return Err(Refusal::Ended {
                what: "a state",
                found: count(length - left),
                expected: count(length),
            }
            .into());
        };
        if payload.capacity() < payload.len() + bytes.len() {
            let more = payload.len().max(left);
            let reserved = payload.try_reserve_exact(more);
            reserved.map_err(|_| Refusal::Memory {
                bytes: count(length),
            })?;
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

/// Reads the header of a chunk, and returns its length and its checksum.
async fn read_header(
    reader: &mut StreamReader,
    begin: u64,
    limit: u64,
) -> Result<(usize, u32), StreamError> {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = reader.read_array("the header of a chunk").await?;
    let found = u32::from_le_bytes([l0, l1, l2, l3]);
    let length = usize::try_from(found).unwrap_or(usize::MAX);
    if CHUNK_LEN < length {
        return Err(Refusal::Chunk { at: begin, found }.into());
    }
    if limit < begin.saturating_add(found.into()) {
        return Err(Refusal::StateTooLong { limit }.into());
    }
    Ok((length, u32::from_le_bytes([c0, c1, c2, c3])))
}

fn header(chunk: &[u8]) -> Bytes {
    let length = length_of(chunk.len()).to_le_bytes();
    let checksum = crc32fast::hash(chunk).to_le_bytes();
    Bytes::from([length, checksum].concat())
}

fn length_of(chunk: usize) -> u32 {
    u32::try_from(chunk).expect("a chunk has less than 4 GiB")
}
