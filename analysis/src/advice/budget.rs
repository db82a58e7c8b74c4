//! Advice where the overhead budget held calls back.

use crate::advice::evidence::Evidence;
use crate::advice::sentence::Advice;
use crate::advice::settings::Settings;
use crate::text::{counted, duration, rounded};

/// A larger budget, if the first calls had spent it and no other was held for most of the run.
pub(super) fn advice(evidence: &Evidence, settings: &Settings) -> Option<Advice> {
    let last = evidence.called_when_due?;
    let budget = settings.overhead * evidence.seconds;
    if evidence.supersteps < LEAST_SUPERSTEPS
        || evidence.supersteps.checked_div(LEAST_PART)? < last
        || evidence.call_seconds <= budget
    {
        return None;
    }
    let overhead = (settings.overhead * LARGER).min(1.0);
    let share = rounded(settings.overhead * 100.0, 0);
    Some(Advice {
        reason: format!(
            "{} took {}, more than the {share} % of the run that calls without moves may take, and none was held after \
             superstep {last} of {}",
            counted(evidence.calls, "call"),
            duration(evidence.call_seconds),
            evidence.supersteps
        ),
        options: format!("--set scheduler.planning.overhead={overhead}"),
        seconds: 0.0,
    })
}

/// How many times larger the budget becomes.
const LARGER: f64 = 5.0;

/// The last call was in the first part of the run; this is its inverse.
const LEAST_PART: u64 = 4;

/// The number of supersteps below which a later call may not pay.
const LEAST_SUPERSTEPS: u64 = 100;
