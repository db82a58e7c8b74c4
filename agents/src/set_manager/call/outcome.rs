//! The outcome of a call.

use std::collections::BTreeMap;

use bsp::units::{Instant, Seconds};
use bsp::{Rank, SetId};
use migbsp::{Answer, CallSchedule, CostCoefficients, PlannedMove};
use protocol::{Considered, Migrate};

use super::state::Call;
use crate::check::check;
use crate::record;
use crate::setup::{Payment, Rules, Scheduler, WindowRule};

/// The moves that were agreed on, in the order of the list; none if moving is switched off.
///
/// # Errors
///
/// If the Managers have not decided about the candidates of their Sets, in the order of the list.
pub(super) fn negotiated(rules: &Rules, call: &Call, epoch: u64) -> Result<Vec<Migrate>, String> {
    check_decisions(call)?;
    let order = |considered: &Considered| match considered.answer {
        Answer::Offer { host, .. } => Some(Migrate {
            rank: considered.entry.rank,
            from: considered.host,
            to: host,
            epoch,
            deferred_cost: considered.request.migration,
        }),
        Answer::Refuse(_) => None,
    };
    Ok(paid(rules, in_order(call).filter_map(order)))
}

/// Checks that every Manager has decided about the candidates of its Set, in the order of the list.
fn check_decisions(call: &Call) -> Result<(), String> {
    let candidates = call.negotiation.iter();
    let candidates = candidates.flat_map(|negotiation| &negotiation.selection.candidates);
    let mut expected: BTreeMap<SetId, Vec<Rank>> = BTreeMap::new();
    for candidate in candidates {
        let ranks = expected.entry(candidate.own).or_default();
        ranks.push(candidate.rank);
    }
    for (set, decided) in &call.decided {
        let ranks = decided.considered.iter().map(|other| other.entry.rank);
        let expected = expected.remove(set).unwrap_or_default();
        check(ranks.eq(expected), || {
            format!("{set} has not decided about its candidates")
        })?;
    }
    Ok(())
}

/// The moves of a plan, in its order; none if moving is switched off.
pub(super) fn ordered(rules: &Rules, moves: &[PlannedMove], epoch: u64) -> Vec<Migrate> {
    let order = |planned: &PlannedMove| Migrate {
        rank: planned.step.rank,
        from: planned.step.from,
        to: planned.step.to,
        epoch,
        deferred_cost: planned.cost,
    };
    paid(rules, moves.iter().map(order))
}

/// Orders that are carried out, with the deferred cost of the migrant if it pays.
fn paid(rules: &Rules, orders: impl Iterator<Item = Migrate>) -> Vec<Migrate> {
    let Some(Scheduler {
        moves: true,
        payment,
        ..
    }) = &rules.scheduler
    else {
        return Vec::new();
    };
    let pays = |order: Migrate| match payment {
        Payment::Migrant => order,
        Payment::Transfer => Migrate {
            deferred_cost: Seconds::ZERO,
            ..order
        },
    };
    orders.map(pays).collect()
}

/// The decisions about all candidates, in the order of the list; empty where plans name processors.
fn in_order(call: &Call) -> impl Iterator<Item = &Considered> {
    let negotiation = call.negotiation.iter();
    let mut considered: BTreeMap<_, _> = call
        .decided
        .values()
        .map(|decided| (decided.set, decided.considered.iter()))
        .collect();
    negotiation
        .flat_map(|negotiation| &negotiation.selection.candidates)
        .map(move |candidate| {
            let own = considered.get_mut(&candidate.own).and_then(Iterator::next);
            let own = own.expect("every candidate is considered by the Manager of its Set");
            assert_eq!(own.entry.rank, candidate.rank, "in the order of the list");
            own
        })
}

/// The time by which a superstep with this call must be longer.
pub(super) fn hold(rules: &Rules, call: &Call, started: Instant, now: Instant) -> Seconds {
    let Some(scheduler) = &rules.scheduler else {
        return Seconds::ZERO;
    };
    let migrated = call.moves.as_ref().is_some_and(|moves| !moves.is_empty());
    let from = match scheduler.window_after_migration {
        WindowRule::Added if migrated => call.began,
        WindowRule::Added | WindowRule::AtLeast => started,
    };
    (scheduler.window - (now - from)).max(Seconds::ZERO)
}

/// The record of a call that took `took`, with what had been `learned` of the cost of moves before it; `schedule` is the
/// schedule of later calls.
pub(super) fn describe(
    rules: &Rules,
    call: Call,
    learned: Option<CostCoefficients>,
    schedule: CallSchedule,
    took: Seconds,
) -> record::Call {
    let considered: Vec<Considered> = in_order(&call).cloned().collect();
    let migrated = call.moves.as_ref().is_some_and(|moves| !moves.is_empty());
    let moves = call.planned.iter().flat_map(|planned| &planned.moves);
    let migrations = if migrated {
        considered
            .iter()
            .filter_map(record::Migration::negotiated)
            .chain(moves.map(record::Migration::planned))
            .collect()
    } else {
        Vec::new()
    };
    let decided = call.decided.values();
    let probed = decided.flat_map(|decided| &decided.probed).copied();
    let probed = call.probed.iter().copied().chain(probed).collect();
    let barrier_busy = call.set_reports[&rules.first].barrier_busy.iter();
    let judged = call.supersteps.iter().zip(barrier_busy);
    let judged = judged.map(|(digest, barrier_busy)| record::BalanceCheck {
        digest: *digest,
        barrier_busy: *barrier_busy,
    });
    let judged = judged.collect();
    let selection = call.negotiation.map(|negotiation| negotiation.selection);
    let selection = selection.unwrap_or_default();
    record::Call {
        superstep: call.superstep + 1,
        at: call.began,
        cost: took,
        interval: schedule.interval,
        tolerance: schedule.tolerance,
        balanced: schedule.balanced,
        judged,
        threshold: selection.threshold,
        list: call.list,
        passed_over: selection.passed_over,
        considered,
        assessment: call.assessment,
        remaining: call.remaining,
        learned,
        probed,
        migrations,
    }
}
