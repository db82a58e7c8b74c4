//! Why a process moved in a call, or stayed.

use std::collections::BTreeMap;

use bsp::Rank;
use bsp::units::Seconds;
use migbsp::{Answer, Refusal};
use record::Call;

use crate::explain::call::{first_of, report, rows, weighing};
use crate::explain::disposition::{Disposition, meaning};
use crate::explain::forces::Forces;
use crate::explain::history::{Detail, History};
use crate::explain::narrative::Narrative;
use crate::explain::neighbours;
use crate::explain::payback::Payback;
use crate::explain::report::{Explanation, Predicted, ProcessReport, Row, Time};
use crate::text::counted;

/// Why the process `rank` moved or stayed in the call at position `index`, which was named or
/// searched, and of which `detail` has the findings.
pub(super) fn explain(
    answer: &mut Explanation,
    history: &History,
    (rank, index, is_named): (Rank, usize, bool),
    detail: &Detail,
) {
    let explained = &history.calls[index];
    let call = &detail.call;
    answer.calls.push(report(history, index));
    let position = call.list.iter().position(|entry| entry.rank == rank);
    let disposition = Disposition::all(call, &history.rules).remove(&rank);
    let entry = position.map(|position| call.list[position]);
    let process = describe(history, detail, (rank, index), disposition.as_ref());
    if !is_named {
        answer.sentences.extend(in_the_run(&process, history));
    }
    answer.forces = entry.and_then(|entry| Forces::of(history, detail, &entry));
    if let (Some(entry), Some(disposition)) = (entry, &disposition) {
        let narrative = Narrative {
            history,
            detail,
            entry,
            process: &process,
            forces: answer.forces.as_ref(),
        };
        answer.sentences.push(narrative.why(disposition));
        answer
            .sentences
            .extend(neighbours::sentence(rank, &process.neighbours));
        answer.sentences.extend(weighing(explained));
        answer.sentences.extend(narrative.what_it_won());
    } else {
        answer.sentences.push(format!(
            "{rank} took no part in the call after superstep {}: it had halted.",
            explained.summary.superstep
        ));
    }
    answer.list = around(rows(history, call), position);
    answer.process = Some(process);
    let (folder, superstep) = (&answer.record, explained.summary.superstep);
    answer
        .next
        .push(format!("explain {folder} --superstep {superstep}"));
}

fn describe(
    history: &History,
    detail: &Detail,
    (rank, index): (Rank, usize),
    disposition: Option<&Disposition>,
) -> ProcessReport {
    let call = &detail.call;
    let position = call.list.iter().position(|entry| entry.rank == rank);
    let entry = position.map(|position| call.list[position]);
    let host = detail
        .evaluation(rank)
        .map(|evaluation| history.host(evaluation.host));
    let mut dispositions: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut moved_after = Vec::new();
    for explained in &history.calls {
        if let Some(asked) = &explained.asked {
            *dispositions.entry(asked.disposition.name()).or_default() += 1;
        }
        if explained.migrations.iter().any(|moved| moved.rank == rank) {
            moved_after.push(explained.summary.superstep);
        }
    }
    let moved = call.migrations.iter();
    let has_moved = matches!(disposition, Some(Disposition::Moved(_)));
    let others = moved.filter(|moved| has_moved && moved.rank != rank);
    ProcessReport {
        process: rank.to_string(),
        superstep: call.superstep,
        host,
        position: position.map(|position| position + 1),
        disposition: disposition.map(Disposition::name),
        target: entry.map(|entry| history.set(entry.target)),
        potential: entry.map(|entry| entry.potential.get()),
        times: times(history, detail, rank),
        predicted: predicted(call, rank),
        payback: Payback::of(history, index).filter(|_| has_moved),
        neighbours: neighbours::neighbours(history, detail, rank),
        moved_with: others.map(|moved| moved.rank.to_string()).collect(),
        moved_after,
        dispositions,
    }
}

/// `t1`, `t2` and the runner-up, as far as they are known.
fn times(history: &History, detail: &Detail, rank: Rank) -> Vec<Time> {
    let call = &detail.call;
    let mut considered = call.considered.iter();
    let Some(considered) = considered.find(|considered| considered.entry.rank == rank) else {
        let Some(moved) = call.migrations.iter().find(|moved| moved.rank == rank) else {
            return Vec::new();
        };
        let time = |name, host, seconds: Seconds| Time {
            name,
            host: history.host(host),
            computation: None,
            reception: None,
            migration: None,
            seconds: seconds.get(),
        };
        return vec![
            time("t1", moved.to, moved.t1),
            time("t2", moved.from, moved.t2),
        ];
    };
    let (entry, request) = (considered.entry, considered.request);
    let reception = |from| {
        let rate = detail.transfer_rate(from, entry.target)?;
        Some(request.bytes.as_f64() * rate)
    };
    let (there, here) = (reception(entry.target), reception(entry.own));
    let migration = request.migration.get();
    let arriving = |name, host, seconds: Seconds| Time {
        name,
        host: history.host(host),
        computation: there.map(|reception| rest(seconds.get(), reception + migration)),
        reception: there,
        migration: Some(migration),
        seconds: seconds.get(),
    };
    let staying = Time {
        name: "t2",
        host: history.host(considered.host),
        computation: here.map(|reception| rest(request.t2.get(), reception)),
        reception: here,
        migration: None,
        seconds: request.t2.get(),
    };
    match considered.answer {
        Answer::Offer {
            host,
            t1,
            runner_up,
        } => {
            let second = runner_up.map(|(host, time)| arriving("runner-up", host, time));
            let mut times = vec![arriving("t1", host, t1), staying];
            times.extend(second);
            times
        }
        Answer::Refuse(Refusal::NoFasterPlace { host, t1, .. }) => {
            vec![arriving("t1", host, t1), staying]
        }
        Answer::Refuse(Refusal::Idle | Refusal::NoProcessor) => vec![staying],
    }
}

/// The rest of a sum: zero where rounding leaves less than a billionth of it.
fn rest(sum: f64, part: f64) -> f64 {
    let rest = sum - part;
    if rest.abs() <= sum.abs() * 1e-9 {
        0.0
    } else {
        rest
    }
}

fn predicted(call: &Call, rank: Rank) -> Option<Predicted> {
    let mut considered = call.considered.iter();
    if let Some(considered) = considered.find(|considered| considered.entry.rank == rank) {
        let t1 = match considered.answer {
            Answer::Offer { t1, .. } | Answer::Refuse(Refusal::NoFasterPlace { t1, .. }) => t1,
            Answer::Refuse(Refusal::Idle | Refusal::NoProcessor) => return None,
        };
        let gain = (considered.request.t2 - t1).get();
        return Some(Predicted {
            first_seconds: Some(gain),
            later_seconds: gain + considered.request.migration.get(),
        });
    }
    let moved = call.migrations.iter().find(|moved| moved.rank == rank)?;
    Some(Predicted {
        first_seconds: None,
        later_seconds: (moved.t2 - moved.t1).get(),
    })
}

/// The outcome of the process in all calls, unless there was only one.
fn in_the_run(process: &ProcessReport, history: &History) -> Option<String> {
    let calls = history.calls.len();
    let name = &process.process;
    match &process.moved_after[..] {
        [_] => None,
        [] if calls == 1 => None,
        [] => {
            let dispositions = process.dispositions.iter();
            let dispositions = dispositions.map(|(disposition, number)| {
                let all = if *number == calls { "all " } else { "" };
                format!("in {all}{number} it {}", meaning(disposition, 1))
            });
            Some(format!(
                "{name} never moved in {}: {}. It came nearest to moving after superstep {}.",
                counted(calls, "call"),
                dispositions.collect::<Vec<_>>().join(", "),
                process.superstep
            ))
        }
        [first, later @ ..] => Some(format!(
            "{name} moved {} times; this is the first time, after superstep {first}. Later times: {}.",
            later.len() + 1,
            first_of(later.iter().map(u64::to_string))
        )),
    }
}

/// The rows around `position`, and the first row.
fn around(rows: Vec<Row>, position: Option<usize>) -> Vec<Row> {
    let position = position.unwrap_or_default();
    let near = |index: usize| index == 0 || position.abs_diff(index) <= NEIGHBOURS;
    let rows = rows.into_iter().enumerate();
    rows.filter(|(index, _)| near(*index))
        .map(|(_, row)| row)
        .collect()
}

/// Number of rows of the list shown on either side.
const NEIGHBOURS: usize = 3;
