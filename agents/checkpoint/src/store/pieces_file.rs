//! A file of pieces.
//!
//! Numbers are little-endian; bytes that are not named are zero. Heads of pieces are long enough for the memory that a
//! decoded piece occupies without its content, so that no file takes more than twice its length to decode.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `migbspck` |
//! | 4 | version of this format |
//! | 28 | host (4 bytes), job (8), incarnation (8), superstep (8) |
//! | 4 | number of pieces |
//! | 60..64 | CRC-32 of the bytes before |
//! | for each piece, by rank, 128 | rank (4), condition (4, and 8 for the superstep of the end), work (8), length (8) |
//! | its last 4 | CRC-32 of the bytes before |
//! | for each chunk | its CRC-32 (4), its bytes |

use std::io;
use std::num::NonZeroU64;

use bsp::numbers::length;
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::transport::{CHUNK_LEN, JobId};

use super::super::binary::{Ended, Reader, write_condition};
use super::super::piece::{Chunk, Content, Generation, Piece, PieceHead};
use super::flaw::{Flaw, Part, Problem};

/// Where a file of pieces belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) job: JobId,
    pub(super) generation: Generation,
    pub(super) host: HostId,
}

/// Gives the file of `pieces` to `emit`, part by part.
pub(super) fn encode(
    place: Place,
    pieces: &[&Piece],
    mut emit: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut part = Vec::with_capacity(PART_LEN + CHUNK_LEN);
    part.extend_from_slice(MAGIC);
    part.extend_from_slice(&VERSION.to_le_bytes());
    part.extend_from_slice(&place.host.0.to_le_bytes());
    part.extend_from_slice(&place.job.0.get().to_le_bytes());
    part.extend_from_slice(&place.generation.incarnation.to_le_bytes());
    part.extend_from_slice(&place.generation.superstep.to_le_bytes());
    let count = u32::try_from(pieces.len()).expect("ranks fit 32 bits");
    part.extend_from_slice(&count.to_le_bytes());
    end_head(&mut part, 0, HEAD_LEN);
    for piece in pieces {
        let start = part.len();
        part.extend_from_slice(&piece.head.rank.0.to_le_bytes());
        write_condition(&mut part, piece.head.condition);
        part.extend_from_slice(&piece.head.work.0.to_le_bytes());
        part.extend_from_slice(&piece.content.len().to_le_bytes());
        end_head(&mut part, start, PIECE_HEAD_LEN);
        for chunk in piece.content.chunks() {
            part.extend_from_slice(&chunk.checksum().to_le_bytes());
            part.extend_from_slice(chunk.bytes());
            if PART_LEN <= part.len() {
                emit(&part)?;
                part.clear();
            }
        }
    }
    emit(&part)
}

/// The pieces in `file`, which share its memory.
pub(super) fn decode(place: Place, file: Bytes) -> Result<Vec<Piece>, Flaw> {
    let mut reader = Reader::new(file);
    let count = decode_head(place, &mut reader)?;
    // No more is reserved than the file can hold.
    let most = reader.left() / PIECE_HEAD_LEN;
    let count = usize::try_from(count).map_or(usize::MAX, |count| count);
    let mut pieces: Vec<Piece> = Vec::with_capacity(count.min(most));
    for _ in 0..count {
        let previous = pieces.last().map(|piece| piece.head.rank);
        pieces.push(decode_piece(place, previous, &mut reader)?);
    }
    if reader.left() != 0 {
        return Err(Flaw::new(reader.offset(), Problem::Longer));
    }
    Ok(pieces)
}

/// The number of pieces.
fn decode_head(place: Place, reader: &mut Reader) -> Result<u32, Flaw> {
    let whole = reader.rest();
    let same = whole
        .iter()
        .zip(MAGIC)
        .take_while(|(one, other)| one == other);
    let same = same.count();
    if same < MAGIC.len().min(whole.len()) {
        let problem = Problem::Foreign(Part::Pieces);
        return Err(Flaw::new(length(same), problem));
    }
    let ended = |_| Flaw::new(length(whole.len()), Problem::Ended(Part::Head));
    let head = reader.take(HEAD_LEN).map_err(ended)?;
    let mut head_reader = Reader::new(head.slice(MAGIC.len()..));
    let read = |reader: &mut Reader| reader.u64().map_err(ended);
    let version = head_reader.u32().map_err(ended)?;
    if version != VERSION {
        let problem = Problem::Version {
            found: version.into(),
            expected: VERSION,
        };
        return Err(Flaw::new(length(MAGIC.len()), problem));
    }
    check_head(&head).map_err(|()| Flaw::new(0, Problem::Checksum(Part::Head)))?;
    let host = HostId(head_reader.u32().map_err(ended)?);
    let job = read(&mut head_reader)?;
    let generation = Generation {
        incarnation: read(&mut head_reader)?,
        superstep: read(&mut head_reader)?,
    };
    let other = |at: usize, what, found: String, expected: String| {
        let problem = Problem::Other {
            what,
            found,
            expected,
        };
        Flaw::new(length(at), problem)
    };
    if host != place.host {
        let [found, expected] = [host, place.host].map(|host| host.0.to_string());
        return Err(other(12, "host", found, expected));
    }
    let found = NonZeroU64::new(job).map(JobId);
    if found != Some(place.job) {
        let [found, expected] = [job, place.job.0.get()].map(|job| format!("{job:016x}"));
        return Err(other(16, "job", found, expected));
    }
    if generation != place.generation {
        let [found, expected] = [generation, place.generation].map(|it| it.to_string());
        return Err(other(24, "checkpoint", found, expected));
    }
    head_reader.u32().map_err(ended)
}

/// The next piece. `previous` is the rank of the one before.
fn decode_piece(place: Place, previous: Option<Rank>, reader: &mut Reader) -> Result<Piece, Flaw> {
    let start = reader.offset();
    let ended = move |_: Ended| Flaw::new(start, Problem::Ended(Part::PieceHead));
    let head = reader.take(PIECE_HEAD_LEN).map_err(ended)?;
    check_head(&head).map_err(|()| Flaw::new(start, Problem::Checksum(Part::PieceHead)))?;
    let mut fields = Reader::new(head);
    let rank = fields.rank().map_err(ended)?;
    if previous.is_some_and(|previous| rank <= previous) {
        return Err(Flaw::new(start, Problem::Order(rank)));
    }
    let condition = fields.condition().map_err(ended)?.ok_or_else(|| {
        let problem = format!("{rank} is neither running nor halted");
        Flaw::new(start + 4, Problem::Invalid(problem))
    })?;
    let work = fields.work().map_err(ended)?;
    let mut left = fields.u64().map_err(ended)?;
    let chunk_ended = |at| Flaw::new(at, Problem::Ended(Part::Chunk(rank)));
    if length(reader.left()) < left {
        return Err(chunk_ended(reader.offset() + length(reader.left())));
    }
    let count = usize::try_from(left.div_ceil(length(CHUNK_LEN))).unwrap_or_default();
    let mut chunks = Vec::with_capacity(count);
    while 0 < left {
        let at = reader.offset();
        let checksum = reader.u32().map_err(|_| chunk_ended(at))?;
        let next = usize::try_from(left).map_or(CHUNK_LEN, |left| left.min(CHUNK_LEN));
        let bytes = reader.take(next).map_err(|_| chunk_ended(at))?;
        let chunk = Chunk::checked(bytes, checksum);
        let chunk = chunk.ok_or_else(|| Flaw::new(at, Problem::Checksum(Part::Chunk(rank))))?;
        left -= length(next);
        chunks.push(chunk);
    }
    let content = Content::of_chunks(chunks).expect("cut as contents are");
    let head = PieceHead {
        job: place.job,
        generation: place.generation,
        rank,
        condition,
        work,
    };
    Ok(Piece { head, content })
}

/// Fills a head that begins at `start` with zeros, and ends it with its checksum.
fn end_head(part: &mut Vec<u8>, start: usize, length: usize) {
    part.resize(start + length - CHECKSUM_LEN, 0);
    let checksum = crc32fast::hash(&part[start..]);
    part.extend_from_slice(&checksum.to_le_bytes());
}

fn check_head(head: &[u8]) -> Result<(), ()> {
    let (fields, checksum) = head.split_at(head.len() - CHECKSUM_LEN);
    let is_right = crc32fast::hash(fields).to_le_bytes() == *checksum;
    is_right.then_some(()).ok_or(())
}

const MAGIC: &[u8; 8] = b"migbspck";
const VERSION: u32 = 1;
const HEAD_LEN: usize = 64;
const PIECE_HEAD_LEN: usize = 128;
const CHECKSUM_LEN: usize = 4;
/// What is written with one call.
const PART_LEN: usize = 1 << 20;
