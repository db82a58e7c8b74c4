//! Checkpoints: what they cost, and the interval that loses least.

use agents::optimal_interval;
use agents::record::Checkpoint;
use bsp::units::Instant;
use experiments::CheckpointSummary;
use serde::Serialize;

use crate::checkpoints;
use crate::explain::history::History;
use crate::text::rounded;

/// The checkpoints of a run, and the interval that loses least by what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct ExplainedCheckpoints {
    /// What they took together.
    #[serde(flatten)]
    pub(super) summary: CheckpointSummary,
    /// What one cost on average: its stall, and what encoding took from processors.
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

/// The checkpoints of the run; `None` if none became complete.
pub(super) fn explained(history: &History) -> Option<ExplainedCheckpoints> {
    let all: &[Checkpoint] = &history.checkpoints;
    let summary = CheckpointSummary::new(all, history.end.seconds)?;
    let begun = all.last()?.at - Instant::START;
    let mut nodes = history.run.placement.clone();
    nodes.sort();
    nodes.dedup();
    let mtbf = history.rules.mtbf;
    let optimal = optimal_interval(summary.cost(), mtbf, nodes.len());
    Some(ExplainedCheckpoints {
        summary,
        cost_seconds: summary.cost().get(),
        interval_seconds: begun.get() / all.len() as f64,
        mtbf_seconds: mtbf.get(),
        nodes: nodes.len(),
        optimal_seconds: optimal.get(),
    })
}

/// What the checkpoints took and how often they are worth it, in sentences.
pub(super) fn sentence(explained: &ExplainedCheckpoints) -> String {
    format!(
        "{} They began every {} s. Each cost {} s, and if one of {} nodes fails in {} days on average, an interval of \
         {} s loses least (Young and Daly).",
        checkpoints::sentence(&explained.summary),
        rounded(explained.interval_seconds, 2),
        rounded(explained.cost_seconds, 4),
        explained.nodes,
        rounded(explained.mtbf_seconds / DAY, 2),
        rounded(explained.optimal_seconds, 2)
    )
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;
