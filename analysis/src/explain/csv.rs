//! The answer as rows: one for each call, process and Set.

use std::collections::BTreeMap;

use bsp::Rank;
use migbsp::Potential;
use record::{Evaluated, Evaluation, Event, EventHeader, EventKind};
use serde::Serialize;

use crate::explain::disposition::Disposition;
use crate::explain::history::{Detail, History};
use crate::explain::report::Explanation;
use crate::explain::terms::Terms;
use experiments::{CsvTable, Failure, Provenance, Published};

/// A row: the potential of a process for a Set in a call; times in seconds.
#[derive(Debug, Serialize)]
struct Row {
    superstep: u64,
    process: String,
    host: String,
    set: String,
    terms: Terms,
    position: Option<usize>,
    target: Option<String>,
    disposition: Option<&'static str>,
}

/// The header alone.
///
/// # Errors
///
/// If the writer fails, which a buffer in memory does not.
pub(super) fn table(provenance: &Provenance) -> Result<CsvTable, Failure> {
    CsvTable::with_header(Explanation::SCHEMA, provenance, HEADER)
}

/// `table` with all rows, optionally of one process or one call only.
///
/// # Errors
///
/// If the record is no longer readable.
pub(super) fn rows(
    mut table: CsvTable,
    history: &History,
    rank: Option<Rank>,
    superstep: Option<u64>,
) -> Result<String, Failure> {
    let mut pending: Vec<Evaluated> = Vec::new();
    let mut failed = None;
    let needed = |header: EventHeader| {
        let asked = superstep.is_none_or(|superstep| header.superstep == Some(superstep));
        asked && matches!(header.kind, EventKind::Evaluated | EventKind::Call)
    };
    record::scan(&history.folder, needed, |event| match event {
        Event::Evaluated(evaluated) => pending.push(evaluated),
        Event::Call(call) => {
            let evaluated = std::mem::take(&mut pending);
            let detail = Detail {
                call: *call,
                evaluated,
                observed: Vec::new(),
            };
            for row in rows_of(history, &detail, rank) {
                if failed.is_none() {
                    failed = table.push(row).err();
                }
            }
        }
        _ => {}
    })
    .map_err(Failure::input)?;
    if let Some(error) = failed {
        return Err(error);
    }
    table.text()
}

/// The rows of one call, in rank order.
fn rows_of(history: &History, detail: &Detail, rank: Option<Rank>) -> Vec<Row> {
    let dispositions = Disposition::all(&detail.call, &history.rules);
    let list = detail.call.list.iter().enumerate();
    let places: BTreeMap<Rank, (usize, String)> = list
        .map(|(index, entry)| (entry.rank, (index + 1, history.set(entry.target))))
        .collect();
    let all = detail.evaluated.iter().flat_map(|found| &found.processes);
    let mut asked: Vec<&Evaluation> = all
        .filter(|evaluation| rank.is_none_or(|rank| rank == evaluation.rank))
        .collect();
    asked.sort_by_key(|evaluation| evaluation.rank);
    let row = |evaluation: &Evaluation, potential: &Potential| {
        let place = places.get(&evaluation.rank);
        Row {
            superstep: detail.call.superstep,
            process: evaluation.rank.to_string(),
            host: history.host(evaluation.host),
            set: history.set(potential.set),
            terms: Terms::new(potential),
            position: place.map(|(position, _)| *position),
            target: place.map(|(_, target)| target.clone()),
            disposition: dispositions.get(&evaluation.rank).map(Disposition::name),
        }
    };
    let rows = asked.into_iter().flat_map(|evaluation| {
        let potentials = evaluation.potentials.iter();
        potentials.map(move |potential| row(evaluation, potential))
    });
    rows.collect()
}

/// Names of the columns: the header is written even if there are no rows.
const HEADER: [&str; 16] = [
    "superstep",
    "process",
    "host",
    "set",
    "pattern_computation",
    "prediction_computation",
    "set_index",
    "computation",
    "pattern_communication",
    "prediction_communication",
    "communication",
    "migration",
    "potential",
    "position",
    "target",
    "disposition",
];
