//! What moves won, as the record shows it.

use std::ops::Range;

use serde::Serialize;

use crate::explain::history::{Brief, History};

/// What the moves of one call won, measured by the supersteps before and after it.
///
/// What the load did meanwhile is in these times, too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Payback {
    /// Mean of the supersteps since the call before, in seconds.
    pub(super) before_seconds: f64,
    /// Mean of the supersteps until the next call, in seconds; without the first of several if the
    /// migrant paid for its move in it.
    pub(super) after_seconds: f64,
    /// What the call cost, in seconds.
    pub(super) cost_seconds: f64,
    /// What the supersteps until the next move took less than those before, all together, in seconds.
    pub(super) saved_seconds: f64,
    /// Supersteps until the next call that moved somebody, or the end.
    pub(super) supersteps: usize,
    /// Supersteps after which what was saved had reached the cost.
    pub(super) paid_after: Option<usize>,
    /// The superstep after which somebody moved next.
    pub(super) next_move: Option<u64>,
}

/// What all moves of a run won together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Balance {
    /// What the run is compared with.
    pub(super) against: Against,
    /// Mean of the supersteps before the first move, since the call before it, in seconds.
    pub(super) before_seconds: f64,
    /// Mean of the supersteps after the last move, in seconds.
    pub(super) after_seconds: f64,
    /// What all supersteps took less than those they are compared with, less what the calls cost, in
    /// seconds.
    pub(super) net_seconds: f64,
    /// The superstep from which on this was never negative again.
    pub(super) paid_by: Option<usize>,
}

/// What a run is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Against {
    /// The same supersteps of scenario i, whose record is beside that of the run.
    ScenarioI,
    /// Its own supersteps before the first move, as if they had gone on like that.
    Before,
}

impl Payback {
    /// What the call at position `index` won; `None` if it moved nobody, or no superstep followed.
    pub(super) fn of(history: &History, index: usize) -> Option<Self> {
        let calls = &history.calls;
        let call = &calls[index];
        if call.migrations.is_empty() {
            return None;
        }
        let begin = place(call.superstep);
        let later = &calls[index + 1..];
        let next_call = later.first().map(|next| place(next.superstep));
        let next_move = later.iter().find(|next| !next.migrations.is_empty());
        let next_move = next_move.map(|next| next.superstep);
        let before_seconds = mean(history, index_before(history, index)..begin)?;
        let end = history.supersteps.len();
        let mut after = begin..next_call.unwrap_or(end);
        if history.rules.migrant_pays && 1 < after.len() {
            after.start += 1;
        }
        let after_seconds = mean(history, after)?;
        let until = next_move.map_or(end, place);
        let mut saved = 0.0;
        let mut paid_after = None;
        let times = history.supersteps.get(begin..until).unwrap_or_default();
        for (index, superstep) in times.iter().enumerate() {
            saved += before_seconds - superstep.seconds;
            if paid_after.is_none() && call.cost.get() <= saved {
                paid_after = Some(index + 1);
            }
        }
        Some(Self {
            before_seconds,
            after_seconds,
            cost_seconds: call.cost.get(),
            saved_seconds: saved,
            supersteps: times.len(),
            paid_after,
            next_move,
        })
    }

    /// Seconds that every superstep until the next call took less than those before.
    pub(super) fn gain(&self) -> f64 {
        self.before_seconds - self.after_seconds
    }
}

impl Balance {
    /// What all moves won; `None` if nobody moved, or no superstep followed.
    pub(super) fn of(history: &History) -> Option<Self> {
        let calls = &history.calls;
        let moved = |call: &Brief| !call.migrations.is_empty();
        let first = calls.iter().position(moved)?;
        let last = calls.iter().rposition(moved)?;
        let begin = place(calls[first].superstep);
        let before_seconds = mean(history, index_before(history, first)..begin)?;
        let end = history.supersteps.len();
        let after_seconds = mean(history, place(calls[last].superstep)..end)?;
        let alone = history.alone.as_deref().filter(|alone| alone.len() == end);
        let (against, start, first) = match alone {
            Some(_) => (Against::ScenarioI, 0, 0),
            None => (Against::Before, begin, first),
        };
        let mut pending = calls[first..].iter().peekable();
        let (mut net, mut paid_by) = (0.0, None);
        for (index, superstep) in history.supersteps.iter().enumerate().skip(start) {
            while let Some(call) = pending.next_if(|call| place(call.superstep) <= index) {
                net -= call.cost.get();
            }
            let otherwise = alone.map_or(before_seconds, |alone| alone[index].seconds);
            net += otherwise - superstep.seconds;
            if net < 0.0 {
                paid_by = None;
            } else if begin <= index && paid_by.is_none() {
                paid_by = Some(index + 1);
            }
        }
        Some(Self {
            against,
            before_seconds,
            after_seconds,
            net_seconds: net,
            paid_by,
        })
    }
}

/// Where the interval before the call at `index` begins.
fn index_before(history: &History, index: usize) -> usize {
    let before = index.checked_sub(1).map(|before| &history.calls[before]);
    before.map_or(0, |call| place(call.superstep))
}

fn mean(history: &History, range: Range<usize>) -> Option<f64> {
    let times = history.supersteps.get(range)?;
    let number = u32::try_from(times.len())
        .ok()
        .filter(|number| 0 < *number)?;
    let sum: f64 = times.iter().map(|superstep| superstep.seconds).sum();
    Some(sum / f64::from(number))
}

/// Where the superstep `superstep` stands among all.
fn place(superstep: u64) -> usize {
    usize::try_from(superstep).unwrap_or(usize::MAX)
}
