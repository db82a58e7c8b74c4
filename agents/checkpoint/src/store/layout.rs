//! The names of files and folders in a checkpoint folder.
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

use std::num::NonZeroU64;

use bsp::HostId;
use protocol::transport::JobId;

use super::super::piece::Generation;

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
