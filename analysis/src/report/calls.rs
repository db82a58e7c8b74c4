//! Every call of a run, to be opened.

use std::collections::BTreeMap;

use experiments::{Failure, Provenance};
use maud::{Markup, html};

use super::reported_run::ReportedRun;
use crate::explain::{CallAnswers, ExplainedCall, answer_page, call_line};
use crate::pictures::Table;
use crate::text::counted;

/// The calls of a run that are explained.
#[derive(Debug)]
pub(super) struct Calls {
    /// For each call by its position, the number of processes that are explained.
    explained: BTreeMap<usize, usize>,
}

impl Calls {
    /// Chooses the calls: those that moved processes come first, and all have the same right to explanations of processes.
    pub(super) fn of(run: &ReportedRun) -> Self {
        let calls = &run.history.calls;
        let moved = |index: &usize| !calls[*index].migrations.is_empty();
        let known = || (0..calls.len()).filter(|index| run.has_findings(*index));
        let moving = known().filter(moved);
        let quiet = known().filter(|index| !moved(index));
        let chosen: Vec<usize> = moving.chain(quiet).take(CALLS).collect();
        let movers = chosen.iter().filter(|index| moved(index)).count();
        let each = (PROCESSES / movers.max(1)).clamp(1, PROCESSES_OF_A_CALL);
        let processes = |index: usize| (index, calls[index].migrations.len().min(each));
        Self {
            explained: chosen.into_iter().map(processes).collect(),
        }
    }

    /// The anchor of the explanation of the process at `place` of the moves of the call at `index`, or of the call.
    pub(super) fn anchor(
        &self,
        prefix: &str,
        run: &ReportedRun,
        (index, place): (usize, usize),
    ) -> Option<String> {
        let processes = *self.explained.get(&index)?;
        let call = &run.history.calls[index];
        let anchor = anchor(prefix, call);
        Some(match call.migrations.get(place) {
            Some(moved) if place < processes => format!("{anchor}-{}", moved.rank),
            _ => anchor,
        })
    }

    /// The calls, closed.
    pub(super) fn section(
        &self,
        prefix: &str,
        run: &ReportedRun,
        provenance: &Provenance,
    ) -> Result<Markup, Failure> {
        let calls = &run.history.calls;
        let mut charts = CHARTS;
        let mut parts = Vec::new();
        run.answers(&self.explained, |found| {
            let call = &calls[found.index];
            parts.push(part(&anchor(prefix, call), call, &found, &mut charts));
        })?;
        let csv = table(run).csv(provenance)?;
        let left_out = calls.len() - parts.len();
        Ok(html! {
            @if calls.is_empty() { p { "No call was held." } }
            @for part in parts { (part) }
            @if 0 < left_out {
                p {
                    (counted(left_out, "more call")) " without an explanation here: "
                    code { (provenance.build().program()) " explain " (run.history.folder.display()) " --superstep N" }
                }
            }
            @if !calls.is_empty() {
                details.data data-file=(format!("{prefix}-calls")) {
                    summary { "All calls as a table" }
                    pre.csv { (csv) }
                }
            }
        })
    }
}

fn anchor(prefix: &str, call: &ExplainedCall) -> String {
    format!("{prefix}-call-{}", call.summary.superstep)
}

/// A call and the processes that moved in it.
fn part(anchor: &str, call: &ExplainedCall, found: &CallAnswers, charts: &mut usize) -> Markup {
    let mut has_chart = || {
        let is_left = 0 < *charts;
        *charts = charts.saturating_sub(1);
        is_left
    };
    let more = call.migrations.len() - found.processes.len();
    let moves = call.migrations.iter().zip(&found.processes);
    let moves = moves.map(|(moved, answer)| (moved.rank, answer_page(answer, has_chart())));
    let moves: Vec<_> = moves.collect();
    // The head of the list, where no process moved.
    let has_head = moves.is_empty() && has_chart();
    html! {
        details.call id=(anchor) {
            summary { (call_line(&found.call)) }
            (answer_page(&found.call, has_head))
            @for (rank, answer) in moves {
                details.process id=(format!("{anchor}-{rank}")) {
                    summary { "Why " (rank) " moved" }
                    (answer)
                }
            }
            @if 0 < more { p { (counted(more, "more process")) " moved." } }
        }
    }
}

/// All calls.
fn table(run: &ReportedRun) -> Table {
    let row = |call: &ExplainedCall| {
        let summary = &call.summary;
        vec![
            summary.superstep.to_string(),
            summary.at.to_string(),
            summary.cost_seconds.to_string(),
            summary
                .interval
                .map_or_else(String::new, |interval| interval.to_string()),
            call.listed.to_string(),
            call.candidates.to_string(),
            call.migrations.len().to_string(),
        ]
    };
    Table {
        header: vec![
            "superstep",
            "at_seconds",
            "cost_seconds",
            "interval",
            "processes",
            "candidates",
            "moves",
        ],
        rows: run.history.calls.iter().take(ROWS).map(row).collect(),
    }
}

/// The most calls that are explained.
const CALLS: usize = 200;
/// About how many processes are explained, over all calls.
const PROCESSES: usize = 300;
/// The most processes that are explained for a call.
const PROCESSES_OF_A_CALL: usize = 12;
/// The most charts of potentials.
const CHARTS: usize = 24;
/// The most rows of the table.
const ROWS: usize = 20_000;
