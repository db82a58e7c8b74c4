//! How long supersteps took, with those of scenario i and the calls, and where their time went.

use bsp::numbers::{length, position, real};

use crate::chart::{Layer, Mark, Panel, Plot};
use crate::document::Table;
use crate::explain::{Explanation, Inquiry, verdict};
use crate::pictures::{Picture, is_at_start, is_early};
use crate::run::{Bin, RunCall, RunModel};
use crate::text::{counted, duration, maybe, rounded};

impl Inquiry {
    /// The picture of `answer`: the terms of PM if the answer has them, otherwise the supersteps of the run.
    pub fn svg(&self, answer: &Explanation) -> String {
        match &answer.forces {
            Some(forces) => forces.bars().svg(),
            None => {
                let model = self.model();
                supersteps(model, verdict(model).unwrap_or_default()).svg
            }
        }
    }
}

/// The superstep times of a run and of scenario i, the calls marked, under `note`. If there are many supersteps, a point
/// of the line is a mean of several, and an area shows the shortest and the longest of them.
pub(crate) fn supersteps(model: &RunModel, note: String) -> Picture {
    let (panel, legend) = superstep_panel(model);
    let plot = Plot {
        title: format!(
            "Supersteps of {}, scenario {}",
            counted(model.run.placement.len(), "process"),
            model.run.scenario
        ),
        description: format!("{note} {}", description(model)),
        note,
        legend,
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early_run(model),
        panels: vec![panel],
    };
    Picture {
        svg: plot.svg(),
        table: table(model),
    }
}

/// The superstep times of several runs with their names, over each other.
pub(crate) fn compared(runs: &[(&str, &RunModel)]) -> String {
    let ends = runs
        .iter()
        .map(|(_, model)| (model.first(), model.end_superstep()));
    let ends = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let mut layers = Vec::new();
    let mut legend = Vec::new();
    let mut description = "Seconds of supersteps over supersteps.".to_owned();
    for (colour, (name, model)) in runs.iter().enumerate() {
        let points = points(model, &model.times);
        layers.push(line(&points, colour, RUNS <= colour));
        let mark = if RUNS <= colour {
            Mark::Dashes
        } else {
            Mark::Line
        };
        legend.push(((*name).to_owned(), mark, colour));
        description.push_str(&format!(" {name}: {}", description_of(model)));
    }
    let is_log = runs.iter().all(|(_, model)| is_early_run(model));
    Plot {
        title: "Supersteps of all runs".to_owned(),
        note: String::new(),
        description,
        legend,
        supersteps: ends.unwrap_or_default(),
        is_log,
        panels: vec![Panel {
            label: label(runs.iter().map(|(_, model)| size(model)).max()),
            rows: None,
            is_compact: false,
            is_log: false,
            layers,
        }],
    }
    .svg()
}

/// The panel with the superstep times, and its legend.
pub(super) fn superstep_panel(model: &RunModel) -> (Panel, Vec<(String, Mark, usize)>) {
    let own = points(model, &model.times);
    let mut layers = Vec::new();
    let scenario = format!("scenario {}", model.run.scenario);
    let mut legend = vec![(scenario, Mark::Line, OWN)];
    if 1 < size(model) {
        layers.push(area(&own));
        legend.push(("shortest to longest".to_owned(), Mark::Area, OWN));
    }
    if let Some(baseline) = &model.baseline {
        let shown = baseline.times.len().min(model.times.len());
        let alone = points(model, &baseline.times[..shown]);
        layers.push(line(&alone, ALONE, true));
        legend.push(("scenario i".to_owned(), Mark::Dashes, ALONE));
    }
    layers.push(line(&own, OWN, false));
    let calls = |has_moved: bool| {
        let calls = model.calls.iter();
        calls.filter(move |call| call.migrations.is_empty() != has_moved)
    };
    for (name, colour, is_ring, calls) in [
        ("call without moves", QUIET, true, calls(false)),
        ("call that moved processes", MOVING, false, calls(true)),
    ] {
        let calls: Vec<&RunCall> = calls.collect();
        if !calls.is_empty() {
            let mark = if is_ring { Mark::Rings } else { Mark::Points };
            legend.push((name.to_owned(), mark, colour));
            layers.push(marks(model, &own, &calls, (colour, is_ring)));
        }
    }
    let panel = Panel {
        label: label(Some(size(model))),
        rows: None,
        is_compact: false,
        is_log: false,
        layers,
    };
    (panel, legend)
}

/// From the shortest to the longest of the supersteps of each point.
fn area(points: &[Point]) -> Layer {
    let ends = |point: &Point| {
        let ends = [point.from as f64, point.to as f64];
        ends.map(|end| (end, point.least, point.greatest))
    };
    Layer::Area {
        colour: OWN,
        strength: 0.25,
        points: points.iter().flat_map(ends).collect(),
    }
}

/// Marks for calls on the line through `own`. More than can be told apart are thinned out.
fn marks(
    model: &RunModel,
    own: &[Point],
    calls: &[&RunCall],
    (colour, is_ring): (usize, bool),
) -> Layer {
    let step = calls.len().div_ceil(MARKS).max(1);
    let at = |call: &&RunCall| {
        let place = position(call.summary.superstep.saturating_sub(model.first()));
        // A call after the last superstep is marked on it.
        let point = own.get(place / size(model)).or_else(|| own.last())?;
        Some((call.summary.superstep as f64, point.mean))
    };
    let is_few = calls.len() <= FEW;
    Layer::Points {
        colour,
        is_ring: is_ring && is_few,
        radius: if is_few { 4 } else { 1 },
        points: calls.iter().step_by(step).filter_map(at).collect(),
    }
}

/// Consecutive supersteps.
struct Point {
    from: u64,
    to: u64,
    mean: f64,
    least: f64,
    greatest: f64,
}

/// How many supersteps a point stands for.
fn size(model: &RunModel) -> usize {
    model.times.len().div_ceil(POINTS).max(1)
}

fn points(model: &RunModel, times: &[f64]) -> Vec<Point> {
    let chunks = times.chunks(size(model));
    let mut from = model.run.first_superstep();
    let point = |chunk: &[f64]| {
        let seconds = || chunk.iter().copied();
        let number = chunk.len();
        let point = Point {
            from,
            to: from + length(number),
            mean: seconds().sum::<f64>() / number as f64,
            least: seconds().fold(f64::INFINITY, f64::min),
            greatest: seconds().fold(0.0, f64::max),
        };
        from = point.to;
        point
    };
    chunks.map(point).collect()
}

/// The means of the points as steps; equal neighbours are one.
fn line(points: &[Point], colour: usize, is_dashed: bool) -> Layer {
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let (from, to) = (point.from as f64, point.to as f64);
        match steps.last_mut() {
            Some((end, mean)) if (*mean - point.mean).abs() <= mean.abs() * EQUAL => *end = to,
            _ => steps.extend([(from, point.mean), (to, point.mean)]),
        }
    }
    Layer::Line {
        colour,
        is_dashed,
        points: steps,
    }
}

fn label(size: Option<usize>) -> String {
    match size.unwrap_or(1) {
        1 => "seconds".to_owned(),
        size => format!("seconds, mean of {size}"),
    }
}

fn is_early_run(model: &RunModel) -> bool {
    let mut calls = model.calls.iter().rev();
    let last = calls.find(|call| !call.migrations.is_empty());
    let place = |call: &RunCall| call.summary.superstep.saturating_sub(model.first());
    is_at_start(model.end.supersteps, last.map(place))
}

fn description(model: &RunModel) -> String {
    let moved = model
        .calls
        .iter()
        .filter(|call| !call.migrations.is_empty());
    format!(
        "Seconds of supersteps over supersteps, {} marked, {} of which moved processes. {}",
        counted(model.calls.len(), "call"),
        moved.count(),
        description_of(model)
    )
}

fn description_of(model: &RunModel) -> String {
    let points = points(model, &model.times);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return "There are no supersteps.".to_owned();
    };
    let least = points
        .iter()
        .map(|point| point.least)
        .fold(f64::INFINITY, f64::min);
    let greatest = points
        .iter()
        .map(|point| point.greatest)
        .fold(0.0, f64::max);
    let [start, end, least, greatest] =
        [first.mean, last.mean, least, greatest].map(|seconds| rounded(seconds, 4));
    format!("{start} s at the start, {end} s at the end; least {least} s, greatest {greatest} s.")
}

fn table(model: &RunModel) -> Table {
    let own = points(model, &model.times);
    let alone = model.baseline.as_ref();
    let alone = alone.map_or_else(Vec::new, |baseline| points(model, &baseline.times));
    Table::of(
        own.iter().enumerate(),
        &[
            ("from", &|(_, point)| point.from.to_string()),
            ("to", &|(_, point)| point.to.to_string()),
            ("mean_seconds", &|(_, point)| point.mean.to_string()),
            ("least_seconds", &|(_, point)| point.least.to_string()),
            ("greatest_seconds", &|(_, point)| point.greatest.to_string()),
            ("scenario_i_seconds", &|(index, _)| {
                maybe(alone.get(*index), |alone| alone.mean.to_string())
            }),
        ],
    )
}

/// The most points of a line.
const POINTS: usize = 2_000;
/// Means that differ by a smaller part are equal.
const EQUAL: f64 = 1e-6;
/// The most calls of a kind with large marks.
const FEW: usize = 100;
/// The most marks of a kind.
const MARKS: usize = 1_000;
/// Number of runs with a colour of their own.
const RUNS: usize = 7;
/// Numbers of colours.
const OWN: usize = 0;
const ALONE: usize = 6;
const MOVING: usize = 3;
const QUIET: usize = 1;

/// The parts of supersteps, on each other.
pub(crate) fn breakdown(model: &RunModel) -> Picture {
    let bins = model.bins.reduced(BINS);
    let total = model.bins.total();
    let has_mean = total.mean.is_some();
    let parts = parts(has_mean);
    let mut floor: Vec<f64> = bins.iter().map(|_| 0.0).collect();
    let mut layers = Vec::new();
    for (name, colour) in &parts {
        let mut points = Vec::new();
        for ((first, bin), low) in bins.iter().zip(&mut floor) {
            let high = *low + bin.per_superstep(part(bin, name));
            let (from, to) = (real(first), real(first + bin.supersteps));
            points.extend([(from, *low, high), (to, *low, high)]);
            *low = high;
        }
        layers.push(Layer::Area {
            colour: *colour,
            strength: 0.8,
            points,
        });
    }
    let plot = Plot {
        title: format!("Where supersteps went, scenario {}", model.run.scenario),
        note: sentence(&total, &parts),
        description: format!(
            "Seconds of a superstep over supersteps, in parts. {}",
            sentence(&total, &parts)
        ),
        legend: parts
            .iter()
            .map(|(name, colour)| ((*name).to_owned(), Mark::Area, *colour))
            .collect(),
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early(model),
        panels: vec![Panel {
            label: label(Some(position(bins.size()))),
            rows: None,
            is_compact: false,
            is_log: false,
            layers,
        }],
    };
    Picture {
        svg: plot.svg(),
        table: breakdown_table(model, &parts),
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

fn breakdown_table(model: &RunModel, parts: &[(&str, usize)]) -> Table {
    let has_mean = 3 < parts.len();
    let bins = model.bins.reduced(ROWS);
    let mean = |bin: &Bin, seconds: f64| bin.per_superstep(seconds).to_string();
    Table::of(
        bins.iter(),
        &[
            ("from", &|(first, _)| first.to_string()),
            ("to", &|(first, bin)| (first + bin.supersteps).to_string()),
            ("mean_computation_seconds", &|(_, bin)| {
                maybe(has_mean.then(|| part(bin, MEAN)), |seconds| {
                    mean(bin, seconds)
                })
            }),
            ("slowest_computation_seconds", &|(_, bin)| {
                mean(bin, bin.computation)
            }),
            ("rest_seconds", &|(_, bin)| mean(bin, part(bin, REST))),
            ("call_seconds", &|(_, bin)| mean(bin, bin.calls)),
        ],
    )
}

/// Names of parts.
const MEAN: &str = "mean computation";
const IMBALANCE: &str = "waiting for the slowest process";
const SLOWEST: &str = "computation of the slowest process";
const REST: &str = "communication and barrier";
const CALLS: &str = "calls and joins";
/// The most bins that are drawn.
const BINS: usize = 500;
/// The most rows of the table of parts.
const ROWS: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn the_parts_of_a_superstep_are_all_of_it() {
        let picture = breakdown(&run(2, 8, &[]));
        let words = "Of 8 s: mean computation 4 s (50.0 %), waiting for the slowest process 2 s (25.0 %), communication and \
                     barrier 2 s (25.0 %), calls and joins 0 s (0.0 %).";
        assert!(picture.svg.contains(words), "{}", picture.svg);
        assert_eq!(
            picture.table.rows()[3],
            ["3", "4", "0.5", "0.75", "0.25", "0"]
        );
        assert_eq!(picture.table.rows().len(), 8);
    }

    #[test]
    fn a_run_without_supersteps_has_an_empty_picture() {
        let picture = breakdown(&run(2, 0, &[]));
        assert!(
            picture.svg.contains("No superstep took any time."),
            "{}",
            picture.svg
        );
        assert!(!picture.svg.contains("NaN"), "{}", picture.svg);
    }
}
