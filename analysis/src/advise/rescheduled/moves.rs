//! Moves that did not pay.

use migbsp::median;
use serde_json::json;

use super::case::Case;
use crate::advise::reading::HeldCall;
use crate::advise::report::Recommendation;
use crate::text::{counted, rounded};

/// If moves did not pay: a gate for plans that have none; else, if all moves together lost much and took much longer than
/// predicted, the cost that they really had.
pub(super) fn advice(case: &Case<'_>) -> Option<Recommendation> {
    let settled = case.settled.as_ref()?;
    let unpaid = settled.iter().filter(|call| call.net_seconds < 0.0);
    let lost: f64 = unpaid.clone().map(|call| -call.net_seconds).sum();
    let supersteps: Vec<u64> = unpaid.map(|call| call.superstep).collect();
    if supersteps.is_empty() {
        return None;
    }
    let reason = format!(
        "The moves of {} of {} had not saved what the calls cost by the next moves, and {} s were lost",
        supersteps.len(),
        counted(settled.len(), "call"),
        rounded(lost, 3)
    );
    let policy = &case.settings.policy;
    if policy.split('+').count() == WITHOUT_GATE {
        let better = format!("{policy}+amortised");
        let reason = format!("{reason}; the policy has no gate");
        return Some(case.bound("scheduler.policy", json!(better), reason, lost));
    }
    let net: f64 = settled.iter().map(|call| call.net_seconds).sum();
    let calls = case.reading.calls.iter();
    let unpaid = calls.filter(|call| supersteps.contains(&call.superstep));
    let (predicted, took, median) = costs(&unpaid.collect::<Vec<_>>())?;
    let is_much = LEAST_SHARE * case.reading.seconds() <= -net;
    if !is_much || took < LEAST_RATIO * predicted || median <= 0.0 {
        return None;
    }
    let base = &case.reading.manifest.configuration["scheduler"]["migration"]["base"];
    let base = base.as_f64().unwrap_or_default() + median;
    let reason = format!(
        "{reason}. Their moves took {} s, and {} s were predicted",
        rounded(took, 3),
        rounded(predicted, 3)
    );
    let better = json!((base * 1e3).round() / 1e3);
    Some(case.bound("scheduler.migration.base", better, reason, -net))
}

/// What the moves of `calls` were predicted to take and took, in seconds, and the median of the differences.
fn costs(calls: &[&HeldCall]) -> Option<(f64, f64, f64)> {
    let mut pairs = Vec::new();
    for call in calls {
        for migration in &call.migrations {
            let mut arrivals = call.arrivals.iter();
            let moved = arrivals.find(|moved| moved.rank == migration.rank);
            // A migrant that pays for its move is sent for free.
            if let Some(moved) = moved.filter(|moved| 0.0 < moved.took.get()) {
                pairs.push((migration.cost.get(), moved.took.get()));
            }
        }
    }
    let differences = pairs.iter().map(|(cost, took)| took - cost);
    let median = median(differences.collect())?;
    let predicted = pairs.iter().map(|(cost, _)| cost).sum();
    let took = pairs.iter().map(|(_, took)| took).sum();
    Some((predicted, took, median))
}

/// Parts of the name of a policy without a gate: when and plan.
const WITHOUT_GATE: usize = 2;

/// The part of the run that all moves together must have lost: processes hardly move any more at their real cost.
const LEAST_SHARE: f64 = 0.05;

/// How many times the predicted cost moves must have taken.
const LEAST_RATIO: f64 = 2.0;
