//! The job of `run`: an experiment from its beginning, or a job that is saved on disk.

use std::future::Future;
use std::path::Path;

use agents::Outcome;
use checkpoint::SavedStates;
use hosts::JobObserver;
use machines::client::Request;
use protocol::Member;
use protocol::identity::Identity;

use crate::live::checkpoints::CheckpointArguments;
use experiments::submission::request;
use experiments::{Entry, Failure, Loaded, PreparedExperiment, Registry, RunFailure, SavedJob};

/// The job of `run`.
pub(super) struct RunJob {
    pub(super) loaded: Loaded,
    pub(super) prepared: PreparedExperiment,
    request: Request,
    /// The states with which it begins, if it is saved on disk.
    saved: Option<SavedStates>,
}

impl RunJob {
    /// The experiment in `file`, changed by `assignments`, from its beginning. `plays`: its background load is played.
    ///
    /// # Errors
    ///
    /// If it cannot be run on `members`.
    pub(super) fn of_experiment(
        (file, mut assignments): (&Path, Vec<String>),
        checkpoints: &CheckpointArguments,
        members: &[Member],
        registry: &Registry,
        (are_mixed_builds_allowed, plays): (bool, bool),
    ) -> Result<Self, Failure> {
        let mut loaded = experiments::load_for_cluster(file, &assignments, registry)?;
        let is_on = loaded.experiment.checkpoint.is_on();
        if let Some(assignment) = checkpoints.assignments(is_on) {
            assignments.push(assignment);
            loaded = experiments::load_for_cluster(file, &assignments, registry)?;
        }
        let (prepared, mut request) =
            request(&loaded, members, registry, are_mixed_builds_allowed, plays)?;
        request.checkpoint = checkpoints.folder()?;
        Ok(Self {
            loaded,
            prepared,
            request,
            saved: None,
        })
    }

    /// The job whose checkpoints are in `folder`, from the newest one on.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot go on here.
    pub(super) fn of_checkpoint(
        folder: &Path,
        members: &[Member],
        registry: &Registry,
        are_mixed_builds_allowed: bool,
    ) -> Result<Self, Failure> {
        let saved = SavedJob::open(folder, registry, are_mixed_builds_allowed)?;
        let (prepared, request) = saved.request(members, registry, are_mixed_builds_allowed)?;
        let (loaded, states) = saved.into_states();
        Ok(Self {
            loaded,
            prepared,
            request,
            saved: Some(states),
        })
    }

    /// Runs the job, whose workload is `entry`, as `client`.
    ///
    /// # Errors
    ///
    /// If it has no result.
    pub(super) fn run(
        &mut self,
        entry: &dyn Entry,
        client: Identity,
        observer: &mut dyn JobObserver,
        interrupted: impl Future<Output = ()>,
    ) -> Result<Outcome, RunFailure> {
        let request = &self.request;
        let outcome = match self.saved.take() {
            Some(states) => {
                let saved = (states, entry.program_type());
                hosts::resume(client, request, saved, observer, interrupted)
            }
            None => {
                let programs = entry.programs(self.loaded.build_input())?;
                hosts::run(client, request, programs, observer, interrupted)
            }
        };
        Ok(outcome?)
    }
}
