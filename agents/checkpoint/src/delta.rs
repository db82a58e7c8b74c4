//! What changed of a piece between two checkpoints.
//!
//! Contents are compared chunk by chunk, so a change that shifts what follows makes all of that differ. An encoded delta,
//! with little-endian numbers:
//!
//! | bytes | |
//! |---|---|
//! | 4 | `mbcd` |
//! | 4 | version of this format |
//! | 48 | [`PieceHead`]: job, incarnation, superstep, rank, condition (4 bytes, and the superstep of the end), work |
//! | 16 | length of the content, the CRC-32 of its chunks' CRC-32s, number of changed chunks |
//! | 32 | whether it was made from a piece (4 bytes), and from which: incarnation, superstep, length, CRC-32 |
//! | 4 | CRC-32 of all bytes before |
//! | for each changed chunk | its number (4 bytes), its CRC-32 (4), its bytes |

use std::io::Read;
use std::iter;
use std::num::NonZeroU64;

use agents::ChunkReader;
use bsp::Rank;
use bsp::numbers::length;
use bytes::Bytes;
use protocol::transport::{CHUNK_LEN, JobId};

use crate::piece::{Chunk, Content, Ended, Generation, Piece, PieceHead, Reader, write_condition};

/// What changed of a piece since the previous generation, or all of it.
///
/// Invariant: changed chunks are in order, lie inside the content, and have the lengths that they have there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    head: PieceHead,
    length: u64,
    checksum: u32,
    base: Option<Base>,
    changed: Vec<(usize, Chunk)>,
}

/// The content that a delta was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Base {
    generation: Generation,
    length: u64,
    checksum: u32,
}

/// Why there is no delta, or no piece.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// The bytes are not the encoding of a delta.
    #[error("byte {offset} of the delta: {problem}")]
    Malformed {
        /// Where, in bytes from the start.
        offset: u64,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The piece is not the one that the delta was made from.
    #[error("the delta of {rank} was made from its piece of checkpoint {expected}, found {found}")]
    Base {
        /// The process.
        rank: Rank,
        /// Of which checkpoint the piece should be.
        expected: Generation,
        /// What there is.
        found: FoundBase,
    },
    /// The resulting content is not the one that the delta was made of.
    #[error("the content of {rank} has the checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// The process.
        rank: Rank,
        /// The checksum of its content.
        expected: u32,
        /// The checksum of the result.
        found: u32,
    },
}

/// What there is in place of the piece that a delta was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBase {
    /// No piece of the process.
    Nothing,
    /// A piece of another checkpoint.
    Generation(Generation),
    /// A piece of this checkpoint with another content.
    OtherContent,
}

impl std::fmt::Display for FoundBase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => formatter.write_str("none"),
            Self::Generation(generation) => write!(formatter, "that of {generation}"),
            Self::OtherContent => formatter.write_str("another content"),
        }
    }
}

impl Piece {
    /// What changed since `previous`; all of it, if there is no previous piece.
    #[must_use]
    pub fn delta_from(&self, previous: Option<&Self>) -> Delta {
        let before = previous.map_or(&[][..], |piece| piece.content.chunks());
        let chunks = self.content.chunks().iter().enumerate();
        let changed =
            chunks.filter(|(at, chunk)| !before.get(*at).is_some_and(|it| it.equals(chunk)));
        Delta {
            head: self.head,
            length: self.content.len(),
            checksum: self.content.checksum(),
            base: previous.map(Base::of),
            changed: changed.map(|(at, chunk)| (at, chunk.clone())).collect(),
        }
    }
}

impl Delta {
    /// The piece of which it was made. It shares the chunks that did not change with `previous`.
    ///
    /// # Errors
    ///
    /// [`DeltaError::Base`], if `previous` is not the piece from which the delta was made; [`DeltaError::Checksum`].
    pub fn apply(self, previous: Option<&Piece>) -> Result<Piece, DeltaError> {
        let rank = self.head.rank;
        let mut before = &[][..];
        if let Some(base) = self.base {
            let expected = base.generation;
            let other = |found| DeltaError::Base {
                rank,
                expected,
                found,
            };
            let piece = previous.filter(|piece| piece.head.rank == rank);
            let piece = piece.ok_or_else(|| other(FoundBase::Nothing))?;
            let found = Base::of(piece);
            if found.generation != expected {
                return Err(other(FoundBase::Generation(found.generation)));
            } else if found != base {
                return Err(other(FoundBase::OtherContent));
            }
            before = piece.content.chunks();
        }
        let count = self.length.div_ceil(length(CHUNK_LEN));
        let kept = usize::try_from(count).map_or(before.len(), |count| count.min(before.len()));
        let mut chunks = before[..kept].to_vec();
        for (at, chunk) in self.changed {
            if at < chunks.len() {
                chunks[at] = chunk;
            } else if at == chunks.len() {
                chunks.push(chunk);
            }
        }
        let content = Content::of_chunks(chunks).unwrap_or_default();
        let (expected, found) = (self.checksum, content.checksum());
        if found != expected || content.len() != self.length {
            return Err(DeltaError::Checksum {
                rank,
                expected,
                found,
            });
        }
        let head = self.head;
        Ok(Piece { head, content })
    }

    /// Its encoding, in parts: the head, and for each changed chunk two. Chunks are not copied.
    ///
    /// # Panics
    ///
    /// If the content has 2³² chunks, which are 256 TiB.
    pub fn encode(&self) -> impl Iterator<Item = Bytes> {
        let chunks = self.changed.iter().flat_map(|(at, chunk)| {
            let at = u32::try_from(*at).expect("a content has at most 2^32 chunks");
            let before = [at.to_le_bytes(), chunk.checksum().to_le_bytes()].concat();
            [before.into(), chunk.bytes().clone()]
        });
        iter::once(self.encode_head()).chain(chunks)
    }

    fn encode_head(&self) -> Bytes {
        let mut head = Vec::with_capacity(HEAD_LEN);
        head.extend_from_slice(MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&self.head.job.0.get().to_le_bytes());
        write_generation(&mut head, self.head.generation);
        head.extend_from_slice(&self.head.rank.0.to_le_bytes());
        write_condition(&mut head, self.head.condition);
        head.extend_from_slice(&self.head.work.0.to_le_bytes());
        head.extend_from_slice(&self.length.to_le_bytes());
        head.extend_from_slice(&self.checksum.to_le_bytes());
        let changed = u32::try_from(self.changed.len());
        let changed = changed.expect("a content has at most 2^32 chunks");
        head.extend_from_slice(&changed.to_le_bytes());
        head.extend_from_slice(&u32::from(self.base.is_some()).to_le_bytes());
        let base = self.base.unwrap_or_default();
        write_generation(&mut head, base.generation);
        head.extend_from_slice(&base.length.to_le_bytes());
        head.extend_from_slice(&base.checksum.to_le_bytes());
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        head.into()
    }

    /// The delta whose encoding is `bytes`. Changed chunks are copied, so that they do not keep all of `bytes` in memory;
    /// nothing else is allocated in proportion to what `bytes` announce.
    ///
    /// # Errors
    ///
    /// [`DeltaError::Malformed`].
    pub fn decode(bytes: &Bytes) -> Result<Self, DeltaError> {
        let mut reader = Reader::new(bytes.clone());
        decode(&mut reader).map_err(|problem| DeltaError::Malformed {
            offset: reader.offset(),
            problem,
        })
    }

    /// The encoding of several deltas, in parts: each after its length as 8 bytes, little-endian. Chunks are not copied.
    pub fn encode_all(deltas: &[Self]) -> impl Iterator<Item = Bytes> {
        deltas.iter().flat_map(|delta| {
            let length = delta.encoded_len().to_le_bytes();
            iter::once(Bytes::copy_from_slice(&length)).chain(delta.encode())
        })
    }

    /// The deltas that [`Self::encode_all`] has encoded as `chunks`.
    ///
    /// # Errors
    ///
    /// [`DeltaError::Malformed`], with the offset in that delta.
    pub fn decode_all(chunks: Vec<Bytes>) -> Result<Vec<Self>, DeltaError> {
        let ended = || DeltaError::Malformed {
            offset: 0,
            problem: "the list of deltas ends here",
        };
        let mut source = chunks.into_iter();
        let mut reader = ChunkReader::new(&mut source);
        let mut deltas = Vec::new();
        while !reader.is_over().map_err(|_| ended())? {
            let mut bytes = [0; LENGTH_LEN];
            reader.read_exact(&mut bytes).map_err(|_| ended())?;
            let announced = u64::from_le_bytes(bytes);
            // Memory is reserved for bytes that have arrived.
            let mut delta = Vec::new();
            let read = (&mut reader).take(announced).read_to_end(&mut delta);
            if u64::try_from(read.map_err(|_| ended())?) != Ok(announced) {
                return Err(ended());
            }
            deltas.push(Self::decode(&delta.into())?);
        }
        Ok(deltas)
    }

    /// Whose piece it makes, and of when.
    #[must_use]
    pub const fn head(&self) -> &PieceHead {
        &self.head
    }

    /// The checkpoint from whose piece it was made; `None`: it is complete.
    #[must_use]
    pub fn base(&self) -> Option<Generation> {
        self.base.map(|base| base.generation)
    }

    /// The length of its encoding.
    #[must_use]
    pub fn encoded_len(&self) -> u64 {
        let chunks = self.changed.iter().map(|(_, chunk)| 8 + chunk.len());
        length(HEAD_LEN) + chunks.sum::<u64>()
    }
}

impl Base {
    fn of(piece: &Piece) -> Self {
        Self {
            generation: piece.head.generation,
            length: piece.content.len(),
            checksum: piece.content.checksum(),
        }
    }
}

fn write_generation(bytes: &mut Vec<u8>, generation: Generation) {
    bytes.extend_from_slice(&generation.incarnation.to_le_bytes());
    bytes.extend_from_slice(&generation.superstep.to_le_bytes());
}

/// What is wrong with an encoding.
type Problem = &'static str;

impl From<Ended> for Problem {
    fn from(_: Ended) -> Self {
        "the delta ends here"
    }
}

fn decode(reader: &mut Reader) -> Result<Delta, Problem> {
    let whole = reader.rest();
    if reader.array()? != *MAGIC {
        return Err("this is no delta");
    }
    if reader.u32()? != VERSION {
        return Err("this format has another version");
    }
    let job = NonZeroU64::new(reader.u64()?).ok_or("a job has a number above zero")?;
    let generation = read_generation(reader)?;
    let rank = reader.rank()?;
    let condition = reader.condition()?;
    let condition = condition.ok_or("a process is either running or has halted")?;
    let work = reader.work()?;
    let (content_len, checksum, count) = (reader.u64()?, reader.u32()?, reader.u32()?);
    let has_base = reader.u32()?;
    let base = Base {
        generation: read_generation(reader)?,
        length: reader.u64()?,
        checksum: reader.u32()?,
    };
    let base = match has_base {
        0 if base == Base::default() => None,
        1 => Some(base),
        _ => return Err("a delta is made from one piece or none"),
    };
    if reader.u32()? != crc32fast::hash(&whole[..HEAD_LEN - 4]) {
        return Err("the head has another checksum");
    }
    let chunks = content_len.div_ceil(length(CHUNK_LEN));
    let announced = usize::try_from(count).map_err(|_| "too many chunks")?;
    // Each takes nine bytes at least, and all but the last one much more.
    if reader.left() / CHUNK_LEN + 1 < announced {
        return Err("more chunks are announced than follow");
    }
    let mut changed = Vec::with_capacity(announced);
    let mut next = 0;
    for _ in 0..announced {
        let at = u64::from(reader.u32()?);
        if at < next || chunks <= at {
            return Err("this chunk is out of order, or outside the content");
        }
        next = at + 1;
        let checksum = reader.u32()?;
        let left = content_len - at * length(CHUNK_LEN);
        let bytes =
            reader.take(usize::try_from(left).map_or(CHUNK_LEN, |left| left.min(CHUNK_LEN)))?;
        let chunk = Chunk::checked(Bytes::copy_from_slice(&bytes), checksum);
        let at = usize::try_from(at).map_err(|_| "this chunk is outside the content")?;
        changed.push((at, chunk.ok_or("the chunk before has another checksum")?));
    }
    if reader.left() != 0 {
        return Err("bytes follow the last chunk");
    }
    Ok(Delta {
        head: PieceHead {
            job: JobId(job),
            generation,
            rank,
            condition,
            work,
        },
        length: content_len,
        checksum,
        base,
        changed,
    })
}

fn read_generation(reader: &mut Reader) -> Result<Generation, Ended> {
    Ok(Generation {
        incarnation: reader.u64()?,
        superstep: reader.u64()?,
    })
}

const MAGIC: &[u8; 4] = b"mbcd";
const VERSION: u32 = 1;
const HEAD_LEN: usize = 108;
/// Bytes of the length of a delta among several.
const LENGTH_LEN: usize = 8;

#[cfg(test)]
mod tests;
