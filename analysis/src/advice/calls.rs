//! Advice where calls take much of the run.

use crate::advice::evidence::Evidence;
use crate::advice::sentence::Advice;
use crate::advice::settings::Settings;
use crate::text::{counted, rounded};

/// A longer first interval, if calls took much of the run and the interval did not grow by itself.
pub(super) fn advice(evidence: &Evidence, settings: &Settings) -> Option<Advice> {
    let is_much = 0.0 < evidence.seconds && LEAST_SHARE * evidence.seconds <= evidence.call_seconds;
    if !is_much || settings.policy != FIXED_BY_INTERVAL || evidence.supersteps < LEAST_SUPERSTEPS {
        return None;
    }
    let spacing = evidence
        .supersteps
        .checked_div(u64::try_from(evidence.calls).ok()?)?;
    let interval = settings.interval.checked_mul(LONGER)?;
    if u64::from(interval) < spacing || evidence.supersteps < u64::from(interval) * LONGEST_PART {
        return None;
    }
    let share = evidence.call_seconds / evidence.seconds * 100.0;
    Some(Advice {
        reason: format!(
            "{} took {} s ({share:.1} %) of this run, one every {spacing} supersteps on average",
            counted(evidence.calls, "call"),
            rounded(evidence.call_seconds, 3),
        ),
        options: format!("--set scheduler.interval={interval}"),
        seconds: evidence.call_seconds,
    })
}

/// The policy whose calls follow `scheduler.interval` alone.
const FIXED_BY_INTERVAL: &str = "migbsp";

/// The part of the run that calls must have taken.
const LEAST_SHARE: f64 = 0.05;

/// How many times longer the interval becomes.
const LONGER: u32 = 4;

/// The new interval is at most the inverse of this part of the run, so that processes still move early.
const LONGEST_PART: u64 = 16;

/// The number of supersteps below which the moves of later calls may not pay.
const LEAST_SUPERSTEPS: u64 = 100;
