//! `migbsp explain`: why processes moved or stayed, and what migrations gained, from a record.

mod call;
mod history;
mod moves;
mod notes;
mod payback;
mod process;
mod report;
mod run;

use std::collections::BTreeMap;
use std::path::Path;

use bsp::{HostId, Rank, SetId};
use experiments::{CsvTable, Failure, Provenance, Published};
use model::Potential;
use record::{Evaluation, Run};

use crate::explain::call::Terms;
use crate::explain::history::ListedProcess;
use crate::explain::payback::{Payback, PaybackVerdict};
use crate::live::view_sentence;
use crate::sentences;
use crate::text::{Columns, push};

pub use report::{Explanation, text};

pub(crate) use call::Disposition;
pub(crate) use history::{
    Detail, ExplainedCall, Findings, History, Reading, Rules, SuperstepTimes, first_difference,
};
pub(crate) use moves::MoveReport;
pub(crate) use payback::Balance;
pub(crate) use report::{Sheet, answer_page, call_line, table};
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
pub(crate) fn settled_calls(history: &History) -> Option<Vec<SettledCall>> {
    if history.baseline.is_none() && !history.rules.is_measured {
        return None;
    }
    let calls = history.calls.iter().enumerate();
    let settled = calls.filter_map(|(index, call)| {
        let payback = Payback::of(history, index)?;
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
    history: History,
    question: Question,
    rank: Option<Rank>,
    superstep: Option<u64>,
}

impl Inquiry {
    /// Why `process` moved or stayed in the call after `superstep` of the record in `folder`; without a
    /// process, what was decided in that call; without either, what happened in the run. Gains are compared with
    /// the record of scenario i in `against`, or in the folder `i` beside `folder`.
    ///
    /// # Errors
    ///
    /// If there is no such record, process or call.
    pub fn new(
        folder: &Path,
        against: Option<&Path>,
        process: Option<&str>,
        superstep: Option<u64>,
    ) -> Result<Self, Failure> {
        let run = history::head(folder)?;
        let rank = named_rank(process, &run)?;
        let history = history::read(folder, against, rank)?;
        let question = Question::new(&history, rank, superstep)?;
        Ok(Self {
            history,
            question,
            rank,
            superstep,
        })
    }

    /// The answer, with further commands of `program`.
    ///
    /// # Errors
    ///
    /// If the record is not readable any more.
    pub fn answer(&self, program: &str) -> Result<Explanation, Failure> {
        let mut answer = answer_to(&self.history, &self.question)?;
        for command in &mut answer.next {
            command.insert_str(0, &format!("{program} "));
        }
        Ok(answer)
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
            ("host", &|row| self.history.host(row.host).into()),
            ("set", &|row| self.history.set(row.set).into()),
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
                row.place.map(|(_, target)| self.history.set(target)).into()
            }),
            ("disposition", &|row| row.disposition.into()),
        ];
        let header = columns.iter().map(|(name, _)| *name);
        let mut table = CsvTable::with_header(Explanation::SCHEMA, provenance, header)?;
        let mut written = Ok(());
        let is_asked = |called| self.superstep.is_none_or(|superstep| superstep == called);
        self.history.details(is_asked, |detail| {
            for row in rows_of(&self.history, detail, self.rank) {
                if written.is_ok() {
                    written = push(&mut table, columns, &row);
                }
            }
        })?;
        written?;
        table.text()
    }

    /// What is known of the run.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }
}

/// The subject of a question: the whole run, a call, or a process in a call.
#[derive(Debug)]
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
    /// The question that `rank` and `superstep` ask about `history`, which was read for `rank`.
    ///
    /// # Errors
    ///
    /// If no call was held after `superstep`, or the record is no longer readable.
    fn new(history: &History, rank: Option<Rank>, superstep: Option<u64>) -> Result<Self, Failure> {
        let named = superstep.map(|superstep| call_after(history, superstep));
        let named = named.transpose()?;
        Ok(match (rank, named) {
            (None, None) => Self::Run,
            (None, Some(call)) => Self::Call(call),
            (Some(rank), Some(call)) => Self::Process {
                rank,
                call: Some(call),
                is_named: true,
            },
            (Some(rank), None) => Self::Process {
                rank,
                call: nearest_to_moving(history, rank)?,
                is_named: false,
            },
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

fn call_after(history: &History, superstep: u64) -> Result<usize, Failure> {
    let calls = &history.calls;
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
                    history.end.supersteps
                ),
            };
            Failure::Usage(format!(
                "--superstep: no call was held after superstep {superstep}; {held}"
            ))
        })
}

/// The first call in which the process moved; otherwise the one in which it came nearest to moving and its
/// potential for another Set was highest.
fn nearest_to_moving(history: &History, rank: Rank) -> Result<Option<usize>, Failure> {
    let calls = &history.calls;
    let asked = || {
        let calls = calls.iter().enumerate();
        calls.filter_map(|(index, call)| Some((index, call.asked.as_ref()?)))
    };
    let Some(nearness) = asked()
        .map(|(_, process)| process.disposition.nearness())
        .max()
    else {
        return Ok(calls.len().checked_sub(1));
    };
    let nearest = || asked().filter(|(_, process)| process.disposition.nearness() == nearness);
    let prefers_own = |process: &ListedProcess| process.entry.own == process.entry.target;
    let elsewhere = if nearest().any(|(_, process)| prefers_own(process)) {
        history.potentials_elsewhere(rank)?
    } else {
        BTreeMap::new()
    };
    let mut chosen: Option<(usize, f64)> = None;
    for (index, process) in nearest() {
        if matches!(process.disposition, Disposition::Moved(_)) {
            return Ok(Some(index));
        }
        let potential = process.entry.potential.get();
        let attraction = if prefers_own(process) {
            let other = elsewhere.get(&calls[index].summary.superstep);
            other.map_or(f64::NEG_INFINITY, |other| other - potential)
        } else {
            potential
        };
        // Potentials that differ by less are equal; the first of equal ones is chosen.
        let width = history.rules.tie_width;
        if chosen.is_none_or(|(_, highest)| highest + width < attraction) {
            chosen = Some((index, attraction));
        }
    }
    Ok(chosen.map(|(index, _)| index))
}

/// The answer to `question` about `history`.
///
/// # Errors
///
/// If the record is no longer readable.
fn answer_to(history: &History, question: &Question) -> Result<Explanation, Failure> {
    let detail = |index: usize| history.detail(history.calls[index].summary.superstep);
    let mut answer = blank(history);
    match *question {
        Question::Run => answer = about_run(history),
        Question::Call(index) => call::explain(&mut answer, history, index, &detail(index)?),
        Question::Process {
            rank,
            call: Some(index),
            is_named,
        } => {
            let asked = (rank, index, is_named);
            process::explain(&mut answer, history, asked, &detail(index)?);
        }
        Question::Process {
            rank, call: None, ..
        } => answer.sentences.push(format!(
            "{rank} stayed on {}: no call was held in the {} supersteps of this run.",
            history.run.placement[rank.index()],
            history.end.supersteps
        )),
    }
    Ok(answer)
}

/// The answer about the whole run.
pub(crate) fn about_run(history: &History) -> Explanation {
    let mut answer = blank(history);
    run::explain(&mut answer, history);
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
    history: &History,
    wanted: &BTreeMap<usize, usize>,
    mut visit: impl FnMut(CallAnswers),
) -> Result<(), Failure> {
    let places = wanted.iter().map(|(index, processes)| {
        let superstep = history.calls[*index].summary.superstep;
        (superstep, (*index, *processes))
    });
    let places: BTreeMap<u64, (usize, usize)> = places.collect();
    history.details(
        |superstep| places.contains_key(&superstep),
        |detail| {
            let Some((index, processes)) = places.get(&detail.call.superstep) else {
                return;
            };
            visit(answers_about(history, (*index, *processes), detail));
        },
    )
}

fn answers_about(
    history: &History,
    (index, processes): (usize, usize),
    detail: &Detail,
) -> CallAnswers {
    let mut call = blank_in_run(history);
    call::explain(&mut call, history, index, detail);
    let moved = detail.call.migrations.iter().take(processes);
    let explained = moved.map(|moved| {
        let mut answer = blank_in_run(history);
        process::explain(&mut answer, history, (moved.rank, index, true), detail);
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
fn blank(history: &History) -> Explanation {
    let run = &history.run;
    let beginning = match (&run.view, &run.resumed) {
        (Some(view), _) => Some(format!("{}.", view_sentence(view, run.hosts.len()))),
        (None, resumed) => resumed.as_ref().map(sentences::resumed),
    };
    let shortfall = history.end.shortfall();
    Explanation {
        sentences: beginning.into_iter().chain(shortfall).collect(),
        joins: run::explained_joins(history),
        ..blank_in_run(history)
    }
}

/// An answer that says nothing, beside others about the same run.
fn blank_in_run(history: &History) -> Explanation {
    Explanation {
        record: history.folder.display().to_string(),
        scenario: history.run.scenario.clone(),
        processes: history.run.placement.len(),
        supersteps: history.end.supersteps,
        resumed: history.run.resumed.clone(),
        view: history.run.view.clone(),
        seconds: history.end.seconds.get(),
        sets: history.run.sets.clone(),
        is_complete: history.end.extent.is_complete,
        checkpoints: history.checkpoints,
        baseline: history
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
fn rows_of(history: &History, detail: &Detail, rank: Option<Rank>) -> Vec<CsvRow> {
    let dispositions = Disposition::all(&detail.call, &history.rules);
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
