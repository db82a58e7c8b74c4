//! What a checkpoint has of one process.

use std::fmt;
use std::io::{self, Read, Write};

use agents::ChunkSink;
use bsp::Rank;
use bsp::units::{self, Instructions};
use bytes::{Buf, Bytes};
use protocol::transport::{CHUNK_LEN, JobId};

/// What a checkpoint has of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whose it is, and of when.
    pub head: PieceHead,
    /// The encoded state of a running process, or the encoded output of a halted one.
    pub content: Content,
}

/// What is known of a piece without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceHead {
    /// The job.
    pub job: JobId,
    /// The checkpoint.
    pub generation: Generation,
    /// The process.
    pub rank: Rank,
    /// Whether it computes on.
    pub condition: Condition,
    /// The computation that it charged in its last superstep, by which it is placed when it is restored.
    pub work: Instructions,
}

/// Whether a process computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It does.
    Running,
    /// It has halted.
    Halted {
        /// In which superstep.
        superstep: u64,
    },
}

/// The place of a checkpoint among those of a job. Of two, the newer one is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    /// The incarnation of the job: increases whenever the job begins again from a checkpoint, and is greater in a job that
    /// resumes another one than in that.
    pub incarnation: u64,
    /// The superstep before which the states were taken.
    pub superstep: u64,
}

impl Piece {
    /// The piece whose content `encode` writes. Chunks that equal those of `previous` are shared with it.
    ///
    /// # Errors
    ///
    /// Those of `encode`.
    pub fn encode<E>(
        head: PieceHead,
        previous: Option<&Self>,
        encode: impl FnOnce(&mut ContentWriter<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut writer = ContentWriter::new(previous.map(|piece| &piece.content));
        encode(&mut writer)?;
        let content = writer.finish();
        Ok(Self { head, content })
    }

    /// The length of its content.
    #[must_use]
    pub fn len(&self) -> units::Bytes {
        units::Bytes(self.content.len())
    }

    /// Whether it has no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.incarnation, self.superstep)
    }
}

/// Bytes in chunks, which two contents may share.
///
/// Invariant: every chunk has [`CHUNK_LEN`] bytes, the last one may have fewer, and none is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    chunks: Vec<Chunk>,
}

/// A part of a content.
///
/// Invariant: the checksum is that of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    bytes: Bytes,
    checksum: u32,
}

/// Cuts what is written to it into chunks, and shares those that equal the chunks of a previous content.
#[derive(Debug)]
pub struct ContentWriter<'a> {
    previous: &'a [Chunk],
    chunks: Vec<Chunk>,
    /// The beginning of the next chunk.
    begun: Vec<u8>,
}

impl Content {
    /// `bytes` in chunks, without a copy.
    #[must_use]
    pub fn new(mut bytes: Bytes) -> Self {
        let mut chunks = Vec::with_capacity(bytes.len().div_ceil(CHUNK_LEN));
        while !bytes.is_empty() {
            let chunk = bytes.split_to(bytes.len().min(CHUNK_LEN));
            chunks.push(Chunk::new(chunk));
        }
        Self { chunks }
    }

    /// These chunks, if their lengths are those of a content.
    pub(super) fn of_chunks(chunks: Vec<Chunk>) -> Option<Self> {
        let (last, others) = match chunks.split_last() {
            Some((last, others)) => (last.bytes.len(), others),
            None => (CHUNK_LEN, &[][..]),
        };
        let are_full = others.iter().all(|chunk| chunk.bytes.len() == CHUNK_LEN);
        let is_content = are_full && (1..=CHUNK_LEN).contains(&last);
        is_content.then_some(Self { chunks })
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.chunks.iter().map(Chunk::len).sum()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Its parts, in order.
    #[must_use]
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// The CRC-32 of the checksums of all chunks.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mut all = crc32fast::Hasher::new();
        for chunk in &self.chunks {
            all.update(&chunk.checksum.to_le_bytes());
        }
        all.finalize()
    }

    /// Reads its bytes in order.
    #[must_use]
    pub fn reader(&self) -> impl Read + use<> {
        let chunks = self.chunks.clone().into_iter();
        ContentReader {
            chunks: chunks.map(|chunk| chunk.bytes),
            chunk: Bytes::new(),
        }
    }
}

impl Chunk {
    pub(super) fn new(bytes: Bytes) -> Self {
        let checksum = crc32fast::hash(&bytes);
        Self { bytes, checksum }
    }

    /// `bytes`, if their checksum is `checksum`.
    pub(super) fn checked(bytes: Bytes, checksum: u32) -> Option<Self> {
        let chunk = Self::new(bytes);
        (chunk.checksum == checksum).then_some(chunk)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Their CRC-32.
    #[must_use]
    pub const fn checksum(&self) -> u32 {
        self.checksum
    }

    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.bytes.len()).expect("lengths fit 64 bits")
    }

    /// Whether both have the same bytes, or share them.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let [one, other] = [&self.bytes, &other.bytes];
        one.len() == other.len() && (one.as_ptr() == other.as_ptr() || one == other)
    }
}

impl<'a> ContentWriter<'a> {
    /// Shares chunks with `previous`.
    #[must_use]
    pub fn new(previous: Option<&'a Content>) -> Self {
        Self {
            previous: previous.map_or(&[], Content::chunks),
            chunks: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// What has been written.
    #[must_use]
    pub fn finish(mut self) -> Content {
        if !self.begun.is_empty() {
            let rest = std::mem::take(&mut self.begun);
            self.push(&rest);
        }
        Content {
            chunks: self.chunks,
        }
    }

    /// Adds a chunk: that of the previous content at this place, if it is equal.
    fn push(&mut self, bytes: &[u8]) {
        let chunk = self.shared(bytes);
        let chunk = chunk.unwrap_or_else(|| Chunk::new(Bytes::copy_from_slice(bytes)));
        self.chunks.push(chunk);
    }

    /// The chunk of the previous content at this place, if its bytes are these.
    fn shared(&self, bytes: &[u8]) -> Option<Chunk> {
        let previous = self.previous.get(self.chunks.len());
        previous.filter(|chunk| chunk.bytes == bytes).cloned()
    }
}

/// Takes whole chunks without a copy.
impl ChunkSink for ContentWriter<'_> {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        if !self.begun.is_empty() || chunk.len() != CHUNK_LEN {
            return self.write_all(&chunk);
        }
        let chunk = self.shared(&chunk).unwrap_or_else(|| Chunk::new(chunk));
        self.chunks.push(chunk);
        Ok(())
    }
}

impl Write for ContentWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while CHUNK_LEN <= self.begun.len() + bytes.len() {
            let (now, later) = bytes.split_at(CHUNK_LEN - self.begun.len());
            if self.begun.is_empty() {
                self.push(now);
            } else {
                let mut chunk = std::mem::take(&mut self.begun);
                chunk.extend_from_slice(now);
                self.push(&chunk);
                chunk.clear();
                self.begun = chunk;
            }
            bytes = later;
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ContentReader<I> {
    chunks: I,
    chunk: Bytes,
}

impl<I: Iterator<Item = Bytes>> Read for ContentReader<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() {
            self.chunk = self.chunks.next().unwrap_or_default();
        }
        let length = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&[u8]], previous: Option<&Content>) -> Content {
        let mut writer = ContentWriter::new(previous);
        for part in parts {
            writer.write_all(part).unwrap();
        }
        writer.finish()
    }

    #[test]
    fn contents_are_read_as_they_were_written() {
        for length in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN + 5] {
            let all: Vec<u8> = (0..=250).cycle().take(length).collect();
            let parts: Vec<&[u8]> = all.chunks(77_777).collect();
            for content in [
                written(&parts, None),
                written(&[&all], None),
                Content::new(all.clone().into()),
            ] {
                assert_eq!(content.len(), u64::try_from(length).unwrap());
                assert_eq!(content.is_empty(), length == 0);
                let mut read = Vec::new();
                content.reader().read_to_end(&mut read).unwrap();
                assert!(read == all, "{length}");
                assert_eq!(Content::of_chunks(content.chunks.clone()), Some(content));
            }
        }
    }

    #[test]
    fn equal_chunks_are_shared_with_the_previous_content() {
        let mut state = vec![1; 5 * CHUNK_LEN + 7];
        let first = written(&[&state], None);
        state[2 * CHUNK_LEN] = 2;
        state.push(3);
        let second = written(&[&state[..9], &state[9..]], Some(&first));
        let shared = first.chunks.iter().zip(&second.chunks);
        let shared = shared.map(|(one, other)| one.bytes.as_ptr() == other.bytes.as_ptr());
        let shared: Vec<bool> = shared.collect();
        assert_eq!(shared, [true, true, false, true, true, false]);
        assert_eq!(second, written(&[&state], None));
        assert_ne!(second.checksum(), first.checksum());
    }

    #[test]
    fn lengths_of_chunks_that_no_content_has_are_refused() {
        let chunk = |length| Chunk::new(vec![0; length].into());
        for lengths in [vec![0], vec![CHUNK_LEN + 1], vec![5, 5], vec![CHUNK_LEN, 0]] {
            let chunks = lengths.iter().map(|length| chunk(*length)).collect();
            assert_eq!(Content::of_chunks(chunks), None, "{lengths:?}");
        }
        assert_eq!(Chunk::checked(Bytes::from_static(b"a"), 5), None);
    }
}
