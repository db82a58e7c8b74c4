//! Hosts over supersteps: how many processes they had, and how busy they were.

use std::collections::BTreeMap;

use bsp::HostId;
use bsp::numbers::{position, real};

use crate::chart::{Cell, Layer, Panel, Plot};
use crate::document::Table;
use crate::pictures::{Picture, SetColours, is_early};
use crate::run::{LoadBin, RunModel};
use crate::text::{counted, maybe, rounded, without_zeros};

/// Hosts over supersteps, the stronger the more processes they had.
pub(crate) fn hosts(model: &RunModel) -> Picture {
    let (plot, table) = hosts_panel(model);
    Picture {
        svg: plot.svg(),
        table,
    }
}

/// The same before it is drawn.
pub(super) fn hosts_panel(model: &RunModel) -> (Plot, Table) {
    let spans = spans(model);
    // Of a host: rows may have several.
    let lengths: Vec<usize> = model.load.rows.iter().map(|row| row.hosts.len()).collect();
    let of_a_host = |span: &Span| span.processes as f64 / lengths[span.row] as f64;
    let most = spans.iter().map(of_a_host).fold(0.0, f64::max);
    let colours = SetColours::new(model);
    let mut layers: BTreeMap<(usize, u64), Vec<Cell>> = BTreeMap::new();
    let rows = &model.load.rows;
    for span in spans.iter().filter(|span| 0 < span.processes) {
        let first = rows.iter().nth(span.row).map_or(0, |row| row.hosts.start);
        let host = HostId(u32::try_from(first).unwrap_or(u32::MAX));
        let level = level(of_a_host(span) / most);
        let cells = layers.entry((colours.of_host(model, host), level));
        cells.or_default().push(Cell {
            row: span.row,
            from: real(span.from),
            to: real(span.to),
        });
    }
    let layers = layers.into_iter();
    let layers = layers.map(|((colour, level), cells)| Layer::Cells {
        colour,
        strength: level as f64 / LEVELS as f64,
        cells,
    });
    let note = format!(
        "The stronger a colour, the more processes a host had; the strongest stands for {}.",
        without_zeros(&format!("{most:.2}"))
    );
    let description = format!(
        "Rows are hosts, the axis is supersteps. {} of hosts that had processes. {note}",
        counted(rows.len(), "row")
    );
    let plot = Plot {
        title: format!("Processes on hosts, scenario {}", model.run.scenario),
        note,
        description,
        legend: colours.legend(model),
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early(model),
        panels: vec![Panel {
            label: "host".to_owned(),
            rows: Some(rows.iter().map(|row| row.name.clone()).collect()),
            is_compact: false,
            is_log: false,
            layers: layers.collect(),
        }],
    };
    let named: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.set.as_str()))
        .collect();
    let table = Table::of(
        &spans,
        &[
            ("host", &|span| named[span.row].0.to_owned()),
            ("from", &|span| span.from.to_string()),
            ("to", &|span| span.to.to_string()),
            ("set", &|span| named[span.row].1.to_owned()),
            ("processes", &|span| span.processes.to_string()),
        ],
    );
    (plot, table)
}

/// The strength of a colour for a share, from 1.
fn level(share: f64) -> u64 {
    (1..LEVELS)
        .find(|level| share * LEVELS as f64 <= *level as f64)
        .unwrap_or(LEVELS)
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
fn spans(model: &RunModel) -> Vec<Span> {
    let rows = &model.load.rows;
    let first = model.first();
    let mut counts = vec![0_u64; rows.len()];
    for host in model.placement.start() {
        if let Some(row) = rows.row_of(*host) {
            counts[row] += 1;
        }
    }
    let moves = model.placement.moves();
    let step = if moves.len() <= MOVES {
        1
    } else {
        (model.end_superstep() - first).div_ceil(COLUMNS).max(1)
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
        close(row, model.end_superstep(), u64::MAX, &mut shown, &mut since);
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

/// Hosts over supersteps: how busy they were, if the record has calls, and how often each had the slowest process.
pub(crate) fn load(model: &RunModel) -> Picture {
    let load = &model.load;
    let names: Vec<String> = load.rows.iter().map(|row| row.name.clone()).collect();
    let panel = |label: &str, colour: usize, value: &dyn Fn(&LoadBin, u64) -> Option<f64>| Panel {
        label: label.to_owned(),
        rows: Some(names.clone()),
        is_compact: true,
        is_log: false,
        layers: layers(model, colour, value),
    };
    let mut panels = Vec::new();
    let mut note = String::new();
    if load.has_work {
        panels.push(panel("busy hosts", BUSY, &|bin, _| bin.share()));
        note.push_str(ESTIMATED);
    } else {
        note.push_str(UNKNOWN);
    }
    panels.push(panel("slowest process", SLOWEST, &|bin, supersteps| {
        Some(bin.slowest as f64 / supersteps as f64).filter(|share| 0.0 < *share)
    }));
    note.push_str(WAITED);
    let plot = Plot {
        title: format!("Load of hosts, scenario {}", model.run.scenario),
        description: format!("{note} {}", description(model)),
        note,
        legend: Vec::new(),
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early(model),
        panels,
    };
    Picture {
        svg: plot.svg(),
        table: table(model),
    }
}

/// The cells whose value is known, equal neighbours as one; zero has none.
fn layers(
    model: &RunModel,
    colour: usize,
    value: &dyn Fn(&LoadBin, u64) -> Option<f64>,
) -> Vec<Layer> {
    let mut by_level: BTreeMap<u64, Vec<Cell>> = BTreeMap::new();
    for (row, bins) in model.load.bins.iter().enumerate() {
        let mut last: Option<(u64, Cell)> = None;
        let mut close = |last: &mut Option<(u64, Cell)>| {
            if let Some((level, cell)) = last.take() {
                by_level.entry(level).or_default().push(cell);
            }
        };
        for (index, bin) in bins.iter().enumerate() {
            let supersteps = model.load.supersteps(index, model.end_superstep());
            let length = supersteps.end.saturating_sub(supersteps.start).max(1);
            let level = value(bin, length).map_or(0, load_level);
            let (from, to) = (real(supersteps.start), real(supersteps.end));
            match &mut last {
                Some((before, cell)) if *before == level => cell.to = to,
                _ => {
                    close(&mut last);
                    last = (0 < level).then_some((level, Cell { row, from, to }));
                }
            }
        }
        close(&mut last);
    }
    let layers = by_level.into_iter();
    layers
        .map(|(level, cells)| Layer::Cells {
            colour,
            strength: level as f64 / LOAD_LEVELS as f64,
            cells,
        })
        .collect()
}

/// The strength of a colour for a share, from 0 for nothing.
fn load_level(share: f64) -> u64 {
    let level = (share.clamp(0.0, 1.0) * LOAD_LEVELS as f64).ceil();
    (0..=LOAD_LEVELS)
        .rev()
        .find(|number| *number as f64 <= level)
        .unwrap_or_default()
}

fn description(model: &RunModel) -> String {
    let rows = model.load.rows.iter().zip(&model.load.bins);
    let slowest = rows.map(|(row, bins)| {
        let supersteps: u64 = bins.iter().map(|bin| bin.slowest).sum();
        (supersteps, &row.name)
    });
    let all = model.end_superstep() - model.first();
    let most = slowest.reduce(|one, other| if one.0 < other.0 { other } else { one });
    maybe(most, |(supersteps, name)| {
        let share = 100.0 * supersteps as f64 / all.max(1) as f64;
        format!(
            "The slowest process was on {name} in {} of {}: {} %.",
            supersteps,
            counted(position(all), "superstep"),
            rounded(share, 1)
        )
    })
}

fn table(model: &RunModel) -> Table {
    let load = &model.load;
    let rows = load.rows.iter().zip(&load.bins).flat_map(|(row, bins)| {
        let bins = bins.iter().enumerate();
        bins.map(move |(index, bin)| (row, load.supersteps(index, model.end_superstep()), bin))
    });
    Table::of(
        rows,
        &[
            ("host", &|(row, ..)| row.name.clone()),
            ("from", &|(_, supersteps, _)| supersteps.start.to_string()),
            ("to", &|(_, supersteps, _)| supersteps.end.to_string()),
            ("busy", &|(.., bin)| {
                maybe(bin.share(), |share| format!("{share:.4}"))
            }),
            ("slowest_supersteps", &|(.., bin)| bin.slowest.to_string()),
        ],
    )
}

/// How the load is known.
const ESTIMATED: &str = "Above: the part of a superstep in which a host computes, estimated: what its processes executed before \
                         the last call, or before the first one, on what the host offered then. Below: the part";
/// What a record without calls has.
const UNKNOWN: &str = "Without a call the record does not say how busy hosts were. The part";
/// What the panel of the slowest process shows.
const WAITED: &str = " of the supersteps in which the process that computed longest was on the host; the record names it \
                      for every superstep.";
/// Number of strengths of a colour.
const LOAD_LEVELS: u64 = 8;
/// Numbers of colours.
const BUSY: usize = 0;
const SLOWEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    fn rows(model: &RunModel) -> Vec<String> {
        hosts(model)
            .table
            .rows()
            .iter()
            .map(|row| row.join(" "))
            .collect()
    }

    #[test]
    fn processes_are_counted_on_every_host_that_had_any() {
        let model = run(4, 20, &[(4, 0, 3), (4, 1, 3), (9, 0, 1)]);
        assert_eq!(
            rows(&model),
            [
                "h0 0 4 one 1",
                "h0 4 20 one 0",
                "h1 0 4 one 1",
                "h1 4 9 one 0",
                "h1 9 20 one 1",
                "h2 0 20 other 1",
                "h3 0 4 other 1",
                "h3 4 9 other 3",
                "h3 9 20 other 2",
            ]
        );
        let svg = hosts(&model).svg;
        assert!(svg.contains("the strongest stands for 3."), "{svg}");
    }

    #[test]
    fn a_host_with_more_processes_is_never_fainter() {
        let levels = [0.01, 0.17, 0.5, 0.99, 1.0].map(level);
        assert_eq!(levels, [1, 2, 3, 6, 6]);
        assert!(levels.is_sorted());
    }

    #[test]
    fn many_moves_are_counted_in_as_many_spans_as_can_be_seen() {
        let moves: Vec<(u64, u32, u32)> = (1..9_600)
            .map(|superstep| (superstep, 1, u32::from(superstep % 2 == 0)))
            .collect();
        let model = run(2, 9_600, &moves);
        let rows = rows(&model);
        assert!(rows.len() <= 2 * 241, "{}", rows.len());
        let last = rows.last().unwrap();
        assert!(
            last.contains(" 9600 other 1") || last.contains(" 9600 other 0"),
            "{last}"
        );
    }

    #[test]
    fn strengths_grow_with_shares() {
        assert_eq!(
            [0.0, 0.01, 0.125, 0.126, 0.99, 1.0, 7.0].map(load_level),
            [0, 1, 1, 2, 8, 8, 8]
        );
    }

    #[test]
    fn equal_neighbours_are_one_rectangle() {
        let model = run(4, 200, &[(100, 0, 3)]);
        let svg = load(&model).svg;
        // The slowest process was on one host, and then on another.
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
        assert!(
            svg.contains("The slowest process was on h0 in 100 of 200 supersteps"),
            "{svg}"
        );
    }
}
