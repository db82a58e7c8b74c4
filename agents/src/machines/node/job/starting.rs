//! What a node's part in a job begins with, and what it saves.

use std::num::NonZeroU64;

use protocol::transport::JobId;

use super::{Job, Phase};
use crate::checkpoint::Generations;
use crate::machines::checkpoints::Checkpoints;
use crate::machines::failure::JobError;
use crate::machines::processors::Processors;
use crate::machines::starting_process::StartingProcess;
use crate::process::Process;

impl Job {
    /// The agent of a process that starts here.
    pub(super) fn agent(&self, process: &StartingProcess) -> Result<Process, JobError> {
        let (rules, place) = (&self.rules, (process.rank, self.submit.host));
        match &process.saved {
            None => Ok(Process::new(rules, place.0, place.1)),
            Some(saved) => Process::resume(rules, place, &saved.agent).map_err(JobError::input),
        }
    }

    /// The checkpoints of the job on this node, if there are any.
    pub(super) fn checkpoints(&self, processors: Processors) -> Option<Checkpoints> {
        let setup = &self.prepared.setup;
        let checkpointing = setup.checkpointing.as_ref()?;
        let job = NonZeroU64::new(self.submit.job).map(JobId)?;
        Some(Checkpoints::of_job(
            (job, self.submit.host),
            (setup, checkpointing, &self.rules),
            processors.count,
            self.submit.checkpoint.is_some(),
        ))
    }

    /// The pieces of checkpoints here.
    pub(in crate::machines::node) fn with_generations<T>(
        &self,
        with: impl FnOnce(&Generations) -> T,
    ) -> Option<T> {
        match &self.phase {
            Phase::Running(running) => running.world.borrow().generations().map(with),
            Phase::Gathering(_) | Phase::Decoding(_) => None,
        }
    }
}
