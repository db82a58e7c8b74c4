//! What a node asks of a folder before it writes checkpoints of a job to it.

use bsp::HostId;
use protocol::transport::JobId;

use super::begin::check_folder;
use super::files::Files;
use super::flaw::{Damage, Problem};
use super::{layout, reading, survey};

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

/// Checks that the folder describes the job as it is submitted, that it has no checkpoints that the job cannot have, and
/// that this host may write to it.
pub(super) fn check(
    files: &mut impl Files,
    writer: HostId,
    submitted: &SubmittedJob<'_>,
) -> Result<(), CheckError> {
    let job = submitted.job;
    let description = reading::description_file(files, job).map_err(CheckError::NotShared)?;
    let foreign = |problem: String| CheckError::Foreign(problem);
    description.check(submitted).map_err(|problem: Problem| {
        foreign(format!(
            "its description of the job is of another one: {problem}"
        ))
    })?;
    check_folder(files, &description).map_err(|error| foreign(error.to_string()))?;
    let generations = survey::generations(files, job);
    let generations = generations.map_err(|error| foreign(error.to_string()))?;
    // The job has not begun: no node has written any.
    if let Some(newest) = generations.into_iter().max() {
        let problem = format!("it has checkpoint {newest} of the job, which has not begun");
        return Err(foreign(problem));
    }
    let path = layout::job_folder(job);
    let probe = layout::incomplete(&format!("{path}/check"), writer);
    let written = files.create(&probe).and_then(|()| files.remove(&probe));
    written.map_err(|error| foreign(error.to_string()))
}
