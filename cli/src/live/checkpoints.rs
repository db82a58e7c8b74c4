//! Where a run writes its checkpoints, and how to go on from them.

use std::path::PathBuf;

use agents::checkpoint::{DiskFiles, Store};
use agents::hosts::CheckpointFolder;
use agents::record::Event;
use bsp::HostId;
use clap::Args;

use experiments::{CheckpointTime, Failure};

/// Options about checkpoints.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CheckpointArguments {
    /// Write checkpoints to a folder that the client and all nodes share, from which `run --resume` goes on
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Time from one checkpoint to the next, "30 s" or "20 supersteps" [default: checkpoint.interval, or "optimal"]
    #[arg(long, value_name = "TIME", requires = "checkpoint")]
    every: Option<CheckpointTime>,
}

impl CheckpointArguments {
    /// What they set in the experiment, in which there are checkpoints already if `is_on`.
    pub(crate) fn assignments(&self, is_on: bool) -> Option<String> {
        let is_missing = !is_on && self.checkpoint.is_some();
        let every = self.every.or(is_missing.then_some(CheckpointTime::Optimal));
        every.map(|every| format!("checkpoint.interval={every}"))
    }

    /// The folder, of a run whose experiment is `experiment`.
    ///
    /// # Errors
    ///
    /// If there is no working directory.
    pub(crate) fn folder(&self, experiment: &str) -> Result<Option<CheckpointFolder>, Failure> {
        let Some(folder) = &self.checkpoint else {
            return Ok(None);
        };
        let path = std::path::absolute(folder).map_err(Failure::run)?;
        let path = path.to_str().ok_or_else(|| {
            Failure::input(format!("{}: the path is not UTF-8", folder.display()))
        })?;
        Ok(Some(CheckpointFolder {
            path: path.to_owned(),
            experiment: experiment.to_owned(),
        }))
    }

    /// The same failure, with how to go on.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let has_run = matches!(failure, Failure::Cluster(_) | Failure::Run(_));
        match self.checkpoint.as_ref().filter(|_| has_run) {
            Some(folder) => match going_on(folder) {
                Some(advice) => failure.followed_by(advice),
                None => failure,
            },
            None => failure,
        }
    }

    /// How to go on after an interrupt, if there is a checkpoint.
    pub(crate) fn advice(&self) -> Option<String> {
        going_on(self.checkpoint.as_ref()?)
    }
}

/// How to go on from the newest checkpoint in `folder`.
fn going_on(folder: &std::path::Path) -> Option<String> {
    let mut store = Store::new(DiskFiles::new(folder), HostId(0));
    let latest = store.latest().ok()?;
    let superstep = latest.checkpoint.generation.superstep;
    let folder = folder.display();
    Some(format!(
        "the newest checkpoint is of superstep {superstep}: `run --resume {folder}` goes on from there, \
         on these or other nodes"
    ))
}

/// Warns about the first checkpoint that is not on disk.
#[derive(Debug, Default)]
pub(crate) struct DiskWatch {
    has_warned: bool,
}

impl DiskWatch {
    pub(crate) fn observe(&mut self, event: &Event) {
        let Event::Checkpoint(checkpoint) = event else {
            return;
        };
        if let Some(problem) = checkpoint.problem.as_ref().filter(|_| !self.has_warned) {
            self.has_warned = true;
            let superstep = checkpoint.superstep;
            tracing::warn!(
                "the checkpoint of superstep {superstep} is not on disk: {problem}; \
                 the run goes on, and the checkpoint before it stays"
            );
        }
    }
}
