//! What moves took, beside what was predicted.

use std::collections::BTreeMap;

use bsp::Rank;
use migbsp::{CostCoefficients, median};
use record::{Migration, Moved};

use crate::explain::history::{ExplainedCall, History};
use crate::explain::sheet::Sheet;
use crate::move_report::{MoveReport, percent};
use crate::text::{Layout, counted, data, rounded};

/// The migrations of a call.
pub(super) fn moves(history: &History, call: &ExplainedCall) -> Vec<MoveReport> {
    let arrivals: BTreeMap<Rank, &Moved> = call
        .arrivals
        .iter()
        .map(|moved| (moved.rank, moved))
        .collect();
    let report = |migration: &Migration| {
        let moved = arrivals.get(&migration.rank).copied();
        MoveReport::new(migration, moved, |host| history.host(host))
    };
    call.migrations.iter().map(report).collect()
}

/// The moves of a call as a table, with the state of the process if there is only one; `None` if the record does not
/// say what they took.
pub(super) fn sheet(moves: &[&MoveReport], layout: Layout) -> Option<Sheet> {
    if moves.iter().all(|one| one.took_seconds.is_none()) {
        return None;
    }
    let headers = vec![
        "process",
        "packing",
        "sending",
        "unpacking",
        "all",
        "predicted",
        "off by",
    ];
    let (shown, left_out) = layout.cut(moves.len(), ROWS);
    let rows = moves.iter().take(shown).map(|one| one.row());
    let state = match moves {
        [one] => one.state().map(|state| format!("\n{state}")),
        _ => None,
    };
    let more =
        (0 < left_out).then(|| format!(" … {left_out} more; --format json shows all of them"));
    Some(Sheet {
        caption: "Moves (seconds; packing, sending and unpacking overlap)".to_owned(),
        headers,
        rows: rows.collect(),
        dispensable: &[3, 1, 2],
        rest: more.or(state).unwrap_or_default(),
    })
}

/// How well moves were predicted, and what has been learned, in one sentence; `None` if the record does not say what moves
/// took.
pub(super) fn summary(history: &History) -> Option<String> {
    let calls = history.calls.iter();
    let all = calls.clone().flat_map(|call| moves(history, call));
    let errors: Vec<f64> = all.filter_map(|one| one.error).collect();
    let number = errors.len();
    let median = median(errors)?;
    let learned = calls.rev().find_map(|call| call.learned);
    let learned = learned.map_or_else(String::new, |learned| {
        format!(" {}", learned_in_words(&learned))
    });
    Some(format!(
        "What {} took was predicted with a median error of {}.{learned}",
        counted(number, "move"),
        percent(Some(median))
    ))
}

/// What had been learned of the cost of moves.
fn learned_in_words(learned: &CostCoefficients) -> String {
    let startup = rounded(learned.startup.get() * 1e3, 3);
    let overlap = rounded(learned.overlap, 3);
    let processing = if 0.0 < learned.processing {
        let rate = data(learned.processing.recip());
        format!(", but no more than {rate}/s of packing or unpacking")
    } else {
        String::new()
    };
    let steady = learned.steady.map_or_else(String::new, |steady| {
        let rate = data(steady.per_byte.recip());
        format!("; {rate}/s, whatever bandwidth is predicted, has been nearer")
    });
    format!(
        "Before the last call, a move was expected to take {startup} ms (α0) and {overlap} times (α1) what its bytes take on the \
         network{processing}{steady}."
    )
}

/// Number of moves that are shown.
const ROWS: usize = 20;
