//! Jobs of a bench.

use agents::hosts;
use agents::record::Event;
use experiments::submission::{request, scenario};
use experiments::{Failure, Finished, Provenance, Registry, RunFailure, load_text_for_cluster};

use crate::failure::CommandFailure;
use crate::live::cluster_members::ClusterMembers;
use crate::progress::Progress;
use crate::signals::TerminationSignal;

/// Executes the jobs of a bench, one after the other.
pub(super) struct JobRunner<'a> {
    pub(super) cluster: &'a ClusterMembers,
    pub(super) registry: &'a Registry,
    pub(super) termination: &'a TerminationSignal,
    /// Whether a bar on stderr is wanted.
    pub(super) progress: bool,
}

/// A job that has ended.
pub(super) struct JobResult {
    /// The digest of the outputs, which have been verified.
    pub(super) outputs: String,
    pub(super) provenance: Provenance,
}

impl JobRunner<'_> {
    /// Executes the experiment in `text`, and shows every event to `observer`.
    ///
    /// # Errors
    ///
    /// If the experiment or its results are wrong, the job fails, or a signal ends the command.
    pub(super) fn run(
        &self,
        text: &str,
        mut observer: impl FnMut(&Event),
    ) -> Result<JobResult, CommandFailure> {
        let loaded = load_text_for_cluster(text, "the experiment of the bench", self.registry)?;
        let members = &self.cluster.members;
        let (prepared, request) = request(&loaded, members, self.registry, false, false)?;
        let application = &loaded.experiment.application;
        let entry = self.registry.find(&application.workload, None)?;
        let (scenario, supersteps) = (scenario(&prepared), application.supersteps);
        let mut progress = Progress::new(self.progress, scenario, supersteps, &prepared.platform);
        let mut observe = |event: &Event| {
            progress.observe(event);
            observer(event);
            Ok(())
        };
        let order = loaded.build_input();
        let mut run = || -> Result<Finished, RunFailure> {
            let outcome = hosts::run(
                self.cluster.client.clone(),
                &request,
                entry.programs(order)?,
                &mut observe,
                self.termination.clone().received(),
            )?;
            Finished::new(entry, order, outcome)
        };
        let finished = run().map_err(Failure::from);
        progress.finish();
        if let Some(signal) = self.termination.number() {
            return Err(CommandFailure::Interrupted(signal));
        }
        Ok(JobResult {
            provenance: Provenance::of_experiment(&prepared.loaded, self.registry)?,
            outputs: finished?.outputs_digest,
        })
    }
}
