//! The answer to a question.

use std::collections::BTreeMap;

use crate::explain::history::{Detail, History};
use crate::explain::question::Question;
use crate::explain::report::Explanation;
use crate::explain::{call, joins, overview, process};
use crate::resumed;
use experiments::Failure;

/// The answer to `question` about `history`.
///
/// # Errors
///
/// If the record is no longer readable.
pub(super) fn answer(history: &History, question: &Question) -> Result<Explanation, Failure> {
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
    overview::explain(&mut answer, history);
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
            visit(answers_about(history, (*index, *processes), &detail));
        },
    )
}

/// The same, of calls whose findings are known: `details` has them.
pub(crate) fn answers_of<'a>(
    history: &History,
    wanted: &BTreeMap<usize, usize>,
    details: impl Iterator<Item = &'a Detail>,
    mut visit: impl FnMut(CallAnswers),
) {
    for detail in details {
        let is_it = |(index, _): &(&usize, &usize)| {
            history.calls[**index].summary.superstep == detail.call.superstep
        };
        if let Some((index, processes)) = wanted.iter().find(is_it) {
            visit(answers_about(history, (*index, *processes), detail));
        }
    }
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
    let resumed = history.run.resumed.as_ref().map(resumed::sentence);
    let shortfall = history.end.shortfall();
    Explanation {
        sentences: resumed.into_iter().chain(shortfall).collect(),
        joins: joins::explained(history),
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
        seconds: history.end.seconds.get(),
        sets: history.run.sets.clone(),
        is_complete: history.end.extent.is_complete,
        sentences: Vec::new(),
        calls: Vec::new(),
        joins: Vec::new(),
        checkpoints: history.checkpoints,
        baseline: history
            .baseline
            .as_ref()
            .map(|baseline| baseline.folder.display().to_string()),
        balance: None,
        process: None,
        list: Vec::new(),
        forces: None,
        next: Vec::new(),
    }
}
