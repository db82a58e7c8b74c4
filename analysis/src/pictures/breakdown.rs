//! Where the time of supersteps went.

use super::picture::{Picture, Table, is_early, position};
use crate::chart::{Layer, Mark, Panel, Plot};
use crate::text::duration;
use crate::view::{Bin, View};

/// The parts of supersteps, on each other.
pub(crate) fn breakdown(view: &View) -> Picture {
    let bins = view.bins.reduced(BINS);
    let total = view.bins.total();
    let has_mean = total.mean.is_some();
    let parts = parts(has_mean);
    let mut floor: Vec<f64> = bins.iter().map(|_| 0.0).collect();
    let mut layers = Vec::new();
    for (name, colour) in &parts {
        let mut points = Vec::new();
        for ((first, bin), low) in bins.iter().zip(&mut floor) {
            let high = *low + bin.per_superstep(part(bin, name));
            let (from, to) = (position(first), position(first + bin.supersteps));
            points.extend([(from, *low, high), (to, *low, high)]);
            *low = high;
        }
        layers.push(Layer::Area {
            colour: *colour,
            strength: 0.8,
            points,
        });
    }
    let size = bins.size();
    let plot = Plot {
        title: format!("Where supersteps went, scenario {}", view.run.scenario),
        note: sentence(&total, &parts),
        description: format!(
            "Seconds of a superstep over supersteps, in parts. {}",
            sentence(&total, &parts)
        ),
        legend: parts
            .iter()
            .map(|(name, colour)| ((*name).to_owned(), Mark::Area, *colour))
            .collect(),
        supersteps: (view.first(), view.end),
        is_log: is_early(view),
        panels: vec![Panel {
            label: match size {
                1 => "seconds".to_owned(),
                size => format!("seconds, mean of {size}"),
            },
            rows: None,
            is_compact: false,
            layers,
        }],
    };
    Picture {
        svg: plot.svg(),
        table: table(view, &parts),
    }
}

/// Names of the parts with the numbers of their colours, from the bottom.
fn parts(has_mean: bool) -> Vec<(&'static str, usize)> {
    if has_mean {
        vec![(MEAN, 2), (IMBALANCE, 1), (REST, 0), (CALLS, 3)]
    } else {
        vec![(SLOWEST, 1), (REST, 0), (CALLS, 3)]
    }
}

/// A part of all supersteps of a bin, in seconds.
fn part(bin: &Bin, name: &str) -> f64 {
    let mean = bin.mean.unwrap_or_default().min(bin.computation);
    match name {
        MEAN => mean,
        IMBALANCE => bin.computation - mean,
        SLOWEST => bin.computation,
        // Times of processors may be more than those of clocks.
        REST => (bin.seconds - bin.computation).max(0.0),
        _ => bin.calls,
    }
}

fn sentence(total: &Bin, parts: &[(&str, usize)]) -> String {
    let all = total.seconds + total.calls;
    if all <= 0.0 {
        return "No superstep took any time.".to_owned();
    }
    let described = parts.iter().map(|(name, _)| {
        let seconds = part(total, name);
        let share = 100.0 * seconds / all;
        format!("{name} {} ({share:.1} %)", duration(seconds))
    });
    format!(
        "Of {}: {}.",
        duration(all),
        described.collect::<Vec<_>>().join(", ")
    )
}

fn table(view: &View, parts: &[(&str, usize)]) -> Table {
    let has_mean = 3 < parts.len();
    let bins = view.bins.reduced(ROWS);
    let rows = bins.iter().map(|(first, bin)| {
        let mean = |seconds: f64| bin.per_superstep(seconds).to_string();
        vec![
            first.to_string(),
            (first + bin.supersteps).to_string(),
            if has_mean {
                mean(part(bin, MEAN))
            } else {
                String::new()
            },
            mean(bin.computation),
            mean(part(bin, REST)),
            mean(bin.calls),
        ]
    });
    Table {
        header: vec![
            "from",
            "to",
            "mean_computation_seconds",
            "slowest_computation_seconds",
            "rest_seconds",
            "call_seconds",
        ],
        rows: rows.collect(),
    }
}

/// Names of parts.
const MEAN: &str = "mean computation";
const IMBALANCE: &str = "waiting for the slowest process";
const SLOWEST: &str = "computation of the slowest process";
const REST: &str = "communication and barrier";
const CALLS: &str = "calls and joins";
/// The most bins that are drawn.
const BINS: usize = 500;
/// The most rows of the table.
const ROWS: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;

    #[test]
    fn the_parts_of_a_superstep_are_all_of_it() {
        let picture = breakdown(&sample::run(2, 8, &[]));
        let words = "Of 8 s: mean computation 4 s (50.0 %), waiting for the slowest process 2 s (25.0 %), communication and \
                     barrier 2 s (25.0 %), calls and joins 0 s (0.0 %).";
        assert!(picture.svg.contains(words), "{}", picture.svg);
        assert_eq!(
            picture.table.rows[3],
            ["3", "4", "0.5", "0.75", "0.25", "0"]
        );
        assert_eq!(picture.table.rows.len(), 8);
    }

    #[test]
    fn a_run_without_supersteps_has_an_empty_picture() {
        let picture = breakdown(&sample::run(2, 0, &[]));
        assert!(
            picture.svg.contains("No superstep took any time."),
            "{}",
            picture.svg
        );
        assert!(!picture.svg.contains("NaN"), "{}", picture.svg);
    }
}
