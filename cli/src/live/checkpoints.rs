//! Where a run writes its checkpoints, and how to go on from them.

use std::path::{Path, PathBuf};

use bsp::HostId;
use checkpoint::{DiskFiles, Store};
use clap::Args;
use record::Event;

use experiments::{CheckpointTime, Failure, absolute};

/// Options about checkpoints.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CheckpointArguments {
    /// Write checkpoints to a folder that the client and all nodes share, from which `run --resume` goes on
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Time from one checkpoint to the next, "30 s" or "20 supersteps" [default: checkpoint.interval, or "optimal"]
    #[arg(long, value_name = "TIME", requires = "checkpoint")]
    every: Option<CheckpointTime>,
    /// Go on from the newest checkpoint in a folder of --checkpoint, on these or other nodes: no FILE and no changes of it;
    /// later checkpoints are written to the same folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["file", "processes", "seed", "policy", "set", "checkpoint", "every"]
    )]
    resume: Option<PathBuf>,
}

impl CheckpointArguments {
    /// The folder of the job to go on with, if it is one that is saved.
    pub(crate) fn resumed(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    /// What they set in the experiment, in which there are checkpoints already if `is_on`.
    pub(crate) fn assignments(&self, is_on: bool) -> Option<String> {
        let is_missing = !is_on && self.checkpoint.is_some();
        let default = || is_missing.then_some(CheckpointTime::Optimal);
        let every = self.every.or_else(default);
        every.map(|every| format!("checkpoint.interval={every}"))
    }

    /// The folder to which checkpoints of a new job are written, an absolute path.
    ///
    /// # Errors
    ///
    /// If there is no working directory.
    pub(crate) fn folder(&self) -> Result<Option<String>, Failure> {
        self.checkpoint.as_deref().map(absolute).transpose()
    }

    /// The folder to which a run with these options writes, an absolute path, for the nodes of `up`.
    ///
    /// # Errors
    ///
    /// As [`Self::folder`].
    pub(crate) fn used(&self) -> Result<Option<String>, Failure> {
        self.written().map(absolute).transpose()
    }

    /// The same failure, with how to go on.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let has_run = matches!(failure, Failure::Cluster(_) | Failure::Run(_));
        match self.written().filter(|_| has_run) {
            Some(folder) => match going_on(folder) {
                Some(advice) => failure.followed_by(advice),
                None => failure,
            },
            None => failure,
        }
    }

    /// How to go on after an interrupt, if there is a checkpoint.
    pub(crate) fn advice(&self) -> Option<String> {
        going_on(self.written()?)
    }

    /// The folder to which checkpoints are written, if they are.
    fn written(&self) -> Option<&Path> {
        self.checkpoint.as_deref().or(self.resume.as_deref())
    }
}

/// How to go on from the newest checkpoint in `folder`.
fn going_on(folder: &Path) -> Option<String> {
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
