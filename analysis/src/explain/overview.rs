//! Summary of a run.

use crate::explain::balance::Balance;
use crate::explain::call::report;
use crate::explain::checkpoints;
use crate::explain::history::History;
use crate::explain::joins;
use crate::explain::moves;
use crate::explain::payback::means_around_moves;
use crate::explain::report::Explanation;
use crate::text::{counted, duration, rounded};

/// Summary of the run.
pub(super) fn explain(answer: &mut Explanation, history: &History) {
    let calls = &history.calls;
    answer.calls = (0..calls.len())
        .map(|index| report(history, index))
        .collect();
    answer.balance = Balance::of(history);
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
    let joins = answer.joins.iter().map(joins::sentence);
    answer.sentences.extend(joins);
    let checkpoints = answer.checkpoints.as_ref().map(checkpoints::sentence);
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
