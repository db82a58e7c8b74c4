//! Moves that did not pay.

use serde_json::json;

use super::Case;
use crate::advise::reading::HeldCall;
use crate::advise::report::Recommendation;
use crate::text::{counted, rounded};

/// A gate for plans that have none, or the cost that moves really had, if moves did not pay.
pub(super) fn advice(case: &Case<'_>) -> Option<Recommendation> {
    let lost: f64 = case.unpaid.iter().map(|call| call.lost_seconds).sum();
    let supersteps: Vec<u64> = case.unpaid.iter().map(|call| call.superstep).collect();
    let calls = &case.reading.calls;
    let unpaid: Vec<&HeldCall> = calls
        .iter()
        .filter(|call| supersteps.contains(&call.superstep))
        .collect();
    if lost <= 0.0 {
        return None;
    }
    let with_moves = calls.iter().filter(|call| !call.migrations.is_empty());
    let reason = format!(
        "The moves of {} of {} had not saved what the calls cost by the next moves: {} s were lost",
        counted(unpaid.len(), "call"),
        with_moves.count(),
        rounded(lost, 3)
    );
    let policy = &case.settings.policy;
    if policy.split('+').count() == WITHOUT_GATE {
        let better = format!("{policy}+amortised");
        let reason = format!("{reason}, and the policy has no gate");
        return Some(case.bound("scheduler.policy", json!(better), reason, lost));
    }
    let (predicted, took, median) = costs(&unpaid)?;
    if took < LEAST_RATIO * predicted || median <= 0.0 {
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
    Some(case.bound("scheduler.migration.base", better, reason, lost))
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
    let mut differences: Vec<f64> = pairs.iter().map(|(cost, took)| took - cost).collect();
    differences.sort_by(f64::total_cmp);
    let median = *differences.get(differences.len() / 2)?;
    let predicted = pairs.iter().map(|(cost, _)| cost).sum();
    let took = pairs.iter().map(|(_, took)| took).sum();
    Some((predicted, took, median))
}

/// Parts of the name of a policy without a gate: when and plan.
const WITHOUT_GATE: usize = 2;

/// How many times the predicted cost moves must have taken.
const LEAST_RATIO: f64 = 2.0;
