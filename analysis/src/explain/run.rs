//! Summary of a run: its calls, moves, checkpoints, and hosts that joined.

use std::collections::BTreeSet;
use std::path::Path;

use agents::CheckpointSchedule;
use bsp::numbers::position;
use bsp::units::{Instant, Seconds};
use experiments::record::Manifest;
use experiments::{CheckpointSummary, Failure, JoinSummary};
use record::{Checkpoint, Run, Superstep};
use serde::Serialize;

use crate::explain::call::report;
use crate::explain::history::{History, mean};
use crate::explain::moves;
use crate::explain::payback::{Balance, means_around_moves};
use crate::explain::report::Explanation;
use crate::sentences;
use crate::text::{counted, duration, rounded};
use crate::verify::checkpointing;

/// Summary of the run.
pub(super) fn explain(answer: &mut Explanation, history: &History) {
    let calls = &history.calls;
    answer.calls = (0..calls.len())
        .map(|index| report(history, index))
        .collect();
    answer.balance = Balance::of(history);
    answer.notes = history.notes.reports().to_vec();
    let moves: usize = calls.iter().map(|call| call.migrations.len()).sum();
    let supersteps = history.end.supersteps;
    answer.sentences.push(if calls.is_empty() {
        let so = match &answer.joins[..] {
            [] => "so no process could move",
            _ => "so processes moved only to hosts that joined",
        };
        format!("No call was held in {supersteps} supersteps, {so}.")
    } else if moves == 0 {
        format!(
            "No process moved in {} over {supersteps} supersteps.",
            counted(calls.len(), "call")
        )
    } else {
        let movers = calls
            .iter()
            .filter(|call| !call.migrations.is_empty())
            .count();
        format!(
            "{} of {} moved processes, with {} in total, over {supersteps} supersteps.",
            movers,
            counted(calls.len(), "call"),
            counted(moves, "move")
        )
    });
    let joins = answer.joins.iter().map(join_sentence);
    answer.sentences.extend(joins);
    if history.notes.has_more {
        let kept = answer.notes.len();
        answer.sentences.push(format!(
            "The program noted values under more than {kept} names, of which the first are shown."
        ));
    }
    let checkpoints = answer.checkpoints.as_ref().map(checkpoint_sentence);
    answer.sentences.extend(checkpoints);
    answer.sentences.extend(verdict(history));
    answer.sentences.extend(moves::summary(history));
    if let Some(fault) = &history.unusable {
        answer.sentences.push(format!(
            "The record of scenario i beside this one is not used: {fault}"
        ));
    }
    let folder = &answer.record;
    let moved = calls.iter().flat_map(|call| &call.migrations).next();
    let asked = moved.map_or_else(|| "p1".to_owned(), |moved| moved.rank.to_string());
    let quiet = calls.iter().rev().find(|call| call.migrations.is_empty());
    let call = quiet.or_else(|| calls.last());
    answer
        .next
        .push(format!("explain {folder} --process {asked}"));
    if answer.balance.is_none() && 0 < moves {
        answer.next.push(format!("explain {folder} --against DIR"));
    }
    if let Some(call) = call {
        let superstep = call.summary.superstep;
        answer
            .next
            .push(format!("explain {folder} --superstep {superstep}"));
        answer.next.push(format!(
            "explain {folder} --process p1 --superstep {superstep} --svg forces.svg"
        ));
    }
}

/// What the moves gained in the whole run; `None` if no process moved and no other run is known.
pub(crate) fn verdict(history: &History) -> Option<String> {
    let balance = Balance::of(history);
    if history.rules.is_measured {
        let gained = balance.map(|balance| balance.sentence(history.run.round.length));
        let sentences: Vec<String> = gained.into_iter().chain(difference(history)).collect();
        return (!sentences.is_empty()).then(|| sentences.join(" "));
    }
    let Some(balance) = balance else {
        let (before, after) = means_around_moves(history)?;
        let (before, after) = (rounded(before, 4), rounded(after, 4));
        return Some(format!(
            "A superstep took {before} s before the first move and {after} s after the last. Whether the moves \
             saved time cannot be told without scenario i, because the load may have changed, too."
        ));
    };
    let part = if balance.supersteps < history.supersteps.len() {
        format!(
            " Scenario i has only the first {}, which were compared.",
            counted(balance.supersteps, "superstep")
        )
    } else {
        String::new()
    };
    Some(balance.sentence(1) + &part)
}

/// By how much a run on real hosts and one of scenario i differ, which says nothing of the moves; `None` if either has not
/// ended.
fn difference(history: &History) -> Option<String> {
    let alone = history.baseline.as_ref()?.end?.seconds.get();
    if !history.end.extent.has_end {
        return None;
    }
    let seconds = history.end.seconds.get() - alone;
    let than = if seconds < 0.0 { "less" } else { "longer" };
    let differ = format!(
        "The run took {} {than} than that of scenario i",
        duration(seconds.abs())
    );
    let mut moves = history.calls.iter().flat_map(|call| &call.migrations);
    Some(if moves.next().is_none() {
        format!(
            "{differ}, and no process moved: that is noise, and nothing was saved or lost by moves."
        )
    } else {
        format!(
            "{differ}. One pair of runs on real hosts does not tell a saving from noise; several runs of each policy, in turn, do."
        )
    })
}

/// A host that joined, with the pace of the run before it and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct ExplainedJoin {
    /// The host.
    #[serde(flatten)]
    pub(super) summary: JoinSummary,
    /// What the paces count: `tasks` of a task farm, or `supersteps`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["tasks", "supersteps"])))]
    pub(super) counted: &'static str,
    /// A second, before the host joined.
    pub(super) before: Option<f64>,
    /// A second, after it joined.
    pub(super) after: Option<f64>,
}

/// All hosts that joined or were to join, in order.
pub(super) fn explained_joins(history: &History) -> Vec<ExplainedJoin> {
    let name = |host: bsp::HostId| history.run.hosts[host.index()].clone();
    let explain = |join: &record::Join| {
        let summary = JoinSummary::new(join, name);
        let (before, after) = if history.dealt.is_empty() {
            let at = position(join.superstep);
            let pace = |range| mean(&history.supersteps, range).map(|seconds| 1.0 / seconds);
            let end = at.saturating_add(SUPERSTEPS).min(history.supersteps.len());
            (pace(at.saturating_sub(SUPERSTEPS)..at), pace(at..end))
        } else {
            paces(history, join.superstep)
        };
        ExplainedJoin {
            summary,
            counted: if history.dealt.is_empty() {
                "supersteps"
            } else {
                "tasks"
            },
            before,
            after,
        }
    };
    history.joins.iter().map(explain).collect()
}

/// What a host took and brought, in a sentence.
fn join_sentence(join: &ExplainedJoin) -> String {
    let mut sentence = sentences::joined(&join.summary);
    if let (true, Some(before), Some(after)) = (join.summary.joined, join.before, join.after) {
        let (before, after) = (rounded(before, 2), rounded(after, 2));
        let counted = join.counted;
        sentence.push_str(&format!(
            " Before, {before} {counted} a second were done, and {after} after it."
        ));
    }
    sentence
}

/// Tasks a second in the last rounds that a task farm dealt before superstep `joined` and in those after, without those in
/// which workers are characterised.
fn paces(history: &History, joined: u64) -> (Option<f64>, Option<f64>) {
    let length = history.run.round.length;
    let round = |(from, tasks): &(u64, f64)| {
        let first = history.place(*from);
        let its = history
            .supersteps
            .get(first..first.checked_add(position(length))?)?;
        let seconds: f64 = its.iter().map(|superstep| superstep.seconds).sum();
        Some((*from, *tasks, seconds))
    };
    let rounds: Vec<_> = history.dealt.iter().filter_map(round).collect();
    let before = rounds
        .iter()
        .filter(|(from, ..)| from.saturating_add(length) <= joined);
    let before: Vec<_> = before.skip(1).collect();
    let after = rounds.iter().filter(|(from, ..)| joined <= *from);
    let after: Vec<_> = after.skip(2).take(ROUNDS).collect();
    let pace = |rounds: &[&(u64, f64, f64)]| {
        let tasks: f64 = rounds.iter().map(|(_, tasks, _)| tasks).sum();
        let seconds: f64 = rounds.iter().map(|(.., seconds)| seconds).sum();
        (0.0 < seconds).then(|| tasks / seconds)
    };
    let last = before.len().saturating_sub(ROUNDS);
    (pace(&before[last..]), pace(&after))
}

/// The most rounds, and supersteps, of which the pace is taken.
const ROUNDS: usize = 5;
const SUPERSTEPS: usize = 10;

/// The checkpoints of a run, and the interval that loses least by what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct ExplainedCheckpoints {
    /// What they took together.
    #[serde(flatten)]
    pub(super) summary: CheckpointSummary,
    /// What one cost: what it delayed supersteps, or its stall and encoding if that is more. A mean that gives the newest
    /// half of the weight.
    pub(super) cost_seconds: f64,
    /// From the beginning of one to that of the next, on average; the first counts from the start of the run.
    interval_seconds: f64,
    /// The mean time between failures of one node.
    mtbf_seconds: f64,
    /// The number of nodes: the hosts on which processes started.
    pub(super) nodes: usize,
    /// The interval that loses least time, equation `YOUNG`.
    optimal_seconds: f64,
}

/// The checkpoints of a record as they are read.
#[derive(Clone, Debug)]
pub(super) struct CheckpointReading {
    schedule: CheckpointSchedule,
    mtbf: Seconds,
    nodes: usize,
    /// Supersteps whose checkpoint is not read yet, if there is one: it is recorded when it is complete.
    supersteps: Vec<Superstep>,
    checkpoints: Vec<Checkpoint>,
}

impl CheckpointReading {
    /// Nothing has been read of the record of `run` in `folder`, which `manifest` describes; `None` if the run has no
    /// checkpoints.
    pub(super) fn new(
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
    pub(super) fn elapse(&mut self, superstep: &Superstep) {
        self.supersteps.push(superstep.without_notes());
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
            self.schedule
                .elapse(superstep.index, superstep.ended - superstep.started);
        }
    }
}

/// What the checkpoints took and how often they are worth it, in sentences.
fn checkpoint_sentence(explained: &ExplainedCheckpoints) -> String {
    format!(
        "{} They began every {} s. One cost {} s, and if each of {} nodes fails in {} days on average, an interval of \
         {} s loses least (Young and Daly).",
        sentences::checkpoints(&explained.summary),
        rounded(explained.interval_seconds, 2),
        rounded(explained.cost_seconds, 3),
        explained.nodes,
        rounded(explained.mtbf_seconds / DAY, 2),
        rounded(explained.optimal_seconds, 2)
    )
}

/// Seconds of a day.
const DAY: f64 = 86_400.0;
