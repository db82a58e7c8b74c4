//! Hosts that joined: what they took and what they brought.

use bsp::Interaction;
use experiments::JoinSummary;
use serde::Serialize;

use crate::explain::durations::{SuperstepDuration, mean};
use crate::explain::history::History;
use crate::joined;
use crate::text::rounded;

/// A host that joined, with the pace of the run before it and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ExplainedJoin {
    /// The host.
    #[serde(flatten)]
    pub(super) summary: JoinSummary,
    /// What the paces count: `tasks` of a task farm, or `supersteps`.
    pub(super) counted: &'static str,
    /// A second, before the host joined.
    pub(super) before: Option<f64>,
    /// A second, after it joined.
    pub(super) after: Option<f64>,
}

/// All hosts that joined or were to join, in order.
pub(super) fn explained(history: &History) -> Vec<ExplainedJoin> {
    let name = |host: bsp::HostId| history.run.hosts[host.index()].clone();
    let explain = |join: &record::Join| {
        let summary = JoinSummary::new(join, name);
        let interactions = &history.interactions;
        let (before, after) = if interactions.is_empty() {
            let at = usize::try_from(join.superstep).unwrap_or(usize::MAX);
            let pace = |range| mean(&history.supersteps, range).map(|seconds| 1.0 / seconds);
            let end = at.saturating_add(SUPERSTEPS).min(history.supersteps.len());
            (pace(at.saturating_sub(SUPERSTEPS)..at), pace(at..end))
        } else {
            let length = history.run.round.length;
            paces(&history.supersteps, interactions, (join.superstep, length))
        };
        ExplainedJoin {
            summary,
            counted: if interactions.is_empty() {
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
pub(super) fn sentence(join: &ExplainedJoin) -> String {
    let mut sentence = joined::sentence(&join.summary);
    if let (true, Some(before), Some(after)) = (join.summary.joined, join.before, join.after) {
        let (before, after) = (rounded(before, 2), rounded(after, 2));
        let counted = join.counted;
        sentence.push_str(&format!(
            " Before, {before} {counted} a second were done, and {after} after it."
        ));
    }
    sentence
}

/// Tasks a second in the last interactions, each of `length` supersteps, before superstep `joined` and in those after, without those in which workers are
/// characterised.
fn paces(
    supersteps: &[SuperstepDuration],
    interactions: &[Interaction],
    (joined, length): (u64, u64),
) -> (Option<f64>, Option<f64>) {
    let is_before =
        |interaction: &&Interaction| interaction.superstep.saturating_add(length) <= joined;
    let before = interactions.iter().filter(is_before).skip(1);
    let before: Vec<_> = before.collect();
    let last = before.len().saturating_sub(INTERACTIONS);
    let after = interactions
        .iter()
        .filter(|interaction| joined <= interaction.superstep);
    let after = after.skip(2).take(INTERACTIONS);
    let pace = |interactions: &mut dyn Iterator<Item = &Interaction>| {
        let (mut tasks, mut seconds) = (0_u64, 0.0);
        for interaction in interactions {
            let first = usize::try_from(interaction.superstep).ok()?;
            let end = first.checked_add(usize::try_from(length).ok()?)?;
            let its = supersteps.get(first..end)?;
            seconds += its.iter().map(|superstep| superstep.seconds).sum::<f64>();
            tasks += interaction.dealt.iter().sum::<u64>();
        }
        (0.0 < seconds).then(|| tasks as f64 / seconds)
    };
    (
        pace(&mut before[last..].iter().copied()),
        pace(&mut { after }),
    )
}

/// The most interactions, and supersteps, of which the pace is taken.
const INTERACTIONS: usize = 5;
const SUPERSTEPS: usize = 10;
