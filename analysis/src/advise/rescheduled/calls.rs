//! A longer interval between calls.

use serde_json::json;

use super::case::Case;
use crate::advice::Advice;
use crate::advise::report::Recommendation;
use crate::text::{counted, rounded};

/// The longer interval that `simulate` advises, if most of the cost is of calls that moved no process.
pub(super) fn advice(case: &Case<'_>, known: &[Advice]) -> Option<Recommendation> {
    let longer = known.iter().find_map(|one| {
        let interval: u32 = one.options.strip_prefix(OPTIONS)?.parse().ok()?;
        Some((interval, one))
    });
    let (interval, found) = longer?;
    let calls = &case.reading.calls;
    let idle = calls.iter().filter(|call| call.migrations.is_empty());
    let (number, seconds) = idle.fold((0, 0.0), |(number, seconds), call| {
        (number + 1, seconds + call.seconds)
    });
    if seconds < LEAST_IDLE * found.seconds {
        return None;
    }
    let reason = format!(
        "{}; {} of them moved no process and took {} s",
        found.reason,
        counted(number, "call"),
        rounded(seconds, 3)
    );
    Some(case.bound("scheduler.interval", json!(interval), reason, seconds))
}

/// What the advice of `simulate` says about it.
const OPTIONS: &str = "--set scheduler.interval=";

/// The part of the cost of calls that those without moves must have.
const LEAST_IDLE: f64 = 0.5;
