//! Which process was on the hosts of which Set, and when it moved.

use std::collections::BTreeMap;

use bsp::Rank;
use bsp::numbers::real;

use crate::chart::{Cell, Layer, Mark, Panel, Plot};
use crate::document::Table;
use crate::pictures::hosts::hosts_panel;
use crate::pictures::supersteps::superstep_panel;
use crate::pictures::{Picture, SetColours, is_early};
use crate::run::{RunModel, Segment};
use crate::text::counted;

/// Processes over supersteps, coloured by Set, with their moves; `None` if there are too many processes to show, and none of
/// them moved.
pub(crate) fn timeline(model: &RunModel) -> Option<Picture> {
    let (plot, table) = plot(model)?;
    Some(Picture {
        svg: plot.svg(),
        table,
    })
}

/// The same with the times of supersteps below; hosts over supersteps where there is no timeline of processes.
pub(crate) fn timeline_with_supersteps(model: &RunModel) -> Picture {
    let (mut plot, table) = match plot(model) {
        Some(found) => found,
        None => {
            let mut plot = hosts_panel(model);
            plot.0.title = format!("Processes on hosts, {}", of_run(model));
            plot
        }
    };
    let (panel, legend) = superstep_panel(model);
    plot.panels.push(panel);
    plot.legend.extend(legend);
    Picture {
        svg: plot.svg(),
        table,
    }
}

fn of_run(model: &RunModel) -> String {
    format!(
        "{} in scenario {}",
        counted(model.run.placement.len(), "process"),
        model.run.scenario
    )
}

fn plot(model: &RunModel) -> Option<(Plot, Table)> {
    let ranks = model.placement.shown(PROCESSES);
    if ranks.is_empty() {
        return None;
    }
    let segments = model.placement.segments(&ranks, model.end_superstep());
    let colours = SetColours::new(model);
    let rows: BTreeMap<Rank, usize> = ranks.iter().copied().zip(0..).collect();
    let mut legend = colours.legend(model);
    if !model.placement.moves().is_empty() {
        legend.push((
            "move, in the colour of its target".to_owned(),
            Mark::Points,
            MOVE,
        ));
    }
    let mut layers = cells(model, &coarse(&segments, model), &rows, &colours);
    layers.extend(moves(model, &rows, &colours));
    let all = model.run.placement.len();
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
        title: format!("Processes by Set, {}", of_run(model)),
        description: description(model, &note),
        note,
        legend,
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early(model),
        panels: vec![Panel {
            label: "process".to_owned(),
            rows: Some(ranks.iter().map(Rank::to_string).collect()),
            is_compact: false,
            is_log: false,
            layers,
        }],
    };
    Some((plot, table(model, &segments)))
}

/// Segments of which no two of a process are nearer than can be seen, if there are many.
fn coarse(segments: &[Segment], model: &RunModel) -> Vec<Segment> {
    if segments.len() <= CELLS {
        return segments.to_vec();
    }
    let step = (model.end_superstep() - model.first())
        .div_ceil(COLUMNS)
        .max(1);
    let column = |superstep: u64| (superstep - model.first()) / step;
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
    model: &RunModel,
    segments: &[Segment],
    rows: &BTreeMap<Rank, usize>,
    colours: &SetColours,
) -> Vec<Layer> {
    let mut by_colour: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
    for segment in segments {
        let colour = colours.of_host(model, segment.host);
        by_colour.entry(colour).or_default().push(Cell {
            row: rows[&segment.rank],
            from: real(segment.from),
            to: real(segment.to),
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

/// A point for each move, unless there are too many.
fn moves(model: &RunModel, rows: &BTreeMap<Rank, usize>, colours: &SetColours) -> Vec<Layer> {
    let mut by_colour: BTreeMap<usize, Vec<(f64, f64)>> = BTreeMap::new();
    let moves = model.placement.moves();
    if MOVES < moves.len() {
        return Vec::new();
    }
    for moved in moves {
        if let Some(row) = rows.get(&moved.rank) {
            let height = rows.len() as f64 - *row as f64 - 0.5;
            let points = by_colour.entry(colours.of_host(model, moved.to));
            let point = (real(moved.superstep), height);
            points.or_default().push(point);
        }
    }
    let radius = if rows.len() <= LOW_ROWS { 4 } else { 2 };
    let layers = by_colour.into_iter();
    layers
        .map(|(colour, points)| Layer::Points {
            colour,
            is_ring: false,
            radius,
            points,
        })
        .collect()
}

fn description(model: &RunModel, note: &str) -> String {
    let moves = model.placement.moves();
    let separator = if note.is_empty() { "" } else { " " };
    let mut text = format!(
        "Rows are processes, colours are Sets, the axis is supersteps.{separator}{note} {} in {} supersteps.",
        counted(moves.len(), "move"),
        model.end_superstep() - model.first()
    );
    for moved in moves.iter().take(DESCRIBED) {
        text.push_str(&format!(
            " {} moved from {} to {} after superstep {}.",
            moved.rank,
            model.host(moved.from),
            model.host(moved.to),
            moved.superstep
        ));
    }
    if DESCRIBED < moves.len() {
        text.push_str(" The table has all.");
    }
    text
}

fn table(model: &RunModel, segments: &[Segment]) -> Table {
    Table::of(
        segments.iter().take(ROWS),
        &[
            ("process", &|segment| segment.rank.to_string()),
            ("from", &|segment| segment.from.to_string()),
            ("to", &|segment| segment.to.to_string()),
            ("host", &|segment| model.host(segment.host)),
            ("set", &|segment| {
                model.sets.name_of(segment.host).to_owned()
            }),
        ],
    )
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
/// The most rows that are as high as a point.
const LOW_ROWS: usize = 80;
/// Number of the colour of moves in the legend.
const MOVE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    /// Rows of a table without the set.
    fn rows(model: &RunModel) -> Vec<String> {
        let (_, table) = plot(model).unwrap();
        let rows = table.rows().iter().map(|row| row[..4].join(" "));
        rows.collect()
    }

    #[test]
    fn rows_are_processes_and_every_move_is_a_point() {
        let model = run(4, 100, &[(4, 0, 3), (9, 0, 1), (9, 2, 0)]);
        assert_eq!(
            rows(&model),
            [
                "p1 0 4 h0",
                "p1 4 9 h3",
                "p1 9 100 h1",
                "p2 0 100 h1",
                "p3 0 9 h2",
                "p3 9 100 h0",
                "p4 0 100 h3"
            ]
        );
        let svg = timeline(&model).unwrap().svg;
        let (_, data) = svg.split_once("<g class=\"data\"").unwrap();
        assert_eq!(data.matches("<circle").count(), 3, "{svg}");
        assert_eq!(data.matches("<rect").count(), 7, "{svg}");
        assert!(
            svg.contains("p3 moved from h2 to h0 after superstep 9."),
            "{svg}"
        );
        assert!(svg.contains("data-scale=\"log\""), "{svg}");
        let late = run(4, 100, &[(11, 0, 3)]);
        assert!(
            timeline(&late)
                .unwrap()
                .svg
                .contains("data-scale=\"linear\"")
        );
    }

    #[test]
    fn of_many_processes_those_that_moved_are_shown() {
        let still = run(300, 10, &[]);
        assert!(timeline(&still).is_none());
        let model = run(300, 10, &[(4, 7, 250), (5, 299, 0)]);
        assert_eq!(
            rows(&model),
            ["p8 0 4 h7", "p8 4 10 h250", "p300 0 5 h299", "p300 5 10 h0"]
        );
        let svg = timeline(&model).unwrap().svg;
        assert!(svg.contains("The 2 processes that moved, of 300."), "{svg}");
    }

    #[test]
    fn a_process_that_moves_before_every_superstep_does_not_fill_the_page() {
        let moves: Vec<(u64, u32, u32)> = (1..20_000)
            .map(|superstep| (superstep, 1, u32::from(superstep % 2 == 0)))
            .collect();
        let model = run(2, 20_000, &moves);
        let svg = timeline(&model).unwrap().svg;
        assert!(svg.matches("<rect").count() < 200, "{}", svg.len());
        assert!(!svg.contains("r=\"80\""), "moves are not marked");
        assert_eq!(rows(&model).len(), ROWS);
    }
}
