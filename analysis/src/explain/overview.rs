//! Summary of a run.

use crate::explain::call::report;
use crate::explain::history::History;
use crate::explain::payback::{Against, Balance};
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
        format!("No call was held in {supersteps} supersteps, so no process could move.")
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
    if let Some(balance) = &answer.balance {
        answer.sentences.push(verdict(balance));
    }
    let folder = &answer.record;
    let moved = calls.iter().flat_map(|call| &call.migrations).next();
    let asked = moved.map_or_else(|| "p1".to_owned(), |moved| moved.rank.to_string());
    let quiet = calls.iter().rev().find(|call| call.migrations.is_empty());
    let call = quiet.or_else(|| calls.last());
    answer
        .next
        .push(format!("migbsp explain {folder} --process {asked}"));
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

fn verdict(balance: &Balance) -> String {
    let (before, after) = (
        rounded(balance.before_seconds, 4),
        rounded(balance.after_seconds, 4),
    );
    let net = rounded(balance.net_seconds.abs(), 3);
    let against = match balance.against {
        Against::ScenarioI => "Compared with the same supersteps in scenario i",
        Against::Before => "If supersteps had stayed as before the first move",
    };
    let outcome = match balance.paid_by {
        Some(superstep) => format!(
            "the moves had paid for all calls by superstep {superstep} and saved {net} s by the end"
        ),
        None => format!("the moves did not pay for the calls and cost {net} s by the end"),
    };
    format!(
        "A superstep took {before} s before the first move and {after} s after the last. {against}, {outcome}."
    )
}
