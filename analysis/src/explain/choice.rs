//! The hosts that were compared for one process, by plans that choose one.

use bsp::HostId;
use migbsp::DestinationChoice;
use serde::Serialize;

use crate::explain::history::History;
use crate::explain::sheet::Sheet;
use crate::text::{counted, rounded};

/// The hosts that were compared for one process.
#[derive(Debug, Serialize)]
pub(super) struct ChoiceReport {
    /// As `p21`.
    process: String,
    /// Its host.
    from: String,
    /// No host whose utilisation is higher is on the idle list.
    idle_below: f64,
    destinations: Vec<DestinationReport>,
}

/// A host that the process could move to.
#[derive(Debug, Serialize)]
struct DestinationReport {
    host: String,
    /// The part of its cores that other programs used.
    utilisation: f64,
    /// Whether it is on the idle list.
    is_idle: bool,
    /// `C`.
    cost_seconds: f64,
    /// `E[T]`.
    execution_seconds: f64,
    /// `C + E[T]`.
    completion_seconds: f64,
    /// Whether the process moved there.
    chosen: bool,
}

impl ChoiceReport {
    /// The report on `choice`, after which the process moved to `target`.
    pub(super) fn new(
        choice: &DestinationChoice,
        target: Option<HostId>,
        history: &History,
    ) -> Self {
        let destinations = choice.destinations.iter();
        let destinations = destinations.map(|found| DestinationReport {
            host: history.host(found.host),
            utilisation: found.utilisation,
            is_idle: found.is_idle,
            cost_seconds: found.cost.get(),
            execution_seconds: found.execution.get(),
            completion_seconds: found.completion().get(),
            chosen: Some(found.host) == target,
        });
        Self {
            process: choice.rank.to_string(),
            from: history.host(choice.from),
            idle_below: choice.idle_below,
            destinations: destinations.collect(),
        }
    }

    /// The hosts that are compared, the nearest completion first; those that are not on the idle list last.
    pub(super) fn sheet(&self) -> Sheet {
        let mut found: Vec<&DestinationReport> = self.destinations.iter().collect();
        found.sort_by(|one, other| {
            let idle = other.is_idle.cmp(&one.is_idle);
            idle.then(one.completion_seconds.total_cmp(&other.completion_seconds))
        });
        let row = |found: &&DestinationReport| {
            let note = match (found.chosen, found.is_idle) {
                (true, _) => "chosen",
                (false, true) => "",
                (false, false) => "not idle",
            };
            vec![
                found.host.clone(),
                format!("{:.1} %", 100.0 * found.utilisation),
                rounded(found.cost_seconds, 4),
                rounded(found.execution_seconds, 4),
                rounded(found.completion_seconds, 4),
                note.to_owned(),
            ]
        };
        let more = found.len().saturating_sub(ROWS);
        let rows: Vec<Vec<String>> = found.iter().take(ROWS).map(row).collect();
        Sheet {
            caption: format!(
                "Hosts that were compared for {}, now on {} (seconds)",
                self.process, self.from
            ),
            headers: vec!["host", "utilisation", "C", "E[T]", "C + E[T]", ""],
            rows,
            dispensable: &[],
            rest: match more {
                0 => String::new(),
                more => format!("\n{} more; --format json has all.", counted(more, "host")),
            },
        }
    }
}

/// Why the process of `choice` stays, if no host is on the idle list.
pub(super) fn no_idle_host(choice: &DestinationChoice, history: &History) -> Option<String> {
    if choice.destinations.iter().any(|found| found.is_idle) {
        return None;
    }
    Some(format!(
        "{} stays on {}: no other host is on the idle list, because the utilisation of each is above {}.",
        choice.rank,
        history.host(choice.from),
        choice.idle_below
    ))
}

/// Number of hosts that are shown.
const ROWS: usize = 20;
