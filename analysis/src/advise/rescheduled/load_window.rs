//! A window of background load that is shorter than the run.

use serde_json::{Value, json};

use super::case::Case;
use crate::advise::report::Recommendation;
use crate::text::rounded;

/// A shorter window, if that of MigBSP is longer than the run, so that the load of a host is the mean since the start, and
/// imbalance is left on hosts with background load.
pub(super) fn advice(case: &Case<'_>) -> Option<Recommendation> {
    let configuration = &case.reading.manifest.configuration;
    let window = configuration["scheduler"]["load_window"].as_f64()?;
    let kind = configuration["load"]["kind"].as_str();
    let makespan = case.reading.seconds();
    let has_load = kind.is_some_and(|kind| kind != "none");
    if case.settings.policy != "migbsp" || !has_load || window < makespan {
        return None;
    }
    let evidence = &case.reading.evidence;
    let left = evidence.attainable_seconds.unwrap_or(case.times.imbalance);
    if left < LEAST_SHARE * makespan {
        return None;
    }
    let better: Value = json!((makespan / PARTS).round().max(1.0));
    let reason = format!(
        "The load of hosts is averaged over {} s, longer than the run, while better mappings would save up to {} s",
        rounded(window, 0),
        rounded(left, 3)
    );
    Some(case.bound("scheduler.load_window", better, reason, left))
}

/// The part of the run that better mappings must be able to save.
const LEAST_SHARE: f64 = 0.1;

/// The window becomes this part of the run.
const PARTS: f64 = 20.0;
