//! The names and formats of the files in a checkpoint folder.
//!
//! | path | contents |
//! |---|---|
//! | `<job>/job.json` | what the job is |
//! | `<job>/experiment.toml` | the experiment, as the user wrote it |
//! | `<job>/<incarnation>-<superstep>/<host>.pieces` | the pieces of the processes on a host |
//! | `<job>/<incarnation>-<superstep>/manifest.json` | which files belong to the checkpoint; it is written last |
//!
//! The number of a job has 16 hexadecimal digits, other numbers are decimal. Names that end in `.new` are files that were
//! not completed.
//!
//! # A file of pieces
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
//!
//! # JSON files that show whether they were changed
//!
//! ```json
//! {
//! "format": "migbsp.checkpoint/1",
//! "sha256": "<of the bytes of the value>",
//! "manifest": <value>
//! }
//! ```
//!
//! All but the value is the same byte for byte in every file. A value has no backslashes, and no more than
//! [`PLAIN_MAX`] bytes between two quotation marks: so decoding it needs no buffer for a text or number of any length.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::path::PathBuf;

use bsp::numbers::length;
use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::transport::{CHUNK_LEN, JobId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::piece::{Chunk, Content, Ended, Generation, Piece, PieceHead, Reader, write_condition};
use crate::store::SubmittedJob;

pub(super) fn job_folder(job: JobId) -> String {
    format!("{:016x}", job.0)
}

pub(super) fn description(job: JobId) -> String {
    format!("{}/{DESCRIPTION}", job_folder(job))
}

pub(super) fn experiment(job: JobId) -> String {
    format!("{}/{EXPERIMENT}", job_folder(job))
}

pub(super) fn generation_folder(job: JobId, generation: Generation) -> String {
    format!("{}/{generation}", job_folder(job))
}

pub(super) fn manifest(job: JobId, generation: Generation) -> String {
    format!("{}/{MANIFEST}", generation_folder(job, generation))
}

pub(super) fn pieces(job: JobId, generation: Generation, host: HostId) -> String {
    format!("{}/{}{PIECES}", generation_folder(job, generation), host.0)
}

/// The name of a file that is not complete. Hosts that write to the same folder have names of their own.
pub(super) fn incomplete(path: &str, writer: HostId) -> String {
    format!("{path}.{}{INCOMPLETE}", writer.0)
}

/// The job whose folder has this name.
pub(super) fn job(name: &str) -> Option<JobId> {
    let job = u64::from_str_radix(name, 16).ok().and_then(NonZeroU64::new);
    job.map(JobId).filter(|job| job_folder(*job) == name)
}

/// The checkpoint whose folder has this name.
pub(super) fn generation(name: &str) -> Option<Generation> {
    let (incarnation, superstep) = name.split_once('-')?;
    let generation = Generation {
        incarnation: incarnation.parse().ok()?,
        superstep: superstep.parse().ok()?,
    };
    (generation.to_string() == name).then_some(generation)
}

/// Whether a file with this name may be in the folder of a job.
pub(super) fn is_in_job(name: &str) -> bool {
    [DESCRIPTION, EXPERIMENT].contains(&name) || name.ends_with(INCOMPLETE)
}

const DESCRIPTION: &str = "job.json";
const EXPERIMENT: &str = "experiment.toml";
const MANIFEST: &str = "manifest.json";
const PIECES: &str = ".pieces";
const INCOMPLETE: &str = ".new";

/// A file of pieces that was written to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPieces {
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// The processes whose pieces it has, in order.
    pub ranks: Vec<Rank>,
}

/// The file `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    job: NonZeroU64,
    incarnation: u64,
    superstep: u64,
    processes: u32,
    files: BTreeMap<u32, ListedFile>,
}

/// A file of pieces in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedFile {
    pub(super) length: u64,
    sha256: Sha256Digits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Sha256Digits([u8; 32]);

impl Sealed for Manifest {
    const KEY: &'static str = "manifest";
    const PART: Part = Part::Manifest;
}

impl Manifest {
    pub(super) fn new(
        job: JobId,
        generation: Generation,
        processes: u32,
        files: &BTreeMap<HostId, WrittenPieces>,
    ) -> Self {
        let listed = |written: &WrittenPieces| ListedFile {
            length: written.length,
            sha256: Sha256Digits(written.sha256),
        };
        let files = files.iter();
        Self {
            job: job.0,
            incarnation: generation.incarnation,
            superstep: generation.superstep,
            processes,
            files: files.map(|(host, file)| (host.0, listed(file))).collect(),
        }
    }

    pub(super) const fn job(&self) -> JobId {
        JobId(self.job)
    }

    pub(super) const fn generation(&self) -> Generation {
        Generation {
            incarnation: self.incarnation,
            superstep: self.superstep,
        }
    }

    pub(super) const fn processes(&self) -> u32 {
        self.processes
    }

    /// Its files, by the host that wrote them.
    pub(super) fn into_files(self) -> BTreeMap<u32, ListedFile> {
        self.files
    }
}

impl ListedFile {
    pub(super) const fn sha256(&self) -> &[u8; 32] {
        &self.sha256.0
    }
}

impl TryFrom<String> for Sha256Digits {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        let expected = "a SHA-256 has 64 hexadecimal digits";
        let value = |digit: u8| {
            char::from(digit)
                .to_digit(16)
                .and_then(|it| u8::try_from(it).ok())
        };
        let mut digest = [0; 32];
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if pairs.len() != digest.len() || !rest.is_empty() {
            return Err(expected);
        }
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            let (high, low) = (value(*high).ok_or(expected)?, value(*low).ok_or(expected)?);
            *byte = high << 4 | low;
        }
        Ok(Self(digest))
    }
}

impl From<Sha256Digits> for String {
    fn from(digest: Sha256Digits) -> Self {
        digest.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Where a file of pieces belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) job: JobId,
    pub(super) generation: Generation,
    pub(super) host: HostId,
}

/// Gives the file of `pieces` to `emit`, part by part.
pub(super) fn encode_pieces(
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
pub(super) fn decode_pieces(place: Place, file: Bytes) -> Result<Vec<Piece>, Flaw> {
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

/// A kind of file.
pub(super) trait Sealed: Serialize + DeserializeOwned {
    /// The key of the value.
    const KEY: &'static str;
    /// What the file is.
    const PART: Part;
}

/// The file of `value`; `None`: it has a text that may not be in it.
pub(super) fn seal<T: Sealed>(value: &T) -> Option<Vec<u8>> {
    let value = serde_json::to_string_pretty(value).ok()?;
    let digest = digest(value.as_bytes());
    let key = T::KEY;
    let file = format!("{BEFORE}{SEAL_VERSION}{DIGEST}{digest}\",\n\"{key}\": {value}{AFTER}");
    is_plain(value.as_bytes()).then(|| file.into_bytes())
}

/// The value in `file`.
pub(super) fn open<T: Sealed>(file: &[u8]) -> Result<T, Flaw> {
    let mut cursor = Cursor {
        file,
        offset: 0,
        part: T::PART,
    };
    cursor.expect(BEFORE)?;
    let version = cursor.version()?;
    if version != u64::from(SEAL_VERSION) {
        let problem = Problem::Version {
            found: version,
            expected: SEAL_VERSION,
        };
        return Err(Flaw::new(length(BEFORE.len()), problem));
    }
    cursor.expect(DIGEST)?;
    let expected = cursor.take(DIGEST_LEN)?;
    cursor.expect("\",\n\"")?;
    cursor.expect(T::KEY)?;
    cursor.expect("\": ")?;
    let start = cursor.offset;
    let value = &file[start..];
    let Some(value) = value.strip_suffix(AFTER.as_bytes()) else {
        return Err(Flaw::new(length(file.len()), Problem::Ended(T::PART)));
    };
    let at_start = |problem| Flaw::new(length(start), problem);
    if digest(value).as_bytes() != expected {
        return Err(at_start(Problem::Checksum(T::PART)));
    }
    if !is_plain(value) {
        let problem = "a text is too long, or has a backslash".to_owned();
        return Err(at_start(Problem::Invalid(problem)));
    }
    serde_json::from_slice(value).map_err(|error| {
        let lines = value.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let offset = start + before + error.column().saturating_sub(1);
        Flaw::new(length(offset), Problem::Invalid(error.to_string()))
    })
}

/// Whether a value can be decoded in little memory.
fn is_plain(value: &[u8]) -> bool {
    !value.contains(&b'\\')
        && value
            .split(|byte| *byte == b'"')
            .all(|part| part.len() <= PLAIN_MAX)
}

/// A file of which a part has been read.
struct Cursor<'a> {
    file: &'a [u8],
    offset: usize,
    part: Part,
}

impl<'a> Cursor<'a> {
    /// Reads `text`, which is the same in every file.
    fn expect(&mut self, text: &str) -> Result<(), Flaw> {
        let rest = self.file[self.offset..].iter();
        let same = rest
            .zip(text.as_bytes())
            .take_while(|(one, other)| one == other);
        let same = same.count();
        self.offset += same;
        if same == text.len() {
            return Ok(());
        }
        let problem = if self.offset == self.file.len() {
            Problem::Ended(self.part)
        } else {
            Problem::Foreign(self.part)
        };
        Err(Flaw::new(length(self.offset), problem))
    }

    /// Reads a number of few digits.
    fn version(&mut self) -> Result<u64, Flaw> {
        let rest = self.file[self.offset..].iter().take(VERSION_DIGITS);
        let digits = rest.take_while(|byte| byte.is_ascii_digit()).count();
        let text = self.take(digits)?;
        let version = std::str::from_utf8(text).ok();
        let version = version.and_then(|text| text.parse().ok());
        version.ok_or_else(|| {
            let at_end = self.offset == self.file.len();
            let problem = if at_end {
                Problem::Ended
            } else {
                Problem::Foreign
            };
            Flaw::new(length(self.offset), problem(self.part))
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        let taken = self.file[self.offset..]
            .get(..count)
            .ok_or_else(|| Flaw::new(length(self.file.len()), Problem::Ended(self.part)))?;
        self.offset += count;
        Ok(taken)
    }
}

const BEFORE: &str = "{\n\"format\": \"migbsp.checkpoint/";
const DIGEST: &str = "\",\n\"sha256\": \"";
const AFTER: &str = "\n}\n";
const SEAL_VERSION: u32 = 1;
const VERSION_DIGITS: usize = 9;
const DIGEST_LEN: usize = 64;
const PLAIN_MAX: usize = 1024;

/// What is known of a job, for a run that resumes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobDescription {
    /// The job.
    pub job: JobId,
    /// Its first incarnation: 0, or greater than all of the job that it resumes.
    pub incarnation: u64,
    /// The name of the workload.
    pub workload: String,
    /// The number of processes.
    pub processes: u32,
    /// The name of the program that ran it.
    pub program: String,
    /// Its version.
    pub version: String,
    /// What tells its binary from others, in hexadecimal digits.
    pub build: String,
    /// The experiment, as the user wrote it.
    pub experiment: String,
    /// The number of the folder in which its nodes write files for it, if they do: the job that resumes it goes on there.
    pub files: Option<u64>,
}

/// The file `job.json`: the same with a digest in place of the experiment.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescriptionFile {
    job: NonZeroU64,
    incarnation: u64,
    workload: String,
    processes: u32,
    program: String,
    version: String,
    build: String,
    experiment_bytes: u64,
    experiment_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
}

impl Sealed for DescriptionFile {
    const KEY: &'static str = "job";
    const PART: Part = Part::Description;
}

impl DescriptionFile {
    pub(super) fn of(description: &JobDescription) -> Self {
        let description = description.clone();
        let experiment = description.experiment.as_bytes();
        Self {
            job: description.job.0,
            incarnation: description.incarnation,
            workload: description.workload,
            processes: description.processes,
            program: description.program,
            version: description.version,
            build: description.build,
            experiment_bytes: u64::try_from(experiment.len()).expect("lengths fit 64 bits"),
            experiment_sha256: digest(experiment),
            files: description.files,
        }
    }

    pub(super) const fn job(&self) -> JobId {
        JobId(self.job)
    }

    pub(super) fn experiment_sha256(&self) -> &str {
        &self.experiment_sha256
    }

    pub(super) const fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Checks that it describes what a client submits.
    pub(super) fn check(&self, submitted: &SubmittedJob<'_>) -> Result<(), Problem> {
        let SubmittedJob {
            job: _,
            incarnation,
            processes,
            experiment,
        } = *submitted;
        let (found, expected) = (&self.experiment_sha256, digest(experiment.as_bytes()));
        let experiments = [found.clone(), expected];
        let incarnations = [self.incarnation, incarnation].map(|it| it.to_string());
        let numbers = [self.processes, processes].map(|it| it.to_string());
        for (what, [found, expected]) in [
            ("number of processes", numbers),
            ("incarnation", incarnations),
            ("experiment", experiments),
        ] {
            if found != expected {
                return Err(Problem::Other {
                    what,
                    found,
                    expected,
                });
            }
        }
        Ok(())
    }

    pub(super) const fn experiment_len(&self) -> u64 {
        self.experiment_bytes
    }

    /// The description, with the text of the experiment.
    pub(super) fn with(self, experiment: Vec<u8>) -> Result<JobDescription, Flaw> {
        let at_start = |problem| Flaw::new(0, problem);
        if digest(&experiment) != self.experiment_sha256 {
            return Err(at_start(Problem::Checksum(Part::File)));
        }
        let experiment = String::from_utf8(experiment)
            .map_err(|error| at_start(Problem::Invalid(error.utf8_error().to_string())))?;
        Ok(JobDescription {
            job: self.job(),
            incarnation: self.incarnation,
            workload: self.workload,
            processes: self.processes,
            program: self.program,
            version: self.version,
            build: self.build,
            experiment,
            files: self.files,
        })
    }
}

/// The SHA-256 of `bytes`, as hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    Sha256Digits(Sha256::digest(bytes).into()).into()
}

/// What is wrong with a file of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, byte {offset}: {problem}", .file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where, in bytes from its start.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no such file.
    #[error("the file is missing")]
    Missing,
    /// The system refuses to read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It ends early.
    #[error("the file ends inside {0}")]
    Ended(Part),
    /// Something follows its end.
    #[error("bytes follow the end")]
    Longer,
    /// It is none of the store's.
    #[error("this is not {0} of a checkpoint")]
    Foreign(Part),
    /// A version of the format that this build does not know.
    #[error("format version {found}, expected {expected}; a newer build wrote it")]
    Version {
        /// Its version.
        found: u64,
        /// The version of this build.
        expected: u32,
    },
    /// Its bytes are not those that were written.
    #[error("the checksum of {0} does not match")]
    Checksum(Part),
    /// It is not as long as the manifest says.
    #[error("it has {found} bytes, expected {expected}")]
    Length {
        /// Its length.
        found: u64,
        /// The length in the manifest.
        expected: u64,
    },
    /// It belongs to something else.
    #[error("found {what} {found}, expected {expected}")]
    Other {
        /// What it names.
        what: &'static str,
        /// Which one.
        found: String,
        /// Which one belongs here.
        expected: String,
    },
    /// A process is in the checkpoint twice, or out of order.
    #[error("{0} is there twice, or out of order")]
    Order(Rank),
    /// A process is not in the checkpoint.
    #[error("{0} is in no file")]
    NoPiece(Rank),
    /// A value has no meaning.
    #[error("{0}")]
    Invalid(String),
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A description of a job.
    Description,
    /// A manifest.
    Manifest,
    /// A file of pieces.
    Pieces,
    /// The head of a file.
    Head,
    /// The head of a piece.
    PieceHead,
    /// A part of the content of a piece.
    Chunk(Rank),
    /// All of a file.
    File,
}

/// A problem in a file that is not named yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) offset: u64,
    pub(super) problem: Problem,
}

impl Flaw {
    pub(super) const fn new(offset: u64, problem: Problem) -> Self {
        Self { offset, problem }
    }

    /// The same, in `file`.
    pub(super) fn of(self, file: PathBuf) -> Damage {
        Damage {
            file,
            offset: self.offset,
            problem: self.problem,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description => formatter.write_str("the description of a job"),
            Self::Manifest => formatter.write_str("the manifest"),
            Self::Pieces => formatter.write_str("a file of pieces"),
            Self::Head => formatter.write_str("the head"),
            Self::PieceHead => formatter.write_str("the head of a piece"),
            Self::Chunk(rank) => write!(formatter, "a chunk of the piece of {rank}"),
            Self::File => formatter.write_str("the file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        let job = JobId(NonZeroU64::new(0xab).unwrap());
        assert_eq!(job_folder(job), "00000000000000ab");
        assert_eq!(self::job("00000000000000ab"), Some(job));
        for name in [
            "ab",
            "0000000000000000",
            "00000000000000AB",
            "+0000000000000ab",
        ] {
            assert_eq!(self::job(name), None, "{name}");
        }
        let generation = Generation {
            incarnation: 3,
            superstep: 40,
        };
        let path = pieces(job, generation, HostId(2));
        assert_eq!(path, "00000000000000ab/3-40/2.pieces");
        assert_eq!(self::generation("3-40"), Some(generation));
        for name in ["3", "3-", "03-40", "3-+40", "3-40-1", "-3-40"] {
            assert_eq!(self::generation(name), None, "{name}");
        }
    }
}
