//! What came of a call.

use std::collections::BTreeMap;

use bsp::units::{Instant, Seconds};
use migbsp::Answer;
use protocol::{Considered, Migrate};

use super::Call;
use crate::record;
use crate::setup::{Payment, Rules, Scheduler, WindowRule};

/// The moves that were agreed on, in the order of the list; none if moving is switched off.
pub(super) fn moves(rules: &Rules, call: &Call, epoch: u64) -> Vec<Migrate> {
    let Some(Scheduler {
        moves: true,
        payment,
        ..
    }) = &rules.scheduler
    else {
        return Vec::new();
    };
    in_order(call)
        .filter_map(|considered| match considered.answer {
            Answer::Offer { host, .. } => Some(Migrate {
                rank: considered.entry.rank,
                from: considered.host,
                to: host,
                epoch,
                owes: match payment {
                    Payment::Migrant => considered.request.migration,
                    Payment::Transfer => Seconds::ZERO,
                },
            }),
            Answer::Refuse(_) => None,
        })
        .collect()
}

/// What became of all candidates, in the order of the list.
fn in_order(call: &Call) -> impl Iterator<Item = &Considered> {
    let negotiation = call.negotiation.as_ref().expect("all have decided");
    let mut considered: BTreeMap<_, _> = call
        .decided
        .values()
        .map(|decided| (decided.set, decided.considered.iter()))
        .collect();
    negotiation
        .selection
        .candidates
        .iter()
        .map(move |candidate| {
            let own = considered.get_mut(&candidate.own).and_then(Iterator::next);
            let own = own.expect("every candidate is considered by the Manager of its Set");
            assert_eq!(own.entry.rank, candidate.rank, "in the order of the list");
            own
        })
}

/// How much longer a superstep with this call has to last.
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

/// The record of a call that ends at `ends`.
pub(super) fn describe(call: &Call, interval: u32, tolerance: f64, ends: Instant) -> record::Call {
    let negotiation = call.negotiation.as_ref().expect("all have decided");
    let migrated = call.moves.as_ref().is_some_and(|moves| !moves.is_empty());
    let migrations = if migrated {
        in_order(call).filter_map(record::Migration::of).collect()
    } else {
        Vec::new()
    };
    record::Call {
        superstep: call.superstep + 1,
        at: call.began,
        cost: ends - call.began,
        interval,
        tolerance,
        balanced: negotiation.balanced,
        threshold: negotiation.selection.threshold,
        list: negotiation.list.clone(),
        passed_over: negotiation.selection.passed_over.clone(),
        considered: in_order(call).cloned().collect(),
        migrations,
    }
}
