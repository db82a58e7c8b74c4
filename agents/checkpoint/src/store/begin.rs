//! The start of a job in a checkpoint folder.

use std::io;
use std::path::PathBuf;

use bsp::HostId;
use protocol::transport::JobId;

use super::super::piece::Generation;
use super::description::{DescriptionFile, JobDescription};
use super::files::Files;
use super::flaw::Damage;
use super::write::{WriteError, write_file};
use super::{layout, reading, sealed, survey};

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

/// Begins `job` in the folder, or checks that it has begun.
pub(super) fn begin(
    files: &mut impl Files,
    writer: HostId,
    job: &JobDescription,
) -> Result<(), BeginError> {
    let description = DescriptionFile::of(job);
    let sealed = sealed::seal(&description).ok_or(BeginError::Description)?;
    let has_begun = check_folder(files, &description)?;
    let folder = files.locate("");
    let refused = |source| BeginError::Unwritable { folder, source };
    if has_begun {
        return Ok(());
    }
    let written = (|| {
        let job_folder = layout::job_folder(job.job);
        for folder in ["", &job_folder] {
            files.create_dir(folder)?;
        }
        files.sync_dir("")?;
        let write = |files: &mut _, path: &str, bytes: &[u8]| {
            let written = write_file(files, writer, path, |emit| emit(bytes));
            written.map_err(|WriteError { source, .. }| source)
        };
        // The description comes last: where it is, the experiment is.
        let experiment = layout::experiment(job.job);
        write(files, &experiment, job.experiment.as_bytes())?;
        write(files, &layout::description(job.job), &sealed)
    })();
    written.map_err(refused)
}

/// Whether the job has begun in the folder, which may have its checkpoints.
pub(super) fn check_folder(
    files: &mut impl Files,
    description: &DescriptionFile,
) -> Result<bool, BeginError> {
    let folder = files.locate("");
    let (jobs, others) = match survey::jobs(files) {
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
        for entry in entries {
            match layout::generation(&entry.name).filter(|_| entry.is_dir) {
                Some(generation) => generations.push(generation),
                None if !entry.is_dir && layout::is_in_job(&entry.name) => {}
                None => {
                    let entry = format!("{}/{}", layout::job_folder(other), entry.name);
                    return Err(BeginError::Foreign { folder, entry });
                }
            }
        }
        match reading::description_file(files, other) {
            Ok(found) if found.experiment_sha256() != description.experiment_sha256() => {
                return Err(BeginError::OtherExperiment { folder, job: other });
            }
            Ok(found) if other == description.job() => {
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
