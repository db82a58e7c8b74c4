//! The chart of a whole run: how long its supersteps took, with those of scenario i, and its calls.

use crate::chart::{Lines, Scale, Series, Style};
use crate::explain::durations::{SuperstepDuration, mean};
use crate::explain::history::{ExplainedCall, History};
use crate::explain::overview;

/// The superstep times of the run and of scenario i, the calls marked, under the verdict on the run. If there are
/// many supersteps, a point is the mean of several.
pub(super) fn svg(history: &History) -> String {
    let size = history.supersteps.len().div_ceil(POINTS).max(1);
    let moved = |call: &&ExplainedCall| !call.migrations.is_empty();
    let calls = || history.calls.iter();
    let series = |name: &str, points, style| Series {
        name: name.to_owned(),
        points,
        style,
        ..Series::default()
    };
    let baseline = history.baseline.as_ref();
    let mut all = vec![series(
        &format!("scenario {}", history.run.scenario),
        line(history, &history.supersteps, size),
        Style::Line,
    )];
    if let Some(baseline) = baseline {
        let alone = &baseline.supersteps;
        let shown = &alone[..alone.len().min(history.supersteps.len())];
        all.push(series(
            "scenario i",
            line(history, shown, size),
            Style::Dashed,
        ));
    }
    all.push(series(
        "call that moved processes",
        marks(history, calls().filter(moved), size),
        Style::Marks,
    ));
    all.push(series(
        "call without moves",
        marks(history, calls().filter(|call| !moved(call)), size),
        Style::Rings,
    ));
    Lines {
        title: format!(
            "Supersteps of {} processes, scenario {}",
            history.run.placement.len(),
            history.run.scenario
        ),
        note: overview::verdict(history).unwrap_or_default(),
        x_label: "superstep".to_owned(),
        y_label: match size {
            1 => "seconds".to_owned(),
            size => format!("seconds, mean of {size} supersteps"),
        },
        x_is_log: false,
        y_scale: Scale::default(),
        series: all,
    }
    .svg()
}

fn line(history: &History, supersteps: &[SuperstepDuration], size: usize) -> Vec<(f64, f64)> {
    let starts = (0..supersteps.len()).step_by(size);
    let point = |start: usize| {
        let seconds = point(supersteps, start, size)?;
        Some((number(history, start), seconds))
    };
    starts.filter_map(point).collect()
}

/// A mark for each call, on the line.
fn marks<'a>(
    history: &History,
    calls: impl Iterator<Item = &'a ExplainedCall>,
    size: usize,
) -> Vec<(f64, f64)> {
    let on_the_line = |call: &ExplainedCall| {
        let index = history.place(call.summary.superstep);
        let seconds = point(&history.supersteps, index / size * size, size)?;
        Some((number(history, index), seconds))
    };
    calls.filter_map(on_the_line).collect()
}

/// The seconds of the point of the supersteps from place `start` on.
fn point(supersteps: &[SuperstepDuration], start: usize, size: usize) -> Option<f64> {
    let end = supersteps.len().min(start + size);
    mean(supersteps, start..end)
}

/// The superstep at a place of the run.
fn number(history: &History, place: usize) -> f64 {
    let number = |number: u64| u32::try_from(number).map_or(f64::INFINITY, f64::from);
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    number(place) + number(history.run.first_superstep())
}

/// Maximum number of points of a line.
const POINTS: usize = 2_000;
