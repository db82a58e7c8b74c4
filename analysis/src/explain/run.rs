//! Summary of a run: its calls, moves, checkpoints, and hosts that joined.

use bsp::numbers::position;

use crate::explain::call::report;
use crate::explain::moves;
use crate::explain::report::Explanation;
use crate::run::{RunCheckpoints, RunJoin, RunModel};
use crate::sentences;
use crate::text::{counted, duration, rounded};

/// Summary of the run.
pub(super) fn explain(answer: &mut Explanation, model: &RunModel) {
    let calls = &model.calls;
    answer.calls = (0..calls.len()).map(|index| report(model, index)).collect();
    answer.balance = model.balance;
    answer.notes = model.notes.reports().to_vec();
    let moves: usize = calls.iter().map(|call| call.migrations.len()).sum();
    let supersteps = model.end.supersteps;
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
    if model.notes.has_more() {
        let kept = answer.notes.len();
        answer.sentences.push(format!(
            "The program noted values under more than {kept} names, of which the first are shown."
        ));
    }
    let checkpoints = answer.checkpoints.as_ref().map(checkpoint_sentence);
    answer.sentences.extend(checkpoints);
    answer.sentences.extend(verdict(model));
    answer.sentences.extend(moves::summary(model));
    if let Some(fault) = &model.unusable {
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
pub(crate) fn verdict(model: &RunModel) -> Option<String> {
    let balance = model.balance;
    if model.rules.is_measured {
        let gained = balance.map(|balance| balance.sentence(model.run.round.length));
        let sentences: Vec<String> = gained.into_iter().chain(difference(model)).collect();
        return (!sentences.is_empty()).then(|| sentences.join(" "));
    }
    let Some(balance) = balance else {
        let (before, after) = model.around_moves?;
        let (before, after) = (rounded(before, 4), rounded(after, 4));
        return Some(format!(
            "A superstep took {before} s before the first move and {after} s after the last. Whether the moves \
             saved time cannot be told without scenario i, because the load may have changed, too."
        ));
    };
    let part = if balance.supersteps < position(model.end.supersteps) {
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
fn difference(model: &RunModel) -> Option<String> {
    let alone = model.baseline.as_ref()?.end?.seconds.get();
    if !model.end.extent.has_end {
        return None;
    }
    let seconds = model.end.seconds.get() - alone;
    let than = if seconds < 0.0 { "less" } else { "longer" };
    let differ = format!(
        "The run took {} {than} than that of scenario i",
        duration(seconds.abs())
    );
    let mut moves = model.calls.iter().flat_map(|call| &call.migrations);
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

/// What a host took and brought, in a sentence.
fn join_sentence(join: &RunJoin) -> String {
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

/// What the checkpoints took and how often they are worth it, in sentences.
fn checkpoint_sentence(explained: &RunCheckpoints) -> String {
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
