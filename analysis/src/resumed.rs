//! Runs that resume a job.

use record::ResumedRun;

/// What a run resumes, as a sentence.
pub(crate) fn sentence(resumed: &ResumedRun) -> String {
    let ResumedRun {
        job,
        incarnation,
        superstep,
    } = resumed;
    format!(
        "The run resumed job {job} with superstep {superstep}, as incarnation {incarnation}: only what follows is counted."
    )
}
