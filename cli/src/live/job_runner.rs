//! Jobs that are executed one after the other.

use experiments::submission::{request, scenario};
use experiments::{
    Failure, Finished, Loaded, PreparedExperiment, Provenance, Registry, RunFailure,
    load_text_for_cluster,
};
use hosts::{JobObserver, TransferProgress};
use indicatif::MultiProgress;
use machines::JobError;
use record::Event;

use crate::failure::CommandFailure;
use crate::live::cluster_members::ClusterMembers;
use crate::progress::Progress;
use crate::signals::TerminationSignal;

/// Executes jobs, one after the other.
pub(super) struct JobRunner<'a> {
    pub(super) cluster: &'a ClusterMembers,
    pub(super) registry: &'a Registry,
    pub(super) termination: &'a TerminationSignal,
    /// Where bars on stderr are, if they are wanted.
    pub(super) bars: Option<&'a MultiProgress>,
}

/// A job that has ended.
pub(super) struct JobResult {
    /// The digest of the outputs, which have been verified.
    pub(super) outputs: String,
    pub(super) provenance: Provenance,
}

/// What sees a job.
struct Observers<F> {
    progress: Progress,
    observer: F,
}

impl<F: FnMut(&Event)> JobObserver for Observers<F> {
    fn observe(&mut self, event: &Event) -> Result<(), JobError> {
        self.progress.observe(event);
        (self.observer)(event);
        Ok(())
    }

    fn transferred(&mut self, progress: TransferProgress) {
        self.progress.transferred(progress);
    }
}

impl JobRunner<'_> {
    /// Executes the experiment of a bench in `text`, and shows every event to `observer`.
    ///
    /// # Errors
    ///
    /// If the experiment or its results are wrong, the job fails, or a signal ends the command.
    pub(super) fn run(
        &self,
        text: &str,
        observer: impl FnMut(&Event),
    ) -> Result<JobResult, CommandFailure> {
        let loaded = load_text_for_cluster(text, "the experiment of the bench", self.registry)?;
        let (prepared, finished) = self.execute(&loaded, observer)?;
        Ok(JobResult {
            provenance: Provenance::of_experiment(&prepared.loaded, self.registry)?,
            outputs: finished?.outputs_digest,
        })
    }

    /// Executes the experiment `loaded`, and shows every event to `observer`: the experiment on the cluster, and its result,
    /// whose outputs have been verified, or why it has none.
    ///
    /// # Errors
    ///
    /// If the experiment cannot be submitted, or a signal ends the command.
    pub(super) fn execute(
        &self,
        loaded: &Loaded,
        observer: impl FnMut(&Event),
    ) -> Result<(PreparedExperiment, Result<Finished, Failure>), CommandFailure> {
        let members = &self.cluster.members;
        let (prepared, request) = request(loaded, members, self.registry, false, false)?;
        let application = &loaded.experiment.application;
        let entry = self.registry.find(&application.workload, None)?;
        let (scenario, supersteps) = (scenario(&prepared), application.supersteps);
        let mut observers = Observers {
            progress: Progress::below(self.bars, scenario, supersteps, &prepared.platform),
            observer,
        };
        let order = loaded.build_input();
        let mut run = || -> Result<Finished, RunFailure> {
            let outcome = hosts::run(
                self.cluster.client.clone(),
                &request,
                entry.programs(order)?,
                &mut observers,
                self.termination.clone().received(),
            )?;
            Finished::new(entry, order, outcome)
        };
        let finished = run().map_err(Failure::from);
        observers.progress.finish();
        match self.termination.number() {
            Some(signal) => Err(CommandFailure::Interrupted(signal)),
            None => Ok((prepared, finished)),
        }
    }
}
