//! How busy hosts were, and which of them ended last.

use std::collections::BTreeMap;

use super::picture::{Picture, Table, is_early, position};
use crate::chart::{Cell, Layer, Panel, Plot};
use crate::text::{counted, rounded};
use crate::view::{LoadBin, View};

/// Hosts over supersteps: how busy they were, if the record has calls, and how often each had the slowest process.
pub(crate) fn load(view: &View) -> Picture {
    let load = &view.load;
    let names: Vec<String> = load.rows.iter().map(|row| row.name.clone()).collect();
    let panel = |label: &str, colour: usize, value: &dyn Fn(&LoadBin, u64) -> Option<f64>| Panel {
        label: label.to_owned(),
        rows: Some(names.clone()),
        is_compact: true,
        layers: layers(view, colour, value),
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
        title: format!("Load of hosts, scenario {}", view.run.scenario),
        description: format!("{note} {}", description(view)),
        note,
        legend: Vec::new(),
        supersteps: (view.first(), view.end),
        is_log: is_early(view),
        panels,
    };
    Picture {
        svg: plot.svg(),
        table: table(view),
    }
}

/// The cells whose value is known, equal neighbours as one; zero has none.
fn layers(view: &View, colour: usize, value: &dyn Fn(&LoadBin, u64) -> Option<f64>) -> Vec<Layer> {
    let mut by_level: BTreeMap<u64, Vec<Cell>> = BTreeMap::new();
    for (row, bins) in view.load.bins.iter().enumerate() {
        let mut last: Option<(u64, Cell)> = None;
        let mut close = |last: &mut Option<(u64, Cell)>| {
            if let Some((level, cell)) = last.take() {
                by_level.entry(level).or_default().push(cell);
            }
        };
        for (index, bin) in bins.iter().enumerate() {
            let supersteps = view.load.supersteps(index, view.end);
            let length = supersteps.end.saturating_sub(supersteps.start).max(1);
            let level = value(bin, length).map_or(0, level);
            let (from, to) = (position(supersteps.start), position(supersteps.end));
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
            strength: level as f64 / LEVELS as f64,
            cells,
        })
        .collect()
}

/// The strength of a colour for a share, from 0 for nothing.
fn level(share: f64) -> u64 {
    let level = (share.clamp(0.0, 1.0) * LEVELS as f64).ceil();
    (0..=LEVELS)
        .rev()
        .find(|number| *number as f64 <= level)
        .unwrap_or_default()
}

fn description(view: &View) -> String {
    let rows = view.load.rows.iter().zip(&view.load.bins);
    let slowest = rows.map(|(row, bins)| {
        let supersteps: u64 = bins.iter().map(|bin| bin.slowest).sum();
        (supersteps, &row.name)
    });
    let all = view.end - view.first();
    let most = slowest.reduce(|one, other| if one.0 < other.0 { other } else { one });
    most.map_or_else(String::new, |(supersteps, name)| {
        let share = 100.0 * supersteps as f64 / all.max(1) as f64;
        format!(
            "The slowest process was on {name} in {} of {}: {} %.",
            supersteps,
            counted(usize::try_from(all).unwrap_or(usize::MAX), "superstep"),
            rounded(share, 1)
        )
    })
}

fn table(view: &View) -> Table {
    let mut rows = Vec::new();
    for (row, bins) in view.load.rows.iter().zip(&view.load.bins) {
        for (index, bin) in bins.iter().enumerate() {
            let supersteps = view.load.supersteps(index, view.end);
            rows.push(vec![
                row.name.clone(),
                supersteps.start.to_string(),
                supersteps.end.to_string(),
                bin.share()
                    .map_or_else(String::new, |share| format!("{share:.4}")),
                bin.slowest.to_string(),
            ]);
        }
    }
    Table {
        header: vec!["host", "from", "to", "busy", "slowest_supersteps"],
        rows,
    }
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
const LEVELS: u64 = 8;
/// Numbers of colours.
const BUSY: usize = 0;
const SLOWEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;

    #[test]
    fn strengths_grow_with_shares() {
        assert_eq!(
            [0.0, 0.01, 0.125, 0.126, 0.99, 1.0, 7.0].map(level),
            [0, 1, 1, 2, 8, 8, 8]
        );
    }

    #[test]
    fn equal_neighbours_are_one_rectangle() {
        let view = sample::run(4, 200, &[(100, 0, 3)]);
        let svg = load(&view).svg;
        // The slowest process was on one host, and then on another.
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
        assert!(
            svg.contains("The slowest process was on h0 in 100 of 200 supersteps"),
            "{svg}"
        );
    }
}
