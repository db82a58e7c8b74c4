//! The answer as JSON, as text and as a part of a page.

use std::collections::BTreeMap;

use bsp::numbers::position;
use experiments::{CallSummary, Published};
use record::{ResumedRun, ViewChange};
use serde::Serialize;

use crate::document::{Document, Part, Table};
use crate::explain::call::{ChoiceReport, Force, Forces, first_of};
use crate::explain::moves;
use crate::explain::moves::MoveReport;
use crate::explain::notes;
use crate::explain::process::Neighbour;
use crate::run::{Against, Balance, NoteReport, Payback, PaybackVerdict, RunCheckpoints, RunJoin};
use crate::text::{counted, maybe, rounded};

/// The answer to a question about a run.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The folder of the record.
    pub(super) record: String,
    /// `i`, `ii` or `iii`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    pub(super) scenario: String,
    /// Number of processes.
    pub(super) processes: usize,
    /// Number of supersteps of the run, without those before it if it resumes a job.
    pub(super) supersteps: u64,
    /// The checkpoint that the run resumes, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resumed: Option<ResumedRun>,
    /// The view of its job that the run is, if nodes of the view before are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) view: Option<ViewChange>,
    /// From the start to the last halt, or to the end of the last superstep if the run did not end.
    pub(super) seconds: f64,
    /// Whether the record has the whole run and its result.
    #[serde(rename = "complete")]
    pub(super) is_complete: bool,
    /// Names of the Sets.
    pub(super) sets: Vec<String>,
    /// The answer in words.
    pub(super) sentences: Vec<String>,
    /// The calls that the answer is about.
    pub(super) calls: Vec<CallReport>,
    /// The hosts that joined, or that were to join and did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) joins: Vec<RunJoin>,
    /// The checkpoints, if any became complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) checkpoints: Option<RunCheckpoints>,
    /// What processes noted, for a question about the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<NoteReport>,
    /// The folder of the record of scenario i that gains are compared with.
    pub(super) baseline: Option<String>,
    /// Total gain of all migrations, for a question about the run: in a simulation, if scenario i is known.
    pub(super) balance: Option<Balance>,
    /// The process in question, for a question about one.
    pub(super) process: Option<ProcessReport>,
    /// The list of the call: all of it, or the part around the process.
    pub(super) list: Vec<Row>,
    /// Potentials of the process for each Set, or of the head of the list.
    pub(crate) forces: Option<Forces>,
    /// Further commands.
    pub(super) next: Vec<String>,
}

/// The decisions of a call.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct CallReport {
    /// The call.
    #[serde(flatten)]
    pub(super) summary: CallSummary,
    /// Threshold of potentials, in seconds, if there is one.
    pub(super) threshold: Option<f64>,
    /// Number of processes that took part.
    pub(super) processes: usize,
    /// Number of candidates.
    pub(super) candidates: usize,
    /// Number of processes by disposition.
    pub(super) dispositions: BTreeMap<&'static str, usize>,
    /// Migrations.
    pub(super) moved: Vec<MoveReport>,
    /// Gain of the migrations.
    pub(super) payback: Option<Payback>,
    /// Costs and benefits, if the policy makes plans.
    pub(super) assessment: Option<AssessmentReport>,
}

/// Costs and benefits of a plan.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct AssessmentReport {
    /// Superstep time with the present placement.
    pub(super) present_seconds: f64,
    /// Superstep time with the planned placement.
    pub(super) planned_seconds: f64,
    /// Superstep time as measured since the last call, with the present placement.
    pub(super) measured_seconds: f64,
    /// Cost of the migrations.
    pub(super) cost_seconds: f64,
    /// Supersteps for which the plan is expected to stay valid.
    pub(super) horizon: f64,
    /// `admitted`, `unchanged` or `not-amortised`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["admitted", "unchanged", "not-amortised"])))]
    pub(super) verdict: &'static str,
    /// Supersteps for which not to try again, after `not-amortised`.
    pub(super) pause: Option<u64>,
    /// The plans that were compared.
    pub(super) alternatives: Vec<AlternativeReport>,
    /// The hosts that were compared for one process, by plans that choose one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) choice: Option<ChoiceReport>,
}

/// A plan that was considered.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct AlternativeReport {
    /// The algorithm that made it.
    pub(super) name: String,
    /// Superstep time with the plan.
    pub(super) superstep_seconds: f64,
    /// Cost of its migrations.
    pub(super) cost_seconds: f64,
    /// Number of processes that would move.
    pub(super) moves: u32,
    /// Whether it was compared with staying.
    pub(super) chosen: bool,
}

/// A row of the list of a call.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// From 1.
    pub(super) position: usize,
    /// As `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    pub(super) process: String,
    /// The Set in which it runs.
    pub(super) own: String,
    /// The Set it prefers.
    pub(super) target: String,
    /// Its potential for that Set, in seconds.
    pub(super) potential: f64,
    /// Its outcome.
    pub(super) disposition: &'static str,
    /// The outcome, in words.
    #[serde(skip)]
    pub(super) note: String,
}

/// A process in a call.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct ProcessReport {
    /// As `p21`.
    #[cfg_attr(feature = "schemas", schemars(pattern("^p[1-9][0-9]*$")))]
    pub(super) process: String,
    /// The call: the number of completed supersteps.
    pub(super) superstep: u64,
    /// Its host.
    pub(super) host: Option<String>,
    /// Its position in the list, from 1; `None`: it took no part.
    pub(super) position: Option<usize>,
    /// Its outcome.
    pub(super) disposition: Option<&'static str>,
    /// The Set for which its potential was highest.
    pub(super) target: Option<String>,
    /// That potential, in seconds.
    pub(super) potential: Option<f64>,
    /// Superstep times on other hosts, if they were compared.
    pub(super) times: Vec<Time>,
    /// Predicted saving, from `t1` and `t2`.
    pub(super) predicted: Option<Predicted>,
    /// Gain of the call's migrations, if the process moved.
    pub(super) payback: Option<Payback>,
    /// The processes that it exchanges messages with, where plans name hosts.
    pub(super) neighbours: Vec<Neighbour>,
    /// Processes that moved in the same call.
    #[cfg_attr(feature = "schemas", schemars(inner(pattern("^p[1-9][0-9]*$"))))]
    pub(super) moved_with: Vec<String>,
    /// Supersteps after which it moved in the whole run.
    pub(super) moved_after: Vec<u64>,
    /// Its outcomes in all calls.
    pub(super) dispositions: BTreeMap<&'static str, usize>,
}

/// Predicted superstep time on a host, in seconds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Time {
    /// `t1`, `t2` or `runner-up`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["t1", "t2", "runner-up"])))]
    pub(super) name: &'static str,
    /// The host.
    pub(super) host: String,
    /// `time(p)`, as far as it is recorded.
    pub(super) computation: Option<f64>,
    /// `B(i, j)·T`, as far as it is recorded.
    pub(super) reception: Option<f64>,
    /// `Mem(i, j)`, where it is included.
    pub(super) migration: Option<f64>,
    /// The sum.
    pub(super) seconds: f64,
}

/// Predicted saving of a migration, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Predicted {
    /// In the superstep after the migration, which pays for it; `None` where plans weigh costs separately.
    pub(super) first_seconds: Option<f64>,
    /// In every later one.
    pub(super) later_seconds: f64,
}

impl Explanation {
    /// The answer in words.
    pub(crate) fn sentences(&self) -> &[String] {
        &self.sentences
    }

    /// Costs and benefits of the plan of the only call, if the answer is about one whose policy makes plans.
    pub(super) fn assessment(&self) -> Option<&AssessmentReport> {
        match &self.calls[..] {
            [only] => only.assessment.as_ref(),
            _ => None,
        }
    }
}

impl Published for Explanation {
    const SCHEMA: &'static str = "migbsp.explain/1";
}

impl Explanation {
    /// First the answer in words, then the tables, then the forces, and what to see also.
    pub fn document(&self) -> Document {
        let mut document = Document::default();
        document.say(format!(
            "{}: scenario {}, {}, {} in {} s",
            self.record,
            self.scenario,
            counted(self.processes, "process"),
            counted(position(self.supersteps), "superstep"),
            rounded(self.seconds, 3)
        ));
        document.extend(self.findings(true));
        if !self.next.is_empty() {
            document.extend([Part::List("See also".to_owned(), self.next.clone())]);
        }
        document
    }

    /// The answer itself: its sentences, its tables and, if asked for, the potentials.
    pub(crate) fn findings(&self, has_figure: bool) -> Document {
        let mut document = Document::default();
        for sentence in &self.sentences {
            document.say(sentence);
        }
        document.extend(tables(self).into_iter().map(Part::Table));
        let forces = self.forces.as_ref().filter(|_| has_figure);
        let is_planned = self.assessment().is_some();
        document.extend(forces.map(|forces| Part::Figure(forces.figure(is_planned))));
        document
    }
}

/// All tables of an answer, in order.
fn tables(answer: &Explanation) -> Vec<Table> {
    let mut tables = Vec::new();
    let assessment = answer.assessment();
    if let Some(assessment) = assessment {
        tables.push(alternatives(assessment));
        tables.extend(assessment.choice.as_ref().map(ChoiceReport::table));
    }
    let call = answer.calls.first();
    if let Some(process) = &answer.process {
        tables.extend(answer.forces.as_ref().map(terms));
        tables.extend(list(&answer.list, call, false));
        tables.extend(times(process));
        tables.extend(gains(process));
        tables.extend(moved(answer, Some(&process.process)));
    } else if answer.list.is_empty() {
        tables.extend(calls(&answer.calls));
        tables.extend(notes::table(&answer.notes));
    } else {
        let is_planned = assessment.is_some() && answer.list.iter().any(is_moved);
        tables.extend(list(&answer.list, call, is_planned));
        tables.extend(moved(answer, None));
    }
    tables
}

/// The moves of the call, or that of one process.
fn moved(answer: &Explanation, process: Option<&str>) -> Option<Table> {
    let calls = answer.calls.iter();
    let moves = calls.flat_map(|call| &call.moved);
    let asked = moves.filter(|one| process.is_none_or(|process| one.process() == process));
    moves::table(&asked.collect::<Vec<_>>())
}

/// The calls of a run.
fn calls(calls: &[CallReport]) -> Option<Table> {
    if calls.is_empty() {
        return None;
    }
    let headers = [
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
            maybe(call.summary.interval, |interval| interval.to_string()),
            maybe(call.summary.tolerance, |tolerance| rounded(tolerance, 3)),
            if call.assessment.is_some() {
                String::new()
            } else {
                call.candidates.to_string()
            },
            first_of(moved),
            maybe(payback, gained),
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
    let caption = format!(
        "Calls (cost in seconds; saving per superstep{against}, in seconds; supersteps until the savings paid for the call)"
    );
    let table = Table::new(headers, rows).captioned(caption);
    Some(table.dispensing(&[4, 3, 2, 1]).followed(left_out))
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
fn terms(forces: &Forces) -> Table {
    let caption = "PM = Comp + Comm − Mem, with Comp = P_comp · CTP · ISet and Comm = P_comm · BTP (times in seconds)";
    let role = |force: &&Force| match (force.is_own, force.is_target) {
        (true, true) => "own, preferred".to_owned(),
        (true, false) => "own".to_owned(),
        (false, true) => "preferred".to_owned(),
        (false, false) => String::new(),
    };
    let table = Table::of(
        &forces.sets,
        &[
            ("Set", &|force| force.set.clone()),
            ("P_comp", &|force| {
                rounded(force.terms.pattern_computation, 2)
            }),
            ("CTP", &|force| {
                rounded(force.terms.prediction_computation, 4)
            }),
            ("ISet", &|force| rounded(force.terms.set_index, 3)),
            ("Comp", &|force| rounded(force.terms.computation, 4)),
            ("P_comm", &|force| {
                rounded(force.terms.pattern_communication, 2)
            }),
            ("BTP", &|force| {
                rounded(force.terms.prediction_communication, 4)
            }),
            ("Comm", &|force| rounded(force.terms.communication, 4)),
            ("Mem", &|force| rounded(force.terms.migration, 4)),
            ("PM", &|force| rounded(force.terms.potential, 4)),
            ("", &role),
        ],
    );
    table
        .captioned(caption)
        .dispensing(&[6, 3, 2, 5, 1, 8, 7, 4])
}

fn is_moved(row: &Row) -> bool {
    row.disposition == "moved"
}

/// Rows of the list of a call, abridged; if a plan decided, the processes that it moves come first.
fn list(rows: &[Row], call: Option<&CallReport>, is_planned: bool) -> Option<Table> {
    if rows.is_empty() {
        return None;
    }
    let mut rows: Vec<&Row> = rows.iter().collect();
    if is_planned {
        rows.sort_by_key(|row| !is_moved(row));
    }
    let threshold = call.and_then(|call| call.threshold);
    let threshold = maybe(threshold, |threshold| {
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
    let headers = ["#", "process", "in", "prefers", "PM", "outcome"];
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
    let caption = format!(
        "The list of {}{order} (PM in seconds{threshold})",
        counted(all, "process")
    );
    let rest = match left_out {
        0 => String::new(),
        more => format!(" … {more} more; --format json and csv show all of them"),
    };
    let table = Table::new(headers, shown).captioned(caption);
    Some(table.dispensing(&[2, 3, 0]).followed(rest))
}

/// What supersteps would take on other hosts.
fn times(process: &ProcessReport) -> Option<Table> {
    if process.times.is_empty() {
        return None;
    }
    let negotiated = process.times.iter().any(|time| time.computation.is_some());
    if !negotiated {
        let caption = "Predicted superstep time on the target, as planned (t1), and on the present host (t2), in seconds";
        let table = Table::of(
            &process.times,
            &[
                ("", &|time| time.name.to_owned()),
                ("host", &|time| time.host.clone()),
                ("seconds", &|time| rounded(time.seconds, 4)),
            ],
        );
        return Some(table.captioned(caption));
    }
    let caption = "Predicted superstep time on the target (t1, own work not counted) and on the present host (t2), in \
                   seconds";
    let part = |part: Option<f64>| maybe(part, |part| rounded(part, 4));
    let table = Table::of(
        &process.times,
        &[
            ("", &|time| time.name.to_owned()),
            ("host", &|time| time.host.clone()),
            ("time(p)", &|time| part(time.computation)),
            ("B·T", &|time| part(time.reception)),
            ("Mem", &|time| part(time.migration)),
            ("sum", &|time| rounded(time.seconds, 4)),
        ],
    );
    Some(table.captioned(caption).dispensing(&[4, 3, 2]))
}

/// What a process gained, as predicted and as measured.
fn gains(process: &ProcessReport) -> Option<Table> {
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
    (!rows.is_empty()).then(|| Table::new(["gain", "seconds", ""], rows).captioned("Gain"))
}

/// The plans that were compared.
fn alternatives(assessment: &AssessmentReport) -> Table {
    let headers = ["plan", "superstep", "cost", "moves", ""];
    let mut rows = vec![vec![
        "stay".to_owned(),
        rounded(assessment.present_seconds, 4),
        rounded(0.0, 4),
        "0".to_owned(),
        format!("measured {}", rounded(assessment.measured_seconds, 4)),
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
    let table = Table::new(headers, rows).captioned("Plans that were compared (seconds)");
    table.dispensing(&[2])
}

/// Number of rows of a list that are shown.
const ROWS: usize = 20;

/// A call in one line: when it was, what it moved, what that took and whether it paid.
pub(crate) fn call_line(answer: &Explanation) -> String {
    let Some(call) = answer.calls.first() else {
        return String::new();
    };
    let mut parts = vec![format!("After superstep {}", call.summary.superstep)];
    parts.push(moves_in_words(call));
    parts.push(format!("cost {} s", rounded(call.summary.cost_seconds, 4)));
    if let Some(payback) = &call.payback {
        parts.push(format!("{} s per superstep", gained(payback)));
        parts.push(format!("paid after: {}", paid(payback)));
    }
    parts.join(" · ")
}

fn moves_in_words(call: &CallReport) -> String {
    match &call.moved[..] {
        [] => "no move".to_owned(),
        several => counted(several.len(), "move"),
    }
}
