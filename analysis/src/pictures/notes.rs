//! What processes noted, over supersteps: a panel for each name.

use std::ops::RangeInclusive;

use bsp::Note;
use bsp::numbers::real;

use crate::chart::{Layer, Mark, Panel, Plot};
use crate::document::Table;
use crate::pictures::{Picture, is_early};
use crate::run::{NoteReport, RunModel};
use crate::text::{counted, rounded};

/// The notes of a run; `None` if there are none. A line is the mean of the values of a superstep, or of several supersteps if
/// there are many, and an area is between the least and the greatest of them.
pub(crate) fn notes(model: &RunModel) -> Option<Picture> {
    if model.notes.curves().is_empty() {
        return None;
    }
    let mut is_spread = false;
    let mut panels = Vec::new();
    let mut descriptions = Vec::new();
    for curve in model.notes.curves() {
        let panel = panel(model, curve);
        is_spread |= panel
            .layers
            .iter()
            .any(|layer| matches!(layer, Layer::Area { .. }));
        panels.push(panel);
        descriptions.push(description(model, curve));
    }
    let size = model.notes.size();
    let mean = match size {
        1 => "mean of the values".to_owned(),
        size => format!("mean of the values of {size} supersteps"),
    };
    let mut legend = vec![(mean, Mark::Line, COLOUR)];
    if is_spread {
        legend.push(("least to greatest".to_owned(), Mark::Area, COLOUR));
    }
    let note = if model.notes.has_more_than_curves() {
        format!(
            "The first {} names are shown; the record has more.",
            panels.len()
        )
    } else {
        String::new()
    };
    let plot = Plot {
        title: "Notes of the program".to_owned(),
        description: format!("{note} {}", descriptions.join(" "))
            .trim_start()
            .to_owned(),
        note,
        legend,
        supersteps: (model.first(), model.end_superstep()),
        is_log: is_early(model),
        panels,
    };
    Some(Picture {
        svg: plot.svg(),
        table: table(model),
    })
}

fn panel(model: &RunModel, curve: &NoteReport) -> Panel {
    let bins = || model.notes.bins(curve, model.end_superstep());
    let mut layers = Vec::new();
    let is_spread = |values: &Note| values.min < values.max;
    if bins().any(|(_, values)| is_spread(values)) {
        let points = bins().map(|(supersteps, values)| {
            let ends = [supersteps.start, supersteps.end].map(real);
            ends.map(|end| (end, values.min, values.max))
        });
        let is_finite =
            |point: &[(f64, f64, f64); 2]| point[0].1.is_finite() && point[0].2.is_finite();
        layers.extend(
            parts(points, is_finite)
                .into_iter()
                .map(|points| Layer::Area {
                    colour: COLOUR,
                    strength: 0.25,
                    points,
                }),
        );
    }
    let points = bins().map(|(supersteps, values)| {
        let ends = [supersteps.start, supersteps.end].map(real);
        ends.map(|end| (end, values.mean()))
    });
    let is_finite = |point: &[(f64, f64); 2]| point[0].1.is_finite();
    layers.extend(
        parts(points, is_finite)
            .into_iter()
            .map(|points| Layer::Line {
                colour: COLOUR,
                is_dashed: false,
                points,
            }),
    );
    Panel {
        label: curve.name.clone(),
        rows: None,
        is_compact: false,
        is_log: is_log(bins().map(|(_, values)| values)),
        layers,
    }
}

/// The runs of `points` that can be drawn: what is not finite leaves a gap.
fn parts<P: Copy>(
    points: impl Iterator<Item = [P; 2]>,
    is_finite: impl Fn(&[P; 2]) -> bool,
) -> Vec<Vec<P>> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    for point in points {
        if is_finite(&point) {
            part.extend(point);
        } else if !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Whether values are shown over a logarithmic axis: all are above zero, and they span decades, as residuals do.
fn is_log<'a>(bins: impl Iterator<Item = &'a Note>) -> bool {
    let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
    for values in bins.filter(|values| values.mean().is_finite()) {
        // The mean of values of extreme sizes may be none of them.
        least = least.min(values.min).min(values.mean());
        greatest = greatest.max(values.max).max(values.mean());
    }
    let has_ends = MODERATE.contains(&least) && MODERATE.contains(&greatest);
    has_ends && SPAN <= greatest / least
}

/// The curve in words.
fn description(model: &RunModel, curve: &NoteReport) -> String {
    let bins: Vec<&Note> = model
        .notes
        .bins(curve, model.end_superstep())
        .map(|(_, values)| values)
        .collect();
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        return String::new();
    };
    let least = bins
        .iter()
        .map(|values| values.min)
        .fold(f64::INFINITY, f64::min);
    let greatest = bins
        .iter()
        .map(|values| values.max)
        .fold(f64::NEG_INFINITY, f64::max);
    let [first, last, least, greatest] =
        [first.mean(), last.mean(), least, greatest].map(|number| rounded(number, 4));
    let count: u64 = bins
        .iter()
        .map(|values| values.count)
        .fold(0, u64::saturating_add);
    let values = counted(usize::try_from(count).unwrap_or(usize::MAX), "value");
    let name = &curve.name;
    format!(
        "{name}: {values}, {first} at first, {last} at last; least {least}, greatest {greatest}."
    )
}

fn table(model: &RunModel) -> Table {
    let curves = model.notes.curves().iter();
    let rows = curves.flat_map(|curve| {
        let bins = model.notes.bins(curve, model.end_superstep());
        bins.map(move |(supersteps, values)| (curve, supersteps, values))
    });
    Table::of(
        rows,
        &[
            ("note", &|(curve, ..)| curve.name.clone()),
            ("from", &|(_, supersteps, _)| supersteps.start.to_string()),
            ("to", &|(_, supersteps, _)| supersteps.end.to_string()),
            ("values", &|(.., values)| values.count.to_string()),
            ("mean", &|(.., values)| values.mean().to_string()),
            ("least", &|(.., values)| values.min.to_string()),
            ("greatest", &|(.., values)| values.max.to_string()),
        ],
    )
}

/// Values that differ by this factor are shown over a logarithmic axis.
const SPAN: f64 = 1e3;
/// Values of which a logarithmic axis can have all decades.
const MODERATE: RangeInclusive<f64> = 1e-100..=1e100;
/// Number of the colour.
const COLOUR: usize = 0;

#[cfg(test)]
mod tests {
    use bsp::Reductions;
    use record::{Event, Superstep};

    use super::*;
    use crate::run::tests::{reading, run, superstep};

    /// A run whose two processes note `value` of each superstep.
    fn noted(name: &'static str, value: impl Fn(u64) -> [f64; 2]) -> RunModel {
        let mut reading = reading(2);
        for index in 0..10 {
            let mut all = Reductions::default();
            value(index)
                .into_iter()
                .for_each(|value| all.combine(Reductions::noted(name, value)));
            let notes = bsp::reference::conclude(all, index).unwrap().notes;
            reading.take(&Event::Superstep(Superstep {
                notes,
                ..superstep(index)
            }));
        }
        reading.so_far()
    }

    #[test]
    fn notes_have_a_line_an_area_and_a_table() {
        let residual =
            |index: u64| [1.0, 3.0].map(|part| part * 10_f64.powi(-i32::try_from(index).unwrap()));
        let picture = notes(&noted("residual <1>", residual)).unwrap();
        let words = "residual &lt;1&gt;: 20 values, 2.0000 at first, 2.0000e-9 at last; least 1.0000e-9, greatest 3.0000.";
        assert!(picture.svg.contains(words), "{}", picture.svg);
        assert!(
            picture.svg.contains("\n1e-9\n"),
            "the axis is logarithmic: {}",
            picture.svg
        );
        assert!(!picture.svg.contains("NaN"), "{}", picture.svg);
        assert_eq!(
            picture.table.rows()[0],
            ["residual <1>", "0", "1", "2", "2", "1", "3"]
        );
        assert_eq!(picture.table.rows().len(), 10);
    }

    #[test]
    fn what_is_not_finite_leaves_a_gap() {
        let divided = |index: u64| {
            if index == 4 {
                [f64::NAN, 1.0]
            } else {
                [-1.0, 1.0]
            }
        };
        let picture = notes(&noted("x", divided)).unwrap();
        assert_eq!(
            picture.svg.matches("<polyline").count(),
            2 + count_of_axes(&picture.svg)
        );
        assert_eq!(
            picture.table.rows()[4],
            ["x", "4", "5", "2", "NaN", "NaN", "NaN"]
        );
        let endless = notes(&noted("x", |_| [f64::INFINITY, 1.0])).unwrap();
        assert!(
            !endless.svg.contains("inf,") && !endless.svg.contains(",inf"),
            "{}",
            endless.svg
        );
    }

    /// The lines outside of the data.
    fn count_of_axes(svg: &str) -> usize {
        let data: usize = svg
            .split("<g class=\"data\"")
            .skip(1)
            .map(|part| part.matches("<polyline").count())
            .sum();
        svg.matches("<polyline").count() - data
    }

    #[test]
    fn numbers_of_any_size_are_drawn() {
        for extreme in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, 1e100, 1e-100] {
            let picture = notes(&noted("x", |index| {
                [1.0, if index < 5 { 1.0 } else { extreme }]
            }))
            .unwrap();
            let labels = picture.svg.matches("text-anchor=\"end\"").count();
            assert!(labels < 25, "{extreme:e}: {labels} labels");
            assert!(
                !picture.svg.contains("NaN") && !picture.svg.contains("inf"),
                "{}",
                picture.svg
            );
        }
    }

    #[test]
    fn a_run_without_notes_has_no_picture_of_them() {
        assert!(notes(&run(2, 8, &[])).is_none());
    }
}
