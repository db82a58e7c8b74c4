//! The checkpoints of a run, and how often they are worth it.

use std::collections::BTreeSet;
use std::path::Path;

use agents::CheckpointSchedule;
use bsp::units::{Instant, Seconds};
use experiments::record::Manifest;
use experiments::{CheckpointSummary, Failure};
use record::{Checkpoint, Run, Superstep};
use serde::Serialize;

use crate::verify::checkpointing;

/// The checkpoints of a run, and the interval that loses least by what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct RunCheckpoints {
    /// What they took together.
    #[serde(flatten)]
    pub(crate) summary: CheckpointSummary,
    /// What one cost: what it delayed supersteps, or its stall and encoding if that is more. A mean that gives the newest
    /// half of the weight.
    pub(crate) cost_seconds: f64,
    /// From the beginning of one to that of the next, on average; the first counts from the start of the run.
    pub(crate) interval_seconds: f64,
    /// The mean time between failures of one node.
    pub(crate) mtbf_seconds: f64,
    /// The number of nodes: the hosts on which processes started.
    pub(crate) nodes: usize,
    /// The interval that loses least time, equation `YOUNG`.
    pub(crate) optimal_seconds: f64,
}

/// The checkpoints of a record as they are read.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointReading {
    schedule: CheckpointSchedule,
    mtbf: Seconds,
    nodes: usize,
    /// Supersteps whose checkpoint is not read yet, if there is one, with what they took: it is recorded when it is complete.
    supersteps: Vec<(u64, Seconds)>,
    checkpoints: Vec<Checkpoint>,
}

impl CheckpointReading {
    /// Nothing has been read of the record of `run` in `folder`, which `manifest` describes; `None` if the run has no
    /// checkpoints.
    pub(crate) fn new(
        folder: &Path,
        run: &Run,
        manifest: &Manifest,
    ) -> Result<Option<Self>, Failure> {
        let checkpointing = checkpointing(manifest, folder)
            .map_err(|fault| Failure::input(format!("{}: {fault}", folder.display())))?;
        let nodes = run.placement.iter().collect::<BTreeSet<_>>().len();
        Ok(checkpointing.map(|checkpointing| Self {
            schedule: CheckpointSchedule::new(&checkpointing, nodes),
            mtbf: checkpointing.mtbf,
            nodes,
            supersteps: Vec::new(),
            checkpoints: Vec::new(),
        }))
    }

    /// A superstep has been read.
    pub(crate) fn elapse(&mut self, superstep: &Superstep) {
        let took = superstep.ended - superstep.started;
        self.supersteps.push((superstep.index, took));
    }

    /// A checkpoint has been read.
    pub(crate) fn save(&mut self, checkpoint: Checkpoint) {
        let supersteps = std::mem::take(&mut self.supersteps);
        let before = supersteps.partition_point(|(index, _)| *index < checkpoint.superstep);
        let (before, after) = supersteps.split_at(before);
        self.all_elapse(before);
        self.schedule.begin(checkpoint.superstep, checkpoint.at);
        self.all_elapse(after);
        self.schedule.complete(checkpoint.cost());
        self.checkpoints.push(checkpoint);
    }

    /// What they took in a run until `end`; `None` if none became complete.
    pub(crate) fn end(mut self, end: Instant) -> Option<RunCheckpoints> {
        let summary = CheckpointSummary::new(&self.checkpoints, end)?;
        let supersteps = std::mem::take(&mut self.supersteps);
        self.all_elapse(&supersteps);
        let begun = self.checkpoints.last()?.at - Instant::START;
        // The run may have ended in the superstep of the only one.
        let cost = self.schedule.cost().unwrap_or_else(|| summary.cost());
        Some(RunCheckpoints {
            summary,
            cost_seconds: cost.get(),
            interval_seconds: begun.get() / self.checkpoints.len() as f64,
            mtbf_seconds: self.mtbf.get(),
            nodes: self.nodes,
            optimal_seconds: agents::optimal_interval(cost, self.mtbf, self.nodes).get(),
        })
    }

    fn all_elapse(&mut self, supersteps: &[(u64, Seconds)]) {
        for (index, took) in supersteps {
            self.schedule.elapse(*index, *took);
        }
    }
}
