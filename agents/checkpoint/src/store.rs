//! Checkpoints on disk.
//!
//! A checkpoint is complete once its manifest is there, which is written after all files that it lists. Every file is
//! written under another name, synchronised, renamed, and its folder synchronised: after a loss of power, a checkpoint
//! is complete as it was written, or it is none. `store/layout.rs` has the names and
//! formats.
//!
//! Several hosts may write to the same folder, each its own pieces; one of them completes the checkpoint.

mod files;
mod layout;
mod simulated_files;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, Read as _};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::vec;

use agents::Resumed;
use agents::mutant::{self, Mutant};
use bsp::units::Instructions;
use bsp::{HostId, Rank};
use bytes::Bytes;
use layout::{DescriptionFile, Flaw, ListedFile, Manifest, Place};
use protocol::transport::JobId;
use sha2::{Digest, Sha256};

use crate::piece::{Condition, Content, Generation, Piece, PieceHead};

pub use files::{DiskFiles, Entry, Files};
pub use layout::{Damage, JobDescription, Part, Problem, WrittenPieces};
pub use simulated_files::{DiskFault, SimulatedFiles};

/// The checkpoint store: a folder with checkpoints of one experiment.
#[derive(Debug)]
pub struct Store<F> {
    files: F,
    writer: HostId,
}

/// Why a checkpoint was not completed.
#[derive(Debug, thiserror::Error)]
pub enum CompleteError {
    /// A file is not from all processes of the job once.
    #[error("checkpoint {generation} is not complete: {problem}")]
    Incomplete {
        /// The checkpoint.
        generation: Generation,
        /// What is wrong.
        problem: Problem,
    },
    /// The disk refuses.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl<F: Files> Store<F> {
    /// The store in the folder of `files`. `writer` is the host that writes to it, if any: it distinguishes names of
    /// incomplete files of hosts that share the folder.
    #[must_use]
    pub const fn new(files: F, writer: HostId) -> Self {
        Self { files, writer }
    }

    /// Begins a job. That it has begun here, or that other hosts begin it in the same folder, is no error.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written to, or has something else than older checkpoints of the same experiment.
    pub fn begin(&mut self, job: &JobDescription) -> Result<(), BeginError> {
        let description = DescriptionFile::of(job);
        let sealed = layout::seal(&description).ok_or(BeginError::Description)?;
        let has_begun = check_folder(&mut self.files, &description)?;
        let folder = self.files.locate("");
        let refused = |source| BeginError::Unwritable { folder, source };
        if has_begun {
            return Ok(());
        }
        let written = (|| {
            let job_folder = layout::job_folder(job.job);
            for folder in ["", &job_folder] {
                self.files.create_dir(folder)?;
            }
            self.files.sync_dir("")?;
            let mut write = |path: &str, bytes: &[u8]| {
                let written = write_file(&mut self.files, self.writer, path, |emit| emit(bytes));
                written.map_err(|WriteError { source, .. }| source)
            };
            // The description comes last: where it is, the experiment is.
            let experiment = layout::experiment(job.job);
            write(&experiment, job.experiment.as_bytes())?;
            write(&layout::description(job.job), &sealed)
        })();
        written.map_err(refused)
    }

    /// Checks that a job has begun in the folder as it is submitted, that nothing of it has been written there, and that
    /// this host may write there.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&mut self, submitted: &SubmittedJob<'_>) -> Result<(), CheckError> {
        let job = submitted.job;
        let description = description_file(&mut self.files, job).map_err(CheckError::NotShared)?;
        let foreign = |problem: String| CheckError::Foreign(problem);
        description.check(submitted).map_err(|problem: Problem| {
            foreign(format!(
                "its description of the job is of another one: {problem}"
            ))
        })?;
        check_folder(&mut self.files, &description).map_err(|error| foreign(error.to_string()))?;
        let generations = generations(&mut self.files, job);
        let generations = generations.map_err(|error| foreign(error.to_string()))?;
        // The job has not begun: no node has written any.
        if let Some(newest) = generations.into_iter().max() {
            let problem = format!("it has checkpoint {newest} of the job, which has not begun");
            return Err(foreign(problem));
        }
        let path = layout::job_folder(job);
        let probe = layout::incomplete(&format!("{path}/check"), self.writer);
        let written = self.files.create(&probe);
        let written = written.and_then(|()| self.files.remove(&probe));
        written.map_err(|error| foreign(error.to_string()))
    }

    /// Writes the pieces of the processes on this host, in the order of their ranks.
    ///
    /// # Errors
    ///
    /// If the disk refuses, or the checkpoint is complete already.
    ///
    /// # Panics
    ///
    /// If the pieces are of another job or checkpoint, or not in order.
    pub fn write_pieces<'a>(
        &mut self,
        job: JobId,
        generation: Generation,
        pieces: impl IntoIterator<Item = &'a Piece>,
    ) -> Result<WrittenPieces, WriteError> {
        let pieces: Vec<&Piece> = pieces.into_iter().collect();
        let ranks: Vec<Rank> = pieces.iter().map(|piece| piece.head.rank).collect();
        assert!(ranks.is_sorted_by(|one, next| one < next), "{ranks:?}");
        for head in pieces.iter().map(|piece| piece.head) {
            assert_eq!((head.job, head.generation), (job, generation));
        }
        let place = Place {
            job,
            generation,
            host: self.writer,
        };
        let folder = layout::generation_folder(job, generation);
        self.prepare(job, generation).map_err(|source| {
            let file = self.files.locate(&folder);
            WriteError { file, source }
        })?;
        let path = layout::pieces(job, generation, self.writer);
        let (mut length, mut digest) = (0, Sha256::new());
        write_file(&mut self.files, self.writer, &path, |emit| {
            layout::encode_pieces(place, &pieces, |part| {
                digest.update(part);
                length += u64::try_from(part.len()).expect("lengths fit 64 bits");
                emit(part)
            })
        })?;
        Ok(WrittenPieces {
            length,
            sha256: digest.finalize().into(),
            ranks,
        })
    }

    /// Completes a checkpoint all of whose files are on the disk.
    ///
    /// # Errors
    ///
    /// If a process has no piece or several, or the disk refuses.
    #[expect(
        clippy::missing_panics_doc,
        reason = "a manifest has numbers and digests alone"
    )]
    pub fn complete(
        &mut self,
        job: JobId,
        generation: Generation,
        processes: u32,
        files: &BTreeMap<HostId, WrittenPieces>,
    ) -> Result<(), CompleteError> {
        let mut ranks: Vec<Rank> = files.values().flat_map(|file| file.ranks.clone()).collect();
        check_ranks(&mut ranks, processes).map_err(|problem| CompleteError::Incomplete {
            generation,
            problem,
        })?;
        let manifest = Manifest::new(job, generation, processes, files);
        let sealed = layout::seal(&manifest).expect("a manifest has numbers and digests alone");
        let path = layout::manifest(job, generation);
        write_file(&mut self.files, self.writer, &path, |emit| emit(&sealed))?;
        Ok(())
    }

    /// Removes all checkpoints that are older than `oldest`, complete or not, but for the newest complete ones: `kept` of them stay.
    ///
    /// # Errors
    ///
    /// If the disk refuses; then some may be left.
    pub fn prune(&mut self, oldest: Generation, kept: NonZeroU32) -> Result<(), WriteError> {
        let pruned = self.prune_files(oldest, kept);
        pruned.map_err(|source| WriteError {
            file: self.files.locate(""),
            source,
        })
    }

    /// The newest complete checkpoint. All of its files are read once.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn latest(&mut self) -> Result<Latest, NoCheckpoint> {
        let mut damaged = Vec::new();
        let unreadable = match all(&mut self.files) {
            Ok(all) => {
                let incarnations = all.iter().map(|(generation, _)| generation.incarnation);
                let incarnation = incarnations.max().unwrap_or_default();
                for (generation, job) in all {
                    match checkpoint(&mut self.files, job, generation) {
                        Ok(Some(checkpoint)) => {
                            return Ok(Latest {
                                checkpoint,
                                damaged,
                                incarnation,
                            });
                        }
                        Ok(None) => {}
                        Err(damage) => damaged.push(damage),
                    }
                }
                None
            }
            Err(error) => Some(error.to_string()),
        };
        Err(NoCheckpoint {
            folder: self.files.locate(""),
            damaged,
            unreadable,
        })
    }

    /// The pieces that `host` wrote, by rank.
    ///
    /// # Errors
    ///
    /// If the file has changed since the checkpoint was found.
    ///
    /// # Panics
    ///
    /// If `host` is none of the checkpoint's.
    pub fn pieces(&mut self, checkpoint: &Checkpoint, host: HostId) -> Result<Vec<Piece>, Damage> {
        checkpoint.pieces(&mut self.files, host)
    }

    /// The files of the store.
    pub const fn files(&mut self) -> &mut F {
        &mut self.files
    }

    /// Makes the folder of a checkpoint that is not complete.
    fn prepare(&mut self, job: JobId, generation: Generation) -> io::Result<()> {
        match self.files.len(&layout::manifest(job, generation)) {
            Ok(_) => return Err(io::Error::other("the checkpoint is complete already")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let folder = layout::generation_folder(job, generation);
        self.files.create_dir(&folder)?;
        self.files.sync_dir(&layout::job_folder(job))
    }

    fn prune_files(&mut self, oldest: Generation, kept: NonZeroU32) -> io::Result<()> {
        let all = all(&mut self.files)?;
        let mut newest = Vec::new();
        let kept = usize::try_from(kept.get()).unwrap_or(usize::MAX);
        for (generation, job) in &all {
            match manifest(&mut self.files, *job, *generation) {
                Ok(Some(_)) => newest.push((*generation, *job)),
                // It may be one of the newest.
                Err(damage) if matches!(damage.problem, Problem::Unreadable(_)) => {
                    return Err(io::Error::other(damage));
                }
                Ok(None) | Err(_) => {}
            }
            if newest.len() == kept {
                break;
            }
        }
        for (generation, job) in all {
            if generation < oldest && !newest.contains(&(generation, job)) {
                self.remove(job, generation)?;
            }
        }
        Ok(())
    }

    /// Removes a checkpoint: the manifest first, so that no checkpoint seems complete whose files are gone.
    fn remove(&mut self, job: JobId, generation: Generation) -> io::Result<()> {
        let folder = layout::generation_folder(job, generation);
        let manifest = layout::manifest(job, generation);
        match self.files.remove(&manifest) {
            Ok(()) => self.files.sync_dir(&folder)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let entries = self.files.list(&folder)?;
        let (others, ours): (Vec<_>, Vec<_>) =
            entries.iter().partition(|it| is_of_system(&it.name));
        for entry in ours {
            self.files.remove(&format!("{folder}/{}", entry.name))?;
        }
        if others.is_empty() {
            self.files.remove_dir(&folder)?;
        }
        Ok(())
    }
}

/// Why a job cannot have its checkpoints in a folder. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// The system refuses.
    #[error("cannot write checkpoints to {}: {source}; name a folder that this user may write to", .folder.display())]
    Unwritable {
        /// The folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The folder has something else.
    #[error("{} has `{entry}`, which is no checkpoint; name an empty folder", .folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// A name in it.
        entry: String,
    },
    /// The folder has checkpoints of another experiment.
    #[error("{} has checkpoints of {job}, another experiment; name another folder", .folder.display())]
    OtherExperiment {
        /// The folder.
        folder: PathBuf,
        /// Their job.
        job: JobId,
    },
    /// The folder has checkpoints that the job would not replace.
    #[error("{} has checkpoint {generation} of {job}; resume it, or name another folder", .folder.display())]
    NotResumed {
        /// The folder.
        folder: PathBuf,
        /// Their job.
        job: JobId,
        /// The newest one.
        generation: Generation,
    },
    /// The job began in this folder with another description.
    #[error("{} has another description of {job}; name another folder", .folder.display())]
    OtherDescription {
        /// The folder.
        folder: PathBuf,
        /// The job.
        job: JobId,
    },
    /// A text of the description is too long.
    #[error(
        "the names of workload, program and version have at most 1024 bytes and no quotation marks or backslashes"
    )]
    Description,
    /// The description of a job in the folder is not as it was written.
    #[error("{0}; name another folder")]
    Damaged(#[from] Damage),
}

/// Whether the job has begun in the folder, which may have its checkpoints.
fn check_folder(files: &mut impl Files, description: &DescriptionFile) -> Result<bool, BeginError> {
    let folder = files.locate("");
    let (jobs, others) = match jobs(files) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(BeginError::Unwritable { folder, source }),
    };
    if let Some(entry) = others.into_iter().next() {
        return Err(BeginError::Foreign { folder, entry });
    }
    let mut has_begun = false;
    for other in jobs {
        let entries = files.list(&layout::job_folder(other));
        let entries = entries.map_err(|source| BeginError::Unwritable {
            folder: folder.clone(),
            source,
        })?;
        let mut generations = Vec::new();
        for entry in entries
            .into_iter()
            .filter(|entry| !is_of_system(&entry.name))
        {
            match layout::generation(&entry.name).filter(|_| entry.is_dir) {
                Some(generation) => generations.push(generation),
                None if !entry.is_dir && layout::is_in_job(&entry.name) => {}
                None => {
                    let entry = format!("{}/{}", layout::job_folder(other), entry.name);
                    return Err(BeginError::Foreign { folder, entry });
                }
            }
        }
        let is_ours = other == description.job();
        if !is_ours && !has_complete(files, other, &generations)? {
            // Nothing can go on with it.
            continue;
        }
        match description_file(files, other) {
            Ok(found) if found.experiment_sha256() != description.experiment_sha256() => {
                return Err(BeginError::OtherExperiment { folder, job: other });
            }
            Ok(found) if is_ours => {
                if found != *description {
                    return Err(BeginError::OtherDescription { folder, job: other });
                }
                has_begun = true;
                continue;
            }
            Ok(_) => {}
            // A job that ended while it began has no checkpoints.
            Err(_) if generations.is_empty() => {}
            Err(damage) => return Err(damage.into()),
        }
        let newest = generations.into_iter().max();
        if let Some(generation) = newest.filter(|it| description.incarnation() <= it.incarnation) {
            return Err(BeginError::NotResumed {
                folder,
                job: other,
                generation,
            });
        }
    }
    Ok(has_begun)
}

/// Whether one of these checkpoints of `job` was completed, damaged or not.
///
/// # Errors
///
/// If the system does not say.
fn has_complete(
    files: &mut impl Files,
    job: JobId,
    generations: &[Generation],
) -> Result<bool, BeginError> {
    for generation in generations {
        match files.len(&layout::manifest(job, *generation)) {
            Ok(_) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                let folder = files.locate("");
                return Err(BeginError::Unwritable { folder, source });
            }
        }
    }
    Ok(false)
}

/// What a client says of a job when it submits it.
#[derive(Clone, Copy, Debug)]
pub struct SubmittedJob<'a> {
    /// The job.
    pub job: JobId,
    /// Its first incarnation.
    pub incarnation: u64,
    /// The number of processes.
    pub processes: u32,
    /// The experiment.
    pub experiment: &'a str,
}

/// Why a node writes no checkpoints of a job to a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The folder does not describe the job.
    #[error("{0}; all nodes and the client have to share that folder")]
    NotShared(Damage),
    /// The folder is of something else.
    #[error("{0}")]
    Foreign(String),
}

/// Whether a file system makes entries with this name by itself: `lost+found`; `.nfs...`, a file that was removed while it was open;
/// `.snapshot`, and others that are hidden.
fn is_of_system(name: &str) -> bool {
    name.starts_with('.') || name == "lost+found"
}

/// The jobs in the folder, and the names that are none.
///
/// # Errors
///
/// If the folder does not exist, or cannot be read.
fn jobs(files: &mut impl Files) -> io::Result<(Vec<JobId>, Vec<String>)> {
    let (mut jobs, mut others) = (Vec::new(), Vec::new());
    let entries = files.list("")?.into_iter();
    for entry in entries.filter(|entry| !is_of_system(&entry.name)) {
        match layout::job(&entry.name).filter(|_| entry.is_dir) {
            Some(job) => jobs.push(job),
            None => others.push(entry.name),
        }
    }
    Ok((jobs, others))
}

/// The checkpoints of `job`, complete or not.
///
/// # Errors
///
/// If its folder does not exist, or cannot be read.
fn generations(files: &mut impl Files, job: JobId) -> io::Result<Vec<Generation>> {
    let entries = files.list(&layout::job_folder(job))?.into_iter();
    let folders = entries.filter(|entry| entry.is_dir);
    Ok(folders
        .filter_map(|entry| layout::generation(&entry.name))
        .collect())
}

/// All checkpoints of the folder, complete or not, from the newest to the oldest.
///
/// # Errors
///
/// As [`jobs`] and [`generations`].
fn all(files: &mut impl Files) -> io::Result<Vec<(Generation, JobId)>> {
    let mut all = Vec::new();
    for job in jobs(files)?.0 {
        let generations = generations(files, job)?.into_iter();
        all.extend(generations.map(|generation| (generation, job)));
    }
    all.sort_by_key(|found| Reverse(*found));
    Ok(all)
}

/// Why a checkpoint was not written. Those before it are not changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .file.display())]
pub struct WriteError {
    /// The file or folder.
    pub file: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// What takes the parts of a file.
type Emit<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// Writes a file whose parts `encode` gives: under another name first, which it loses when all bytes are on the disk.
fn write_file(
    files: &mut impl Files,
    writer: HostId,
    path: &str,
    encode: impl FnOnce(&mut Emit<'_>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let incomplete = layout::incomplete(path, writer);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let written = (|| {
        files.create(&incomplete)?;
        encode(&mut |part| files.write(&incomplete, part))?;
        if !mutant::is(Mutant::WriteUnsynced) {
            files.sync(&incomplete)?;
        }
        files.rename(&incomplete, path)?;
        files.sync_dir(folder)
    })();
    written.map_err(|source| {
        // The disk may be full. Where this fails too, the file has the name of an incomplete one.
        drop(files.remove(&incomplete));
        let file = files.locate(path);
        WriteError { file, source }
    })
}

/// The description of `job`, without its experiment.
fn description_file(files: &mut impl Files, job: JobId) -> Result<DescriptionFile, Damage> {
    let path = layout::description(job);
    let bytes = read(files, &path, Length::AtMost(DESCRIPTION_MAX))?;
    let description: Result<DescriptionFile, Flaw> = layout::open(&bytes);
    let description = description.and_then(|description| {
        check_job(description.job(), job)?;
        Ok(description)
    });
    description.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The description of `job`.
fn description(files: &mut impl Files, job: JobId) -> Result<JobDescription, Damage> {
    let description = description_file(files, job)?;
    let path = layout::experiment(job);
    let experiment = read(files, &path, Length::Exactly(description.experiment_len()))?;
    let description = description.with(experiment);
    description.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The manifest of a checkpoint; `None`: the checkpoint was not completed.
fn manifest(
    files: &mut impl Files,
    job: JobId,
    generation: Generation,
) -> Result<Option<Manifest>, Damage> {
    let path = layout::manifest(job, generation);
    let bytes = match read(files, &path, Length::AtMost(MANIFEST_MAX)) {
        Err(damage) if damage.problem == Problem::Missing => return Ok(None),
        result => result?,
    };
    let manifest: Result<Manifest, Flaw> = layout::open(&bytes);
    let manifest = manifest.and_then(|manifest| {
        check_job(manifest.job(), job)?;
        let [found, expected] = [manifest.generation(), generation].map(|it| it.to_string());
        check("checkpoint", found, expected)?;
        Ok(Some(manifest))
    });
    manifest.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The pieces of one host, from a file that the manifest describes as `listed`.
fn pieces(files: &mut impl Files, place: Place, listed: &ListedFile) -> Result<Vec<Piece>, Damage> {
    let path = layout::pieces(place.job, place.generation, place.host);
    let bytes = Bytes::from(read(files, &path, Length::Exactly(listed.length))?);
    let found = layout::decode_pieces(place, bytes.clone()).and_then(|pieces| {
        // Last, because what is wrong with a piece says more.
        if Sha256::digest(&bytes)[..] == listed.sha256()[..] {
            Ok(pieces)
        } else {
            Err(Flaw::new(0, Problem::Checksum(Part::File)))
        }
    });
    found.map_err(|flaw| flaw.of(files.locate(&path)))
}

fn check_job(found: JobId, expected: JobId) -> Result<(), Flaw> {
    let [found, expected] = [found, expected].map(layout::job_folder);
    check("job", found, expected)
}

fn check(what: &'static str, found: String, expected: String) -> Result<(), Flaw> {
    if found == expected {
        return Ok(());
    }
    let problem = Problem::Other {
        what,
        found,
        expected,
    };
    Err(Flaw::new(0, problem))
}

/// How long a file may be.
#[derive(Clone, Copy)]
enum Length {
    Exactly(u64),
    AtMost(u64),
}

/// A file of an expected length.
fn read(files: &mut impl Files, path: &str, expected: Length) -> Result<Vec<u8>, Damage> {
    let bytes = files.len(path).map_err(unread).and_then(|found| {
        match expected {
            Length::Exactly(expected) if found != expected => {
                let problem = Problem::Length { found, expected };
                return Err(Flaw::new(found.min(expected), problem));
            }
            Length::AtMost(limit) if limit < found => {
                let problem = format!("it has {found} bytes, expected at most {limit}");
                return Err(Flaw::new(0, Problem::Invalid(problem)));
            }
            Length::Exactly(_) | Length::AtMost(_) => {}
        }
        files.read(path).map_err(unread)
    });
    bytes.map_err(|flaw| flaw.of(files.locate(path)))
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unread(error: io::Error) -> Flaw {
    let problem = match error.kind() {
        io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(error.to_string()),
    };
    Flaw::new(0, problem)
}

/// Bytes of a description: its texts have at most 1 KiB each.
const DESCRIPTION_MAX: u64 = 64 << 10;
/// Bytes of a manifest: those of a million processes take 8 MiB.
const MANIFEST_MAX: u64 = 64 << 20;

/// A complete checkpoint on disk, all of whose files were read and found as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// What it is a checkpoint of.
    pub job: JobDescription,
    /// Which one.
    pub generation: Generation,
    files: BTreeMap<u32, ListedFile>,
    /// The heads of the pieces in each file, by host and rank.
    heads: BTreeMap<u32, Vec<KnownPiece>>,
}

/// What differs between the heads of the pieces of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownPiece {
    rank: Rank,
    condition: Condition,
    work: Instructions,
}

/// The newest complete checkpoint of a folder, and newer ones that are damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What is wrong with newer checkpoints, from the newest on. Those that were not completed are not among them.
    pub damaged: Vec<Damage>,
    /// The newest incarnation that has begun a checkpoint in the folder.
    pub incarnation: u64,
}

/// There is no complete checkpoint.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct NoCheckpoint {
    /// The folder.
    pub folder: PathBuf,
    /// What is wrong with its checkpoints, from the newest on.
    pub damaged: Vec<Damage>,
    /// Why the folder cannot be read, if so.
    pub unreadable: Option<String>,
}

impl fmt::Display for NoCheckpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.folder.display();
        match (&self.unreadable, self.damaged.first()) {
            (Some(error), _) => write!(formatter, "cannot read {folder}: {error}"),
            (None, Some(damage)) => {
                write!(formatter, "{folder} has no intact checkpoint: {damage}")
            }
            (None, None) => write!(formatter, "{folder} has no complete checkpoint"),
        }
    }
}

impl Latest {
    /// The state in which a job begins that resumes the checkpoint, if a job can. Its incarnation is newer than all in the
    /// folder.
    ///
    /// # Errors
    ///
    /// Why no job can begin in the state of the checkpoint.
    pub fn resumed(&self) -> Result<Resumed, String> {
        let heads = self.checkpoint.heads();
        let halted = |head: &PieceHead| match head.condition {
            Condition::Running => None,
            Condition::Halted { superstep } => Some(superstep),
        };
        let resumed = Resumed {
            incarnation: self.incarnation.saturating_add(1),
            superstep: self.checkpoint.generation.superstep,
            halted: heads.iter().map(halted).collect(),
        };
        resumed.check(heads.len())?;
        Ok(resumed)
    }
}

impl Checkpoint {
    /// The hosts that wrote its files.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.files.keys().copied().map(HostId)
    }

    /// What is known of each process without its content, by rank.
    #[must_use]
    pub fn heads(&self) -> Vec<PieceHead> {
        let known = self.heads.values().flatten();
        let heads = known.map(|known| PieceHead {
            job: self.job.job,
            generation: self.generation,
            rank: known.rank,
            condition: known.condition,
            work: known.work,
        });
        let mut heads: Vec<PieceHead> = heads.collect();
        heads.sort_by_key(|head| head.rank);
        heads
    }

    /// All processes in the order of the files.
    pub(crate) fn ranks_by_file(&self) -> impl Iterator<Item = Rank> {
        self.heads.values().flatten().map(|head| head.rank)
    }

    /// Reads the pieces of one of its hosts.
    ///
    /// # Errors
    ///
    /// If the file has changed since the checkpoint was found.
    ///
    /// # Panics
    ///
    /// If `host` is none of its hosts.
    fn pieces(&self, files: &mut impl Files, host: HostId) -> Result<Vec<Piece>, Damage> {
        let listed = self.files.get(&host.0).expect("a host of the checkpoint");
        let place = Place {
            job: self.job.job,
            generation: self.generation,
            host,
        };
        pieces(files, place, listed)
    }
}

/// A checkpoint; `None`: it was not completed.
fn checkpoint(
    files: &mut impl Files,
    job: JobId,
    generation: Generation,
) -> Result<Option<Checkpoint>, Damage> {
    let Some(manifest) = manifest(files, job, generation)? else {
        return Ok(None);
    };
    let file = files.locate(&layout::manifest(job, generation));
    let wrong = |problem| Damage {
        file,
        offset: 0,
        problem,
    };
    let description = description(files, job)?;
    let (found, expected) = (manifest.processes(), description.processes);
    if found != expected {
        let problem = Problem::Other {
            what: "number of processes",
            found: found.to_string(),
            expected: expected.to_string(),
        };
        return Err(wrong(problem));
    }
    let mut checkpoint = Checkpoint {
        job: description,
        generation,
        files: manifest.into_files(),
        heads: BTreeMap::new(),
    };
    let hosts: Vec<HostId> = checkpoint.hosts().collect();
    for host in hosts {
        let mut pieces = checkpoint.pieces(files, host)?;
        // The file is in memory as long as the content of a piece is.
        for piece in &mut pieces {
            piece.content = Content::default();
        }
        let heads = pieces.iter().map(|piece| KnownPiece {
            rank: piece.head.rank,
            condition: piece.head.condition,
            work: piece.head.work,
        });
        let heads = heads.collect();
        checkpoint.heads.insert(host.0, heads);
    }
    let mut ranks: Vec<Rank> = checkpoint.ranks_by_file().collect();
    match check_ranks(&mut ranks, expected) {
        Ok(()) => Ok(Some(checkpoint)),
        Err(problem) => Err(wrong(problem)),
    }
}

/// Checks that `ranks` are those of all processes, each once.
fn check_ranks(ranks: &mut [Rank], processes: u32) -> Result<(), Problem> {
    ranks.sort_unstable();
    for (expected, rank) in (0..).map(Rank).zip(ranks.iter()) {
        if expected < *rank {
            return Err(Problem::NoPiece(expected));
        } else if *rank < expected || processes <= rank.0 {
            return Err(Problem::Order(*rank));
        }
    }
    match u32::try_from(ranks.len()) {
        Ok(count) if count < processes => Err(Problem::NoPiece(Rank(count))),
        _ => Ok(()),
    }
}

/// The contents of all pieces of a checkpoint, in the order of its files. One file is in memory at a time.
pub struct SavedStates {
    /// The processes in this order.
    pub order: Vec<Rank>,
    /// The content of each piece. It ends with the first error.
    pub contents: Box<dyn Iterator<Item = Result<Vec<u8>, Damage>> + Send>,
}

impl SavedStates {
    /// The contents of `checkpoint`, which is in `store`.
    #[must_use]
    pub fn new<F: Files + Send + 'static>(store: Store<F>, checkpoint: Checkpoint) -> Self {
        Self {
            order: checkpoint.ranks_by_file().collect(),
            contents: Box::new(Contents {
                hosts: checkpoint.hosts().collect(),
                store,
                checkpoint,
                pieces: Vec::new().into_iter(),
            }),
        }
    }
}

impl fmt::Debug for SavedStates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("SavedStates");
        debug.field("order", &self.order).finish_non_exhaustive()
    }
}

struct Contents<F> {
    store: Store<F>,
    checkpoint: Checkpoint,
    /// The hosts whose files have not been read.
    hosts: VecDeque<HostId>,
    /// The pieces of the file that was read last.
    pieces: vec::IntoIter<Piece>,
}

impl<F: Files> Iterator for Contents<F> {
    type Item = Result<Vec<u8>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(piece) = self.pieces.next() {
                let mut content = Vec::new();
                let read = piece.content.reader().read_to_end(&mut content);
                read.expect("memory can be read");
                return Some(Ok(content));
            }
            let host = self.hosts.pop_front()?;
            match self.store.pieces(&self.checkpoint, host) {
                Ok(pieces) => self.pieces = pieces.into_iter(),
                Err(damage) => {
                    self.hosts.clear();
                    return Some(Err(damage));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
