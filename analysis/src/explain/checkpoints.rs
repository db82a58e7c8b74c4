//! Checkpoints: what they cost, and the interval that loses least.

use std::collections::BTreeSet;
use std::path::Path;

use agents::CheckpointSchedule;
use bsp::units::{Instant, Seconds};
use experiments::record::{Manifest, adapted};
use experiments::{CheckpointSection, CheckpointSummary, Failure};
use record::{Checkpoint, Run, Superstep};
use serde::{Deserialize, Serialize};
use settings::{Node, tree_of};

use crate::checkpoints;
use crate::text::rounded;

/// The checkpoints of a run, and the interval that loses least by what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ExplainedCheckpoints {
    /// What they took together.
    #[serde(flatten)]
    pub(super) summary: CheckpointSummary,
    /// What one cost: what it delayed supersteps, or its stall and encoding if that is more. A mean that gives the newest
    /// half of the weight.
    pub(super) cost_seconds: f64,
    /// From the beginning of one to that of the next, on average; the first counts from the start of the run.
    pub(super) interval_seconds: f64,
    /// The mean time between failures of one node.
    pub(super) mtbf_seconds: f64,
    /// The number of nodes: the hosts on which processes started.
    pub(super) nodes: usize,
    /// The interval that loses least time, equation `YOUNG`.
    pub(super) optimal_seconds: f64,
}

/// The checkpoints of a record as they are read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    schedule: CheckpointSchedule,
    mtbf: Seconds,
    nodes: usize,
    /// Supersteps whose checkpoint is not read yet, if there is one: it is recorded when it is complete.
    supersteps: Vec<Superstep>,
    checkpoints: Vec<Checkpoint>,
}

impl Reading {
    /// Nothing has been read of the record of `run` in `folder`, which `manifest` describes; `None` if the run has no
    /// checkpoints.
    pub(super) fn new(
        folder: &Path,
        run: &Run,
        manifest: &Manifest,
    ) -> Result<Option<Self>, Failure> {
        let configuration = &manifest.configuration;
        let fault = |problem: &dyn std::fmt::Display| {
            Failure::input(format!("{}: {problem}", folder.display()))
        };
        let Some(section) = configuration.get("checkpoint") else {
            return Ok(None);
        };
        let node = Node::deserialize(section).map_err(|error| fault(&error))?;
        let of = ("checkpoint", &node);
        let section = adapted(folder, of, CheckpointSection::of, |section| {
            tree_of(section)
        });
        let section = section.map_err(|error| fault(&error))?;
        let nodes = run.placement.iter().collect::<BTreeSet<_>>().len();
        Ok(section.options().map(|checkpointing| Self {
            schedule: CheckpointSchedule::new(&checkpointing, nodes),
            mtbf: checkpointing.mtbf,
            nodes,
            supersteps: Vec::new(),
            checkpoints: Vec::new(),
        }))
    }

    /// A superstep has been read.
    pub(super) fn elapse(&mut self, superstep: &Superstep) {
        self.supersteps.push(*superstep);
    }

    /// A checkpoint has been read.
    pub(super) fn save(&mut self, checkpoint: Checkpoint) {
        let supersteps = std::mem::take(&mut self.supersteps);
        let is_before = |superstep: &&Superstep| superstep.index < checkpoint.superstep;
        self.all_elapse(supersteps.iter().filter(is_before));
        self.schedule.begin(checkpoint.superstep, checkpoint.at);
        self.all_elapse(supersteps.iter().filter(|superstep| !is_before(superstep)));
        self.schedule.complete(checkpoint.cost());
        self.checkpoints.push(checkpoint);
    }

    /// What they took in a run until `end`; `None` if none became complete.
    pub(super) fn end(mut self, end: Instant) -> Option<ExplainedCheckpoints> {
        let summary = CheckpointSummary::new(&self.checkpoints, end)?;
        let supersteps = std::mem::take(&mut self.supersteps);
        self.all_elapse(supersteps.iter());
        let begun = self.checkpoints.last()?.at - Instant::START;
        // The run may have ended in the superstep of the only one.
        let cost = self.schedule.cost().unwrap_or_else(|| summary.cost());
        Some(ExplainedCheckpoints {
            summary,
            cost_seconds: cost.get(),
            interval_seconds: begun.get() / self.checkpoints.len() as f64,
            mtbf_seconds: self.mtbf.get(),
            nodes: self.nodes,
            optimal_seconds: agents::optimal_interval(cost, self.mtbf, self.nodes).get(),
        })
    }

    fn all_elapse<'a>(&mut self, supersteps: impl Iterator<Item = &'a Superstep>) {
        for superstep in supersteps {
            self.schedule.elapse(superstep.ended - superstep.started);
        }
    }
}

/// What the checkpoints took and how often they are worth it, in sentences.
pub(super) fn sentence(explained: &ExplainedCheckpoints) -> String {
    format!(
        "{} They began every {} s. One cost {} s, and if each of {} nodes fails in {} days on average, an interval of \
         {} s loses least (Young and Daly).",
        checkpoints::sentence(&explained.summary),
        rounded(explained.interval_seconds, 2),
        rounded(explained.cost_seconds, 3),
        explained.nodes,
        rounded(explained.mtbf_seconds / DAY, 2),
        rounded(explained.optimal_seconds, 2)
    )
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;
