//! The answer to a question.

use crate::explain::history::History;
use crate::explain::question::Question;
use crate::explain::report::Explanation;
use crate::explain::{call, joins, overview, process};
use crate::resumed;
use experiments::Failure;
use experiments::record::shortfall;

/// The answer to `question` about `history`.
///
/// # Errors
///
/// If the record is no longer readable.
pub(super) fn answer(history: &History, question: &Question) -> Result<Explanation, Failure> {
    let mut answer = Explanation {
        record: history.folder.display().to_string(),
        scenario: history.run.scenario.clone(),
        processes: history.run.placement.len(),
        supersteps: history.end.supersteps,
        resumed: history.run.resumed.clone(),
        seconds: history.end.seconds.get(),
        sets: history.run.sets.clone(),
        is_complete: history.end.extent.is_complete,
        sentences: {
            let resumed = history.run.resumed.as_ref().map(resumed::sentence);
            let shortfall = shortfall(&history.end.extent);
            resumed.into_iter().chain(shortfall).collect()
        },
        calls: Vec::new(),
        joins: joins::explained(history),
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
    };
    match *question {
        Question::Run => overview::explain(&mut answer, history),
        Question::Call(index) => call::explain(&mut answer, history, index)?,
        Question::Process {
            rank,
            call: Some(index),
            is_named,
        } => process::explain(&mut answer, history, (rank, index, is_named))?,
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
