//! A policy that plans for all processes together, with their messages.

use serde_json::json;

use super::case::Case;
use crate::advice::Advice;
use crate::advise::report::Recommendation;
use crate::text::{counted, rounded};

/// The policy `adaptive`, if what placements can change took much of the run.
///
/// MigBSP moves processes by their computation and by the bytes from one Set. `adaptive` predicts supersteps with the
/// messages of all processes, so that communication counts, too, where MigBSP decided.
pub(super) fn advice(case: &Case<'_>, known: &[Advice]) -> Option<Recommendation> {
    let key = "scheduler.policy";
    let found = known.iter().find(|one| one.options == OPTIONS);
    let is_negotiated = case.settings.policy == NEGOTIATED;
    let evidence = &case.reading.evidence;
    let imbalance = evidence.attainable_seconds.unwrap_or(case.times.imbalance);
    if !is_negotiated {
        let found = found?;
        return Some(case.bound(key, json!(ADAPTIVE), found.reason.clone(), found.seconds));
    }
    let seconds = imbalance + case.times.communication.max(0.0);
    let is_much = LEAST_SHARE * case.reading.seconds() <= seconds;
    if !is_much || evidence.supersteps < LEAST_SUPERSTEPS {
        return None;
    }
    let communication = format!(
        "communication and waiting took {} s",
        rounded(case.times.communication, 3)
    );
    let reason = match found {
        Some(found) => format!("{}; {communication}", found.reason),
        None => format!(
            "Better mappings would save up to {} s of computation, {communication}, and {} moved in {}",
            rounded(imbalance, 3),
            counted(evidence.moved.len(), "process"),
            counted(case.reading.calls.len(), "call"),
        ),
    };
    Some(case.bound(key, json!(ADAPTIVE), reason, seconds))
}

/// The policy that plans for all processes together.
const ADAPTIVE: &str = "adaptive";

/// What the advice of `simulate` says about it.
const OPTIONS: &str = "--policy adaptive";

/// The policy whose Managers negotiate.
const NEGOTIATED: &str = "migbsp";

/// The part of the run that placements must be able to change.
const LEAST_SHARE: f64 = 0.1;

/// The number of supersteps below which calls and moves of another policy may not pay.
const LEAST_SUPERSTEPS: u64 = 100;
