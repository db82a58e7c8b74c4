//! `migbsp explain`: why processes moved or stayed, and what migrations gained, from a record.

mod against;
mod answer;
mod balance;
mod baseline;
mod call;
mod checkpoints;
mod choice;
mod csv;
mod disposition;
mod durations;
mod forces;
mod history;
mod joins;
mod moves;
mod narrative;
mod neighbours;
mod overview;
mod pace;
mod page;
mod payback;
mod process;
mod question;
mod reading;
mod report;
mod rules;
mod sheet;
mod sheets;
mod terms;
mod text;

use std::path::Path;

use bsp::Rank;

use crate::explain::payback::{Payback, PaybackVerdict};
use crate::explain::question::Question;
use experiments::{Failure, Provenance};

pub(crate) use crate::explain::answer::{CallAnswers, about_run, answers, answers_of};
pub(crate) use crate::explain::balance::Balance;
pub(crate) use crate::explain::baseline::first_difference;
pub(crate) use crate::explain::disposition::Disposition;
pub(crate) use crate::explain::durations::SuperstepDuration;
pub(crate) use crate::explain::history::{Detail, ExplainedCall, History};
pub(crate) use crate::explain::overview::verdict;
pub(crate) use crate::explain::page::{answer_page, call_line, table};
pub(crate) use crate::explain::reading::Reading;
pub use crate::explain::report::Explanation;
pub(crate) use crate::explain::rules::Rules;
pub(crate) use crate::explain::sheet::Sheet;
pub use crate::explain::text::text;

/// What the moves of a call saved until the next moves, or until the end of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SettledCall {
    /// The number of supersteps before it.
    pub(crate) superstep: u64,
    /// What its moves saved, less what it cost, in seconds.
    pub(crate) net_seconds: f64,
}

/// The calls of the record in `folder` that moved processes and whose gain can be told: in a simulation, compared with
/// scenario i beside it; `None` without that: other changes of the load would count as savings.
///
/// # Errors
///
/// If the record is unreadable or of another version.
pub(crate) fn settled_calls(folder: &Path) -> Result<Option<Vec<SettledCall>>, Failure> {
    let history = reading::read(folder, None, None)?;
    if history.baseline.is_none() && !history.rules.is_measured {
        return Ok(None);
    }
    let calls = history.calls.iter().enumerate();
    let settled = calls.filter_map(|(index, call)| {
        let payback = Payback::of(&history, index)?;
        if payback.verdict == PaybackVerdict::Unknown {
            return None;
        }
        Some(SettledCall {
            superstep: call.summary.superstep,
            net_seconds: payback.saved_seconds - payback.cost_seconds,
        })
    });
    Ok(Some(settled.collect()))
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
        let run = reading::head(folder)?;
        let rank = question::rank(process, &run)?;
        let history = reading::read(folder, against, rank)?;
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
        let mut answer = answer::answer(&self.history, &self.question)?;
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
        let table = csv::table(provenance)?;
        csv::rows(table, &self.history, self.rank, self.superstep)
    }

    /// What is known of the run.
    pub(crate) const fn history(&self) -> &History {
        &self.history
    }
}
