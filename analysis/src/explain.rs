//! `migbsp explain`: why processes moved or stayed, and what migrations gained, from a record.

mod call;
mod moves;
mod notes;
mod process;
mod report;
mod run;

use std::collections::BTreeMap;
use std::path::Path;

use bsp::{HostId, Rank, SetId};
use experiments::{CsvTable, Failure, Provenance, Published};
use model::Potential;
use record::{Evaluation, Run};

use crate::document::{Columns, push};
use crate::explain::call::Terms;
use crate::live::view_sentence;
use crate::run::{Detail, Disposition, KeptFindings, PaybackVerdict, RunModel, Scope, head};
use crate::sentences;

pub use report::Explanation;

pub(crate) use moves::MoveReport;
pub(crate) use report::call_line;
pub(crate) use run::verdict;

/// What the moves of a call saved until the next moves, or until the end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SettledCall {
    /// The number of supersteps before it.
    pub(crate) superstep: u64,
    /// What its moves saved, less what it cost, in seconds.
    pub(crate) net_seconds: f64,
}

/// The calls that moved processes and whose gain can be told: in a simulation, compared with scenario i beside the record;
/// `None` without that: other changes of the load would count as savings.
pub(crate) fn settled_calls(model: &RunModel) -> Option<Vec<SettledCall>> {
    if model.baseline.is_none() && !model.rules.is_measured {
        return None;
    }
    let settled = model.calls.iter().filter_map(|call| {
        let payback = call.payback?;
        if payback.verdict == PaybackVerdict::Unknown {
            return None;
        }
        Some(SettledCall {
            superstep: call.summary.superstep,
            net_seconds: payback.saved_seconds - payback.cost_seconds,
        })
    });
    Some(settled.collect())
}

/// A question about a record, with all that is needed to answer it.
#[derive(Debug)]
pub struct Inquiry {
    model: RunModel,
    question: Question,
    rank: Option<Rank>,
    superstep: Option<u64>,
}

impl Inquiry {
    /// Why `process` moved or stayed in the call after `superstep` of the record in `folder`; without a
    /// process, what was decided in that call; without either, what happened in the run. Gains are compared with
    /// the record of scenario i in `against`, or in the folder `i` beside `folder`. `has_chart`: [`Self::svg`] is asked for.
    ///
    /// # Errors
    ///
    /// If there is no such record, process or call.
    pub fn new(
        folder: &Path,
        against: Option<&Path>,
        (process, superstep): (Option<&str>, Option<u64>),
        has_chart: bool,
    ) -> Result<Self, Failure> {
        let rank = named_rank(process, &head(folder)?)?;
        let scope = Scope {
            rank,
            findings: match (rank, superstep) {
                (_, Some(superstep)) => KeptFindings::After(superstep),
                (Some(_), None) => KeptFindings::Nearest,
                (None, None) => KeptFindings::None,
            },
            has_pictures: has_chart,
        };
        let model = RunModel::read(folder, against, scope)?;
        let question = Question::new(&model, rank, superstep)?;
        Ok(Self {
            model,
            question,
            rank,
            superstep,
        })
    }

    /// The answer, with further commands of `program`.
    pub fn answer(&self, program: &str) -> Explanation {
        let mut answer = answer_to(&self.model, self.question);
        for command in &mut answer.next {
            command.insert_str(0, &format!("{program} "));
        }
        answer
    }

    /// The rows behind the answer.
    ///
    /// # Errors
    ///
    /// If the record is not readable any more.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let columns: &Columns<'_, '_, CsvRow> = &[
            ("superstep", &|row| row.superstep.into()),
            ("process", &|row| row.rank.to_string().into()),
            ("host", &|row| self.model.host(row.host).into()),
            ("set", &|row| self.model.set(row.set).into()),
            ("pattern_computation", &|row| {
                row.terms.pattern_computation.into()
            }),
            ("prediction_computation", &|row| {
                row.terms.prediction_computation.into()
            }),
            ("set_index", &|row| row.terms.set_index.into()),
            ("computation", &|row| row.terms.computation.into()),
            ("pattern_communication", &|row| {
                row.terms.pattern_communication.into()
            }),
            ("prediction_communication", &|row| {
                row.terms.prediction_communication.into()
            }),
            ("communication", &|row| row.terms.communication.into()),
            ("migration", &|row| row.terms.migration.into()),
            ("potential", &|row| row.terms.potential.into()),
            ("position", &|row| {
                row.place.map(|(position, _)| position).into()
            }),
            ("target", &|row| {
                row.place.map(|(_, target)| self.model.set(target)).into()
            }),
            ("disposition", &|row| row.disposition.into()),
        ];
        let header = columns.iter().map(|(name, _)| *name);
        let mut table = CsvTable::with_header(Explanation::SCHEMA, provenance, header)?;
        let mut written = Ok(());
        let is_asked = |called| self.superstep.is_none_or(|superstep| superstep == called);
        self.model.details(is_asked, |detail| {
            for row in rows_of(&self.model, detail, self.rank) {
                if written.is_ok() {
                    written = push(&mut table, columns, &row);
                }
            }
        })?;
        written?;
        table.text()
    }

    /// What is known of the run.
    pub(crate) const fn model(&self) -> &RunModel {
        &self.model
    }
}

/// The subject of a question: the whole run, a call, or a process in a call.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// The whole run.
    Run,
    /// The decisions of this call, by position.
    Call(usize),
    /// Why a process moved or stayed.
    Process {
        /// The process.
        rank: Rank,
        /// The call, by position; `None`: no call was held.
        call: Option<usize>,
        /// Whether the user named the call.
        is_named: bool,
    },
}

impl Question {
    /// The question that `rank` and `superstep` ask about `model`, which was read for them.
    ///
    /// # Errors
    ///
    /// If no call was held after `superstep`.
    fn new(model: &RunModel, rank: Option<Rank>, superstep: Option<u64>) -> Result<Self, Failure> {
        let named = superstep.map(|superstep| call_after(model, superstep));
        let named = named.transpose()?;
        Ok(match (rank, named) {
            (None, None) => Self::Run,
            (None, Some(call)) => Self::Call(call),
            (Some(rank), Some(call)) => Self::Process {
                rank,
                call: Some(call),
                is_named: true,
            },
            (Some(rank), None) => {
                let nearest = model.kept().map(|detail| detail.call.superstep);
                let call = nearest.map(|superstep| call_after(model, superstep));
                Self::Process {
                    rank,
                    call: call.transpose()?,
                    is_named: false,
                }
            }
        })
    }
}

/// The rank of the process `name`.
///
/// # Errors
///
/// If there is no such process.
fn named_rank(name: Option<&str>, run: &Run) -> Result<Option<Rank>, Failure> {
    let processes = u32::try_from(run.placement.len()).unwrap_or(u32::MAX);
    let rank = name.map(|name| experiments::rank(name, processes));
    let usage = |problem| Failure::Usage(format!("--process: {problem}"));
    rank.transpose().map_err(usage)
}

fn call_after(model: &RunModel, superstep: u64) -> Result<usize, Failure> {
    let calls = &model.calls;
    calls
        .binary_search_by_key(&superstep, |call| call.summary.superstep)
        .map_err(|next| {
            let before = next.checked_sub(1).and_then(|before| calls.get(before));
            let held = match (before, calls.get(next)) {
                (Some(before), Some(after)) => format!(
                    "the nearest are after {} and {}",
                    before.summary.superstep, after.summary.superstep
                ),
                (Some(last), None) => format!("the last one is after {}", last.summary.superstep),
                (None, Some(first)) => {
                    format!("the first one is after {}", first.summary.superstep)
                }
                (None, None) => format!(
                    "there is none in the {} supersteps of this run",
                    model.end.supersteps
                ),
            };
            Failure::Usage(format!(
                "--superstep: no call was held after superstep {superstep}; {held}"
            ))
        })
}

/// The answer to `question` about `model`, which was read for it.
fn answer_to(model: &RunModel, question: Question) -> Explanation {
    let mut answer = blank(model);
    match (question, model.kept()) {
        (Question::Call(index), Some(detail)) => call::explain(&mut answer, model, index, detail),
        (
            Question::Process {
                rank,
                call: Some(index),
                is_named,
            },
            Some(detail),
        ) => process::explain(&mut answer, model, (rank, index, is_named), detail),
        (Question::Process { rank, .. }, _) => answer.sentences.push(format!(
            "{rank} stayed on {}: no call was held in the {} supersteps of this run.",
            model.run.placement[rank.index()],
            model.end.supersteps
        )),
        _ => answer = about_run(model),
    }
    answer
}

/// The answer about the whole run.
pub(crate) fn about_run(model: &RunModel) -> Explanation {
    let mut answer = blank(model);
    run::explain(&mut answer, model);
    answer
}

/// The answers about a call, and about processes that moved in it.
#[derive(Debug)]
pub(crate) struct CallAnswers {
    /// The position of the call among all.
    pub(crate) index: usize,
    /// The answer about the call.
    pub(crate) call: Explanation,
    /// The answers about processes that moved, in the order of the call.
    pub(crate) processes: Vec<Explanation>,
}

/// Answers about several calls in one pass over the record: `wanted` has the position of each of them, with the number
/// of processes to explain of those that moved.
///
/// # Errors
///
/// If the record is no longer readable.
pub(crate) fn answers(
    model: &RunModel,
    wanted: &BTreeMap<usize, usize>,
    mut visit: impl FnMut(CallAnswers),
) -> Result<(), Failure> {
    let places = wanted.iter().map(|(index, processes)| {
        let superstep = model.calls[*index].summary.superstep;
        (superstep, (*index, *processes))
    });
    let places: BTreeMap<u64, (usize, usize)> = places.collect();
    model.details(
        |superstep| places.contains_key(&superstep),
        |detail| {
            let Some((index, processes)) = places.get(&detail.call.superstep) else {
                return;
            };
            visit(answers_about(model, (*index, *processes), detail));
        },
    )
}

fn answers_about(
    model: &RunModel,
    (index, processes): (usize, usize),
    detail: &Detail,
) -> CallAnswers {
    let mut call = blank_in_run(model);
    call::explain(&mut call, model, index, detail);
    let moved = detail.call.migrations.iter().take(processes);
    let explained = moved.map(|moved| {
        let mut answer = blank_in_run(model);
        process::explain(&mut answer, model, (moved.rank, index, true), detail);
        answer
    });
    let processes = explained.collect();
    CallAnswers {
        index,
        call,
        processes,
    }
}

/// An answer that says what is said of every run, before anything else.
fn blank(model: &RunModel) -> Explanation {
    let run = &model.run;
    let beginning = match (&run.view, &run.resumed) {
        (Some(view), _) => Some(format!("{}.", view_sentence(view, run.hosts.len()))),
        (None, resumed) => resumed.as_ref().map(sentences::resumed),
    };
    let shortfall = model.shortfall();
    Explanation {
        sentences: beginning.into_iter().chain(shortfall).collect(),
        joins: model.joins.clone(),
        ..blank_in_run(model)
    }
}

/// An answer that says nothing, beside others about the same run.
fn blank_in_run(model: &RunModel) -> Explanation {
    Explanation {
        record: model.folder.display().to_string(),
        scenario: model.run.scenario.clone(),
        processes: model.run.placement.len(),
        supersteps: model.end.supersteps,
        resumed: model.run.resumed.clone(),
        view: model.run.view.clone(),
        seconds: model.end.seconds.get(),
        sets: model.run.sets.clone(),
        is_complete: model.end.extent.is_complete,
        checkpoints: model.checkpoints,
        baseline: model
            .baseline
            .as_ref()
            .map(|baseline| baseline.folder.display().to_string()),
        ..Explanation::default()
    }
}

/// The potential of a process for a Set in a call; times in seconds.
struct CsvRow {
    superstep: u64,
    rank: Rank,
    host: HostId,
    set: SetId,
    terms: Terms,
    /// Its position in the list, and its target.
    place: Option<(usize, SetId)>,
    disposition: Option<&'static str>,
}

/// The rows of one call, in rank order.
fn rows_of(model: &RunModel, detail: &Detail, rank: Option<Rank>) -> Vec<CsvRow> {
    let dispositions = Disposition::all(&detail.call, &model.rules);
    let list = (1..).zip(&detail.call.list);
    let places: BTreeMap<Rank, (usize, SetId)> = list
        .map(|(position, entry)| (entry.rank, (position, entry.target)))
        .collect();
    let all = detail.evaluated.iter().flat_map(|found| &found.processes);
    let mut asked: Vec<&Evaluation> = all
        .filter(|evaluation| rank.is_none_or(|rank| rank == evaluation.rank))
        .collect();
    asked.sort_by_key(|evaluation| evaluation.rank);
    let row = |evaluation: &Evaluation, potential: &Potential| CsvRow {
        superstep: detail.call.superstep,
        rank: evaluation.rank,
        host: evaluation.host,
        set: potential.set,
        terms: Terms::new(potential),
        place: places.get(&evaluation.rank).copied(),
        disposition: dispositions.get(&evaluation.rank).map(Disposition::name),
    };
    let row = &row;
    let rows = asked.into_iter().flat_map(|evaluation| {
        let potentials = evaluation.potentials.iter();
        potentials.map(move |potential| row(evaluation, potential))
    });
    rows.collect()
}
