//! Which process was on the hosts of which Set, and when it moved.

use std::collections::BTreeMap;

use bsp::Rank;

use super::colours::SetColours;
use super::hosts::hosts_panel;
use super::picture::{Picture, Table, is_early, position};
use super::supersteps::superstep_panel;
use crate::chart::{Cell, Layer, Mark, Panel, Plot};
use crate::explain::History;
use crate::text::counted;
use crate::view::{Segment, View};

/// Processes over supersteps, coloured by Set, with their moves; `None` if there are too many processes to show, and none of
/// them moved.
pub(crate) fn timeline(view: &View) -> Option<Picture> {
    let (plot, table) = plot(view)?;
    Some(Picture {
        svg: plot.svg(),
        table,
    })
}

/// The same with the times of supersteps below; hosts over supersteps where there is no timeline of processes.
pub(crate) fn timeline_with_supersteps(view: &View, history: &History) -> Picture {
    let (mut plot, table) = match plot(view) {
        Some(found) => found,
        None => {
            let mut plot = hosts_panel(view);
            plot.0.title = format!("Processes on hosts, {}", of_run(view));
            plot
        }
    };
    let (panel, legend) = superstep_panel(history);
    plot.panels.push(panel);
    plot.legend.extend(legend);
    Picture {
        svg: plot.svg(),
        table,
    }
}

fn of_run(view: &View) -> String {
    format!(
        "{} in scenario {}",
        counted(view.run.placement.len(), "process"),
        view.run.scenario
    )
}

fn plot(view: &View) -> Option<(Plot, Table)> {
    let ranks = view.placement.shown(PROCESSES);
    if ranks.is_empty() {
        return None;
    }
    let segments = view.placement.segments(&ranks, view.end);
    let colours = SetColours::new(view);
    let rows: BTreeMap<Rank, usize> = ranks.iter().copied().zip(0..).collect();
    let mut legend = colours.legend(view);
    legend.push(("move".to_owned(), Mark::Rings, MOVE_COLOUR));
    let mut layers = cells(view, &coarse(&segments, view), &rows, &colours);
    layers.extend(moves(view, &rows));
    let all = view.run.placement.len();
    let note = if ranks.len() < all {
        let shown = counted(ranks.len(), "process");
        let kind = if ranks.len() == PROCESSES {
            "first "
        } else {
            ""
        };
        format!("The {kind}{shown} that moved, of {all}.")
    } else {
        String::new()
    };
    let plot = Plot {
        title: format!("Processes by Set, {}", of_run(view)),
        description: description(view, &note),
        note,
        legend,
        supersteps: (view.first(), view.end),
        is_log: is_early(view),
        panels: vec![Panel {
            label: "process".to_owned(),
            rows: Some(ranks.iter().map(Rank::to_string).collect()),
            layers,
        }],
    };
    Some((plot, table(view, &segments)))
}

/// Segments of which no two of a process are nearer than can be seen, if there are many.
fn coarse(segments: &[Segment], view: &View) -> Vec<Segment> {
    if segments.len() <= CELLS {
        return segments.to_vec();
    }
    let step = (view.end - view.first()).div_ceil(COLUMNS).max(1);
    let column = |superstep: u64| (superstep - view.first()) / step;
    let mut kept: Vec<Segment> = Vec::new();
    for segment in segments {
        match kept.last_mut() {
            // The last one that begins in a column stands for all.
            Some(last)
                if last.rank == segment.rank && column(last.from) == column(segment.from) =>
            {
                *last = Segment {
                    from: last.from,
                    ..*segment
                };
            }
            _ => kept.push(*segment),
        }
    }
    kept
}

fn cells(
    view: &View,
    segments: &[Segment],
    rows: &BTreeMap<Rank, usize>,
    colours: &SetColours,
) -> Vec<Layer> {
    let mut by_colour: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
    for segment in segments {
        let colour = colours.of_host(view, segment.host);
        by_colour.entry(colour).or_default().push(Cell {
            row: rows[&segment.rank],
            from: position(segment.from),
            to: position(segment.to),
        });
    }
    let layers = by_colour.into_iter();
    layers
        .map(|(colour, cells)| Layer::Cells {
            colour,
            strength: STRENGTH,
            cells,
        })
        .collect()
}

/// A ring for each move, unless there are too many.
fn moves(view: &View, rows: &BTreeMap<Rank, usize>) -> Option<Layer> {
    let moves = view.placement.moves();
    let height = rows.len() as f64;
    let points = moves.iter().filter_map(|moved| {
        let row = rows.get(&moved.rank)?;
        Some((position(moved.superstep), height - *row as f64 - 0.5))
    });
    let points: Vec<(f64, f64)> = points.collect();
    (points.len() <= MOVES).then_some(Layer::Points {
        colour: MOVE_COLOUR,
        is_ring: true,
        points,
    })
}

fn description(view: &View, note: &str) -> String {
    let moves = view.placement.moves();
    let mut text = format!(
        "Rows are processes, colours are Sets, the axis is supersteps. {note} {} in {} supersteps.",
        counted(moves.len(), "move"),
        view.end - view.first()
    );
    for moved in moves.iter().take(DESCRIBED) {
        text.push_str(&format!(
            " {} moved from {} to {} after superstep {}.",
            moved.rank,
            view.host(moved.from),
            view.host(moved.to),
            moved.superstep
        ));
    }
    if DESCRIBED < moves.len() {
        text.push_str(" The table has all.");
    }
    text
}

fn table(view: &View, segments: &[Segment]) -> Table {
    let row = |segment: &Segment| {
        vec![
            segment.rank.to_string(),
            segment.from.to_string(),
            segment.to.to_string(),
            view.host(segment.host).to_owned(),
            view.sets.name_of(segment.host).to_owned(),
        ]
    };
    Table {
        header: vec!["process", "from", "to", "host", "set"],
        rows: segments.iter().take(ROWS).map(row).collect(),
    }
}

/// The most processes that are shown.
const PROCESSES: usize = 200;
/// The most segments that are drawn exactly.
const CELLS: usize = 6_000;
/// Number of parts of the axis otherwise.
const COLUMNS: u64 = 120;
/// The most rows of the table.
const ROWS: usize = 20_000;
/// The most moves that are marked.
const MOVES: usize = 2_000;
/// The most moves that the description names.
const DESCRIBED: usize = 20;
/// How opaque processes are: moves have to be seen on them.
const STRENGTH: f64 = 0.45;
/// Number of the colour of moves.
const MOVE_COLOUR: usize = 6;
