//! The tables of answers.

use crate::explain::against::Against;
use crate::explain::call::first_of;
use crate::explain::choice::ChoiceReport;
use crate::explain::forces::Forces;
use crate::explain::moves;
use crate::explain::payback::{Payback, PaybackVerdict};
use crate::explain::report::{AssessmentReport, CallReport, Explanation, ProcessReport, Row};
use crate::explain::sheet::Sheet;
use crate::text::{Layout, counted, rounded};

/// All tables of an answer, in order.
pub(super) fn sheets(answer: &Explanation, layout: Layout) -> Vec<Sheet> {
    let mut sheets = Vec::new();
    let assessment = answer.assessment();
    if let Some(assessment) = assessment {
        sheets.push(alternatives(assessment));
        sheets.extend(assessment.choice.as_ref().map(ChoiceReport::sheet));
    }
    let call = answer.calls.first();
    if let Some(process) = &answer.process {
        sheets.extend(answer.forces.as_ref().map(terms));
        sheets.extend(list(&answer.list, call, false));
        sheets.extend(times(process));
        sheets.extend(gains(process));
        sheets.extend(moved(answer, Some(&process.process), layout));
    } else if answer.list.is_empty() {
        sheets.extend(calls(&answer.calls));
    } else {
        let is_planned = assessment.is_some() && answer.list.iter().any(is_moved);
        sheets.extend(list(&answer.list, call, is_planned));
        sheets.extend(moved(answer, None, layout));
    }
    sheets
}

/// The moves of the call, or that of one process.
fn moved(answer: &Explanation, process: Option<&str>, layout: Layout) -> Option<Sheet> {
    let calls = answer.calls.iter();
    let moves = calls.flat_map(|call| &call.moved);
    let asked = moves.filter(|one| process.is_none_or(|process| one.process() == process));
    moves::sheet(&asked.collect::<Vec<_>>(), layout)
}

/// The calls of a run.
fn calls(calls: &[CallReport]) -> Option<Sheet> {
    if calls.is_empty() {
        return None;
    }
    let headers = vec![
        "after",
        "cost",
        "interval",
        "tolerance",
        "candidates",
        "moved",
        "per superstep",
        "paid after",
    ];
    let is_quiet = |index: usize| calls.get(index).is_some_and(|call| call.moved.is_empty());
    // Of consecutive calls without migrations, the first and the last are shown.
    let is_left_out = |index: &usize| (index.saturating_sub(1)..=index + 1).all(is_quiet);
    let left_out = (1..calls.len()).filter(is_left_out).count();
    let kept = |index: &usize| *index == 0 || !is_left_out(index);
    let rows = (0..calls.len()).filter(kept).map(|index| {
        let call = &calls[index];
        let moved = call.moved.iter().map(|moved| moved.process().to_owned());
        let payback = call.payback.as_ref();
        vec![
            call.summary.superstep.to_string(),
            rounded(call.summary.cost_seconds, 4),
            call.summary
                .interval
                .map_or_else(String::new, |interval| interval.to_string()),
            call.summary
                .tolerance
                .map_or_else(String::new, |tolerance| rounded(tolerance, 3)),
            if call.assessment.is_some() {
                String::new()
            } else {
                call.candidates.to_string()
            },
            first_of(moved),
            payback.map_or_else(String::new, gained),
            match payback {
                Some(payback) => paid(payback),
                None if call.moved.is_empty() => String::new(),
                None => UNKNOWN.to_owned(),
            },
        ]
    });
    let left_out = match left_out {
        0 => String::new(),
        more => format!(
            " {} without migrations left out; --format json shows all",
            counted(more, "call")
        ),
    };
    let paybacks = calls.iter().filter_map(|call| call.payback.as_ref());
    let against = match paybacks.map(|payback| payback.against).next() {
        Some(Against::ScenarioI) => " compared with scenario i",
        Some(Against::Before) => {
            " compared with before it, a gain only if supersteps had stayed as before"
        }
        None => "",
    };
    Some(Sheet {
        caption: format!(
            "Calls (cost in seconds; saving per superstep{against}, in seconds; supersteps until the savings paid for the call)"
        ),
        headers,
        rows: rows.collect(),
        dispensable: &[4, 3, 2, 1],
        rest: left_out,
    })
}

/// The saving per superstep; values below a hundred thousandth of a superstep are zero.
pub(super) fn gained(payback: &Payback) -> String {
    let gain = payback.gain();
    if gain.abs() < payback.otherwise_seconds * 1e-5 {
        return rounded(0.0, 4);
    }
    let number = rounded(gain, 4);
    if gain < 0.0 {
        number
    } else {
        format!("+{number}")
    }
}

/// After how many supersteps savings had paid for the call.
pub(super) fn paid(payback: &Payback) -> String {
    if payback.verdict == PaybackVerdict::Unknown {
        return UNKNOWN.to_owned();
    }
    match (payback.paid_after, payback.next_move) {
        (Some(number), _) => counted(number, "superstep"),
        (None, Some(superstep)) => format!("not before {superstep}"),
        (None, None) if payback.saved_seconds <= 0.0 => "never".to_owned(),
        (None, None) => "not before the end".to_owned(),
    }
}

/// What is said of moves without a verdict.
const UNKNOWN: &str = "cannot be told";

/// Each term of PM for every Set.
fn terms(forces: &Forces) -> Sheet {
    let headers = vec![
        "Set", "P_comp", "CTP", "ISet", "Comp", "P_comm", "BTP", "Comm", "Mem", "PM", "",
    ];
    let rows = forces.sets.iter().map(|force| {
        let role = match (force.is_own, force.is_target) {
            (true, true) => "own, preferred",
            (true, false) => "own",
            (false, true) => "preferred",
            (false, false) => "",
        };
        vec![
            force.set.clone(),
            rounded(force.terms.pattern_computation, 2),
            rounded(force.terms.prediction_computation, 4),
            rounded(force.terms.set_index, 3),
            rounded(force.terms.computation, 4),
            rounded(force.terms.pattern_communication, 2),
            rounded(force.terms.prediction_communication, 4),
            rounded(force.terms.communication, 4),
            rounded(force.terms.migration, 4),
            rounded(force.terms.potential, 4),
            role.to_owned(),
        ]
    });
    Sheet {
        caption: "PM = Comp + Comm − Mem, with Comp = P_comp · CTP · ISet and Comm = P_comm · BTP (times in seconds)"
            .to_owned(),
        headers,
        rows: rows.collect(),
        dispensable: &[6, 3, 2, 5, 1, 8, 7, 4],
        rest: String::new(),
    }
}

fn is_moved(row: &Row) -> bool {
    row.disposition == "moved"
}

/// Rows of the list of a call, abridged; if a plan decided, the processes that it moves come first.
fn list(rows: &[Row], call: Option<&CallReport>, is_planned: bool) -> Option<Sheet> {
    if rows.is_empty() {
        return None;
    }
    let mut rows: Vec<&Row> = rows.iter().collect();
    if is_planned {
        rows.sort_by_key(|row| !is_moved(row));
    }
    let threshold = call.and_then(|call| call.threshold);
    let threshold = threshold.map_or_else(String::new, |threshold| {
        format!("; threshold {} s", rounded(threshold, 4))
    });
    let mut shown = Vec::new();
    let mut last = 0;
    for row in rows.iter().take(ROWS) {
        if last + 1 < row.position && !is_planned {
            let mut gap = vec![String::new(); 6];
            "…".clone_into(&mut gap[1]);
            shown.push(gap);
        }
        last = row.position;
        shown.push(vec![
            row.position.to_string(),
            row.process.clone(),
            row.own.clone(),
            row.target.clone(),
            rounded(row.potential, 4),
            row.note.clone(),
        ]);
    }
    let all = call.map_or(rows.len(), |call| call.processes);
    let headers = vec!["#", "process", "in", "prefers", "PM", "outcome"];
    let left_out = if is_planned {
        all - shown.len()
    } else {
        all - last
    };
    let order = if is_planned {
        ", processes that the plan moves first; the plan does not follow PM"
    } else {
        ""
    };
    Some(Sheet {
        caption: format!(
            "The list of {}{order} (PM in seconds{threshold})",
            counted(all, "process")
        ),
        headers,
        rows: shown,
        dispensable: &[2, 3, 0],
        rest: if 0 < left_out {
            format!(" … {left_out} more; --format json and csv show all of them")
        } else {
            String::new()
        },
    })
}

/// What supersteps would take on other hosts.
fn times(process: &ProcessReport) -> Option<Sheet> {
    if process.times.is_empty() {
        return None;
    }
    let negotiated = process.times.iter().any(|time| time.computation.is_some());
    if !negotiated {
        let rows = process.times.iter().map(|time| {
            vec![
                time.name.to_owned(),
                time.host.clone(),
                rounded(time.seconds, 4),
            ]
        });
        return Some(Sheet {
            caption: "Predicted superstep time on the target, as planned (t1), and on the present host (t2), in seconds"
                .to_owned(),
            headers: vec!["", "host", "seconds"],
            rows: rows.collect(),
            ..Sheet::default()
        });
    }
    let headers = vec!["", "host", "time(p)", "B·T", "Mem", "sum"];
    let part = |part: Option<f64>| part.map_or_else(String::new, |part| rounded(part, 4));
    let rows = process.times.iter().map(|time| {
        vec![
            time.name.to_owned(),
            time.host.clone(),
            part(time.computation),
            part(time.reception),
            part(time.migration),
            rounded(time.seconds, 4),
        ]
    });
    Some(Sheet {
        caption: "Predicted superstep time on the target (t1, own work not counted) and on the present host (t2), in seconds"
            .to_owned(),
        headers,
        rows: rows.collect(),
        dispensable: &[4, 3, 2],
        rest: String::new(),
    })
}

/// What a process gained, as predicted and as measured.
fn gains(process: &ProcessReport) -> Option<Sheet> {
    let mut rows = Vec::new();
    if let Some(predicted) = process.predicted {
        if let Some(first) = predicted.first_seconds {
            let why = "t2 − t1, Mem counted".to_owned();
            rows.push(vec![
                "predicted, first superstep".to_owned(),
                rounded(first, 4),
                why,
            ]);
        }
        let why = "t2 − t1, Mem not counted".to_owned();
        let later = rounded(predicted.later_seconds, 4);
        rows.push(vec!["predicted, later supersteps".to_owned(), later, why]);
    }
    if let Some(payback) = &process.payback {
        let otherwise = match payback.against {
            Against::ScenarioI => "without the call, from scenario i",
            Against::Before => "before, if supersteps had stayed so",
        };
        let why = format!(
            "{} {otherwise}; {} after",
            rounded(payback.otherwise_seconds, 4),
            rounded(payback.after_seconds, 4)
        );
        let measured = if payback.is_measured {
            "measured, median until the next move"
        } else {
            "measured, mean until the next call"
        };
        rows.push(vec![measured.to_owned(), gained(payback), why]);
        let until = match payback.next_move {
            Some(_) => "until the next move",
            None => "until the end",
        };
        let until = format!("in {}, {until}", counted(payback.supersteps, "superstep"));
        rows.push(vec![
            "measured, total".to_owned(),
            rounded(payback.saved_seconds, 4),
            until,
        ]);
        rows.push(vec![
            "cost of the call".to_owned(),
            rounded(payback.cost_seconds, 4),
            String::new(),
        ]);
    }
    (!rows.is_empty()).then(|| Sheet {
        caption: "Gain".to_owned(),
        headers: vec!["gain", "seconds", ""],
        rows,
        ..Sheet::default()
    })
}

/// The plans that were compared.
fn alternatives(assessment: &AssessmentReport) -> Sheet {
    let headers = vec!["plan", "superstep", "cost", "moves", ""];
    let mut rows = vec![vec![
        "stay".to_owned(),
        rounded(assessment.present_seconds, 4),
        rounded(0.0, 4),
        "0".to_owned(),
        measured(assessment),
    ]];
    let chosen = match assessment.verdict {
        "admitted" => "chosen",
        _ => "best",
    };
    rows.extend(assessment.alternatives.iter().map(|plan| {
        vec![
            plan.name.clone(),
            rounded(plan.superstep_seconds, 4),
            rounded(plan.cost_seconds, 4),
            plan.moves.to_string(),
            if plan.chosen { chosen } else { "" }.to_owned(),
        ]
    }));
    Sheet {
        caption: "Plans that were compared (seconds)".to_owned(),
        headers,
        rows,
        dispensable: &[2],
        rest: String::new(),
    }
}

/// What supersteps took in the present placement; records of earlier versions do not say it.
fn measured(assessment: &AssessmentReport) -> String {
    if assessment.measured_seconds <= 0.0 {
        return String::new();
    }
    format!("measured {}", rounded(assessment.measured_seconds, 4))
}

/// Number of rows of a list that are shown.
const ROWS: usize = 20;
