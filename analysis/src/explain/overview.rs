//! Summary of a run.

use crate::explain::call::report;
use crate::explain::checkpoints;
use crate::explain::history::History;
use crate::explain::joins;
use crate::explain::moves;
use crate::explain::payback::{Balance, means_around_moves};
use crate::explain::report::Explanation;
use crate::text::{counted, rounded};

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
        .push(format!("migbsp explain {folder} --process {asked}"));
    if answer.balance.is_none() && 0 < moves {
        answer
            .next
            .push(format!("migbsp explain {folder} --against DIR"));
    }
    if let Some(call) = call {
        let superstep = call.summary.superstep;
        answer
            .next
            .push(format!("migbsp explain {folder} --superstep {superstep}"));
        answer.next.push(format!(
            "migbsp explain {folder} --process p1 --superstep {superstep} --svg forces.svg"
        ));
    }
}

/// What the moves gained in the whole run, compared with scenario i; `None` if no process moved.
pub(crate) fn verdict(history: &History) -> Option<String> {
    let Some(balance) = Balance::of(history) else {
        let (before, after) = means_around_moves(history)?;
        let (before, after) = (rounded(before, 4), rounded(after, 4));
        return Some(format!(
            "A superstep took {before} s before the first move and {after} s after the last. Whether the moves \
             saved time cannot be told without scenario i, because the load may have changed, too."
        ));
    };
    let (after, otherwise) = (
        rounded(balance.after_seconds, 4),
        rounded(balance.otherwise_seconds, 4),
    );
    let net = rounded(balance.net_seconds.abs(), 3);
    let outcome = match balance.paid_by {
        Some(superstep) => format!(
            "the moves had paid for all calls by superstep {superstep} and saved {net} s by the end"
        ),
        None => format!("the moves did not pay for the calls and cost {net} s by the end"),
    };
    let part = if balance.supersteps < history.supersteps.len() {
        format!(
            " Scenario i has only the first {}, which were compared.",
            counted(balance.supersteps, "superstep")
        )
    } else {
        String::new()
    };
    Some(format!(
        "After the last move a superstep took {after} s, and {otherwise} s in scenario i: {outcome}.{part}"
    ))
}
