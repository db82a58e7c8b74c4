//! Which checkpoints a folder has.

use std::cmp::Reverse;
use std::io;

use protocol::transport::JobId;

use super::super::piece::Generation;
use super::files::Files;
use super::layout;

/// The jobs in the folder, and the names that are none.
///
/// # Errors
///
/// If the folder does not exist, or cannot be read.
pub(super) fn jobs(files: &mut impl Files) -> io::Result<(Vec<JobId>, Vec<String>)> {
    let (mut jobs, mut others) = (Vec::new(), Vec::new());
    for entry in files.list("")? {
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
pub(super) fn generations(files: &mut impl Files, job: JobId) -> io::Result<Vec<Generation>> {
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
pub(super) fn all(files: &mut impl Files) -> io::Result<Vec<(Generation, JobId)>> {
    let mut all = Vec::new();
    for job in jobs(files)?.0 {
        let generations = generations(files, job)?.into_iter();
        all.extend(generations.map(|generation| (generation, job)));
    }
    all.sort_by_key(|found| Reverse(*found));
    Ok(all)
}
