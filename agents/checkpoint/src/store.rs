//! Checkpoints on disk.
//!
//! A checkpoint is complete once its manifest is there, which is written after all files that it lists. Every file is
//! written under another name, synchronised, renamed, and its folder synchronised: after a loss of power, a checkpoint
//! is complete as it was written, or it is none. `store/layout.rs` has the names, `store/pieces_file.rs` and
//! `store/sealed.rs` the formats.
//!
//! Several hosts may write to the same folder, each its own pieces; one of them completes the checkpoint.

mod begin;
mod check;
mod description;
mod disk_files;
mod files;
mod flaw;
mod latest;
mod layout;
mod manifest;
mod pieces_file;
mod reading;
mod sealed;
mod simulated_files;
mod survey;
mod write;

use std::collections::BTreeMap;
use std::io;

use bsp::{HostId, Rank};
use protocol::transport::JobId;
use sha2::{Digest, Sha256};

pub use begin::BeginError;
pub use check::{CheckError, SubmittedJob};
pub use description::JobDescription;
pub use disk_files::DiskFiles;
pub use files::{Entry, Files};
pub use flaw::{Damage, Part, Problem};
pub use latest::{Checkpoint, Latest, NoCheckpoint};
pub use manifest::WrittenPieces;
pub use simulated_files::{DiskFault, SimulatedFiles};
pub use write::WriteError;

use super::piece::{Generation, Piece};
use begin::begin;
use latest::{check_ranks, latest};
use manifest::Manifest;
use pieces_file::Place;
use write::write_file;

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
        begin(&mut self.files, self.writer, job)
    }

    /// Checks that a job has begun in the folder as it is submitted, that nothing of it has been written there, and that
    /// this host may write there.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&mut self, submitted: &SubmittedJob<'_>) -> Result<(), CheckError> {
        check::check(&mut self.files, self.writer, submitted)
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
            pieces_file::encode(place, &pieces, |part| {
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
        let sealed = sealed::seal(&manifest).expect("a manifest has numbers and digests alone");
        let path = layout::manifest(job, generation);
        write_file(&mut self.files, self.writer, &path, |emit| emit(&sealed))?;
        Ok(())
    }

    /// Removes all checkpoints that are older than `oldest`, complete or not. The newest complete one stays in any case.
    ///
    /// # Errors
    ///
    /// If the disk refuses; then some may be left.
    pub fn prune(&mut self, oldest: Generation) -> Result<(), WriteError> {
        let pruned = self.prune_files(oldest);
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
        latest(&mut self.files)
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

    fn prune_files(&mut self, oldest: Generation) -> io::Result<()> {
        let all = survey::all(&mut self.files)?;
        let mut newest = None;
        for (generation, job) in &all {
            match reading::manifest(&mut self.files, *job, *generation) {
                Ok(Some(_)) => {
                    newest = Some((*generation, *job));
                    break;
                }
                // It may be the newest one.
                Err(damage) if matches!(damage.problem, Problem::Unreadable(_)) => {
                    return Err(io::Error::other(damage));
                }
                Ok(None) | Err(_) => {}
            }
        }
        for (generation, job) in all {
            if generation < oldest && Some((generation, job)) != newest {
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
        for entry in self.files.list(&folder)? {
            self.files.remove(&format!("{folder}/{}", entry.name))?;
        }
        self.files.remove_dir(&folder)
    }
}

#[cfg(test)]
mod tests;
