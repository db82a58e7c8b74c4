//! What is known of a job, for a run that resumes it.

use std::num::NonZeroU64;

use protocol::transport::JobId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::check::SubmittedJob;
use super::flaw::{Flaw, Part, Problem};
use super::sealed::{Sealed, hexadecimal};

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
    /// The SHA-256 of its binary, in hexadecimal digits.
    pub build: String,
    /// The experiment, as the user wrote it.
    pub experiment: String,
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
        })
    }
}

fn digest(experiment: &[u8]) -> String {
    hexadecimal(&Sha256::digest(experiment))
}
