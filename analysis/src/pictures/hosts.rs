//! How many processes were on which host.

use std::collections::BTreeMap;

use bsp::HostId;

use super::colours::SetColours;
use super::picture::{Picture, Table, is_early, position};
use crate::chart::{Cell, Layer, Panel, Plot};
use crate::text::counted;
use crate::view::View;

/// Hosts over supersteps, the stronger the more processes they had.
pub(crate) fn hosts(view: &View) -> Picture {
    let (plot, table) = hosts_panel(view);
    Picture {
        svg: plot.svg(),
        table,
    }
}

/// The same before it is drawn.
pub(super) fn hosts_panel(view: &View) -> (Plot, Table) {
    let spans = spans(view);
    let most = spans.iter().map(|span| span.processes).max().unwrap_or(1);
    let colours = SetColours::new(view);
    let mut layers: BTreeMap<(usize, u64), Vec<Cell>> = BTreeMap::new();
    let rows = &view.load.rows;
    for span in spans.iter().filter(|span| 0 < span.processes) {
        let first = rows.iter().nth(span.row).map_or(0, |row| row.hosts.start);
        let host = HostId(u32::try_from(first).unwrap_or(u32::MAX));
        let level = (span.processes * LEVELS).div_ceil(most);
        let cells = layers.entry((colours.of_host(view, host), level));
        cells.or_default().push(Cell {
            row: span.row,
            from: position(span.from),
            to: position(span.to),
        });
    }
    let layers = layers.into_iter();
    let layers = layers.map(|((colour, level), cells)| Layer::Cells {
        colour,
        strength: level as f64 / LEVELS as f64,
        cells,
    });
    let processes = usize::try_from(most).unwrap_or(usize::MAX);
    let note = format!(
        "The stronger a colour, the more processes; the strongest stands for {}.",
        counted(processes, "process")
    );
    let description = format!(
        "Rows are hosts, the axis is supersteps. {} of hosts that had processes. {note}",
        counted(rows.len(), "row")
    );
    let plot = Plot {
        title: format!("Processes on hosts, scenario {}", view.run.scenario),
        note,
        description,
        legend: colours.legend(view),
        supersteps: (view.first(), view.end),
        is_log: is_early(view),
        panels: vec![Panel {
            label: "host".to_owned(),
            rows: Some(rows.iter().map(|row| row.name.clone()).collect()),
            layers: layers.collect(),
        }],
    };
    let named: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.set.as_str()))
        .collect();
    let row = |span: &Span| {
        let (name, set) = named[span.row];
        vec![
            name.to_owned(),
            span.from.to_string(),
            span.to.to_string(),
            set.to_owned(),
            span.processes.to_string(),
        ]
    };
    let table = Table {
        header: vec!["host", "from", "to", "set", "processes"],
        rows: spans.iter().map(row).collect(),
    };
    (plot, table)
}

/// A row of hosts had a number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    row: usize,
    from: u64,
    to: u64,
    processes: u64,
}

/// The number of processes of each row over the supersteps; of moves that are too near to be told apart in a picture, the
/// last one counts if there are many.
fn spans(view: &View) -> Vec<Span> {
    let rows = &view.load.rows;
    let first = view.first();
    let mut counts = vec![0_u64; rows.len()];
    for host in view.placement.start() {
        if let Some(row) = rows.row_of(*host) {
            counts[row] += 1;
        }
    }
    let moves = view.placement.moves();
    let step = if moves.len() <= MOVES {
        1
    } else {
        (view.end - first).div_ceil(COLUMNS).max(1)
    };
    let mut since = vec![first; rows.len()];
    let mut shown = counts.clone();
    let mut spans = Vec::new();
    let mut close = |row: usize, at: u64, count: u64, shown: &mut [u64], since: &mut [u64]| {
        if since[row] < at && shown[row] != count {
            spans.push(Span {
                row,
                from: since[row],
                to: at,
                processes: shown[row],
            });
            since[row] = at;
        }
        shown[row] = count;
    };
    let mut together = moves.iter().peekable();
    while let Some(moved) = together.next() {
        for (host, is_arrival) in [(moved.from, false), (moved.to, true)] {
            if let Some(row) = rows.row_of(host) {
                counts[row] = if is_arrival {
                    counts[row] + 1
                } else {
                    counts[row].saturating_sub(1)
                };
            }
        }
        let column = |superstep: u64| (superstep - first) / step;
        let is_last = together
            .peek()
            .is_none_or(|next| column(next.superstep) != column(moved.superstep));
        if is_last {
            let at = first + column(moved.superstep) * step;
            for (row, count) in counts.iter().enumerate() {
                close(row, at, *count, &mut shown, &mut since);
            }
        }
    }
    for row in 0..rows.len() {
        close(row, view.end, u64::MAX, &mut shown, &mut since);
    }
    spans.sort_by_key(|span| (span.row, span.from));
    spans
}

/// Number of strengths of a colour.
const LEVELS: u64 = 6;
/// The most moves that are shown one by one.
const MOVES: usize = 2_000;
/// Number of parts of the axis otherwise.
const COLUMNS: u64 = 240;
