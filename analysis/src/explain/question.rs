//! Questions about a run.

use std::collections::BTreeMap;

use bsp::Rank;
use record::Run;

use crate::explain::disposition::Disposition;
use crate::explain::history::{History, ListedProcess};
use experiments::Failure;

/// The subject of a question: the whole run, a call, or a process in a call.
#[derive(Debug)]
pub(super) enum Question {
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
    pub(super) fn new(
        history: &History,
        rank: Option<Rank>,
        superstep: Option<u64>,
    ) -> Result<Self, Failure> {
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
pub(super) fn rank(name: Option<&str>, run: &Run) -> Result<Option<Rank>, Failure> {
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
