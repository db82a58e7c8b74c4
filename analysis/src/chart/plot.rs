//! Panels below each other, over one axis of supersteps.
//!
//! A program that shows the chart can move the axis: the data are elements of groups `data`, the axis is a group `x-axis`,
//! and attributes of the root say where both are.

use std::io;
use std::ops::Range;

use bsp::numbers::position;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::axis::Axis;
use crate::chart::frame::{
    Frame, GAP, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, colour, inner, shown, text_style,
    text_width, with_layers,
};

pub use crate::chart::frame::Mark;

/// Panels below each other, over one axis of supersteps.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Title of the chart.
    pub title: String,
    /// What the chart shows, in sentences below the title; may be empty.
    pub note: String,
    /// What the chart shows, in words: a description for readers without the picture.
    pub description: String,
    /// Legend: name, style, and number of the colour.
    pub legend: Vec<(String, Mark, usize)>,
    /// The first superstep, and the one after the last.
    pub supersteps: (u64, u64),
    /// Whether the axis is logarithmic, by the number of supersteps since the first.
    pub is_log: bool,
    /// From the top.
    pub panels: Vec<Panel>,
}

/// Data over the axis.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Label of the vertical axis, with its unit.
    pub label: String,
    /// Names of rows from the top, if the panel has rows in place of a vertical axis.
    pub rows: Option<Vec<String>>,
    /// Whether its rows are half as high.
    pub is_compact: bool,
    /// Whether the vertical axis is logarithmic; all heights are above zero then.
    pub is_log: bool,
    /// From the back to the front.
    pub layers: Vec<Layer>,
}

/// Where the panels are, in pixels from the upper left corner of the chart.
struct Places {
    /// Left and right end of the axis.
    x: (i32, i32),
    /// Top and bottom of each panel.
    y: Vec<(i32, i32)>,
    /// Height of the chart without its head.
    height: i32,
}

impl Plot {
    /// The chart.
    pub fn svg(&self) -> String {
        let legend = self.legend.iter();
        let legend = legend.map(|(name, mark, colour)| Key {
            name,
            mark: *mark,
            colour: *colour,
        });
        let mut frame = Frame {
            title: &self.title,
            description: self.description.clone(),
            note: &self.note,
            legend: legend.collect(),
            width: WIDTH.unsigned_abs(),
            height: 0,
        };
        let axes: Vec<Axis> = self.panels.iter().map(Panel::axis).collect();
        let places = self.places(frame.head(), &axes);
        frame.height = places.height.unsigned_abs();
        let svg = frame.svg(|area| {
            // Places are those of the whole chart.
            let root = area.use_screen_coord();
            self.draw_axes(&root, &places, &axes)
        });
        let size = (WIDTH, places.height + frame.head());
        let x_axis = drawing(size, |root| self.draw_supersteps(root, &places, &axes));
        let mut layers = format!("<g class=\"x-axis\">\n{x_axis}</g>\n");
        for (index, (panel, axis)) in self.panels.iter().zip(&axes).enumerate() {
            let data = |layer: &Layer| {
                let drawn = drawing((size.0 * FINE, size.1 * FINE), |root| {
                    let [x, y] =
                        [places.x, places.y[index]].map(|(from, to)| (from * FINE, to * FINE));
                    let plane = Cartesian2d::new(self.axis(), axis.clone(), (x.0..x.1, y.1..y.0));
                    layer.draw(&root.apply_coord_spec(plane))
                });
                layer.group(&drawn)
            };
            let data: String = panel.layers.iter().map(data).collect();
            let scale = 1.0 / f64::from(FINE);
            layers.push_str(&format!(
                "<g class=\"data\" transform=\"scale({scale})\">\n{data}</g>\n"
            ));
        }
        with_layers(&svg, &self.attributes(&places), &layers)
    }

    /// What a program has to know to move the axis.
    fn attributes(&self, places: &Places) -> String {
        let panels = self.panels.iter().zip(&places.y);
        let panels = panels.map(|(panel, (top, bottom))| {
            let rows = panel.rows.as_ref().map_or(0, Vec::len);
            format!("{top} {bottom} {rows}")
        });
        let panels: Vec<String> = panels.collect();
        format!(
            "class=\"plot\" data-x=\"{} {}\" data-supersteps=\"{} {}\" data-scale=\"{}\" data-panels=\"{}\"",
            places.x.0,
            places.x.1,
            self.supersteps.0,
            self.supersteps.1,
            if self.is_log { "log" } else { "linear" },
            panels.join(",")
        )
    }

    fn axis(&self) -> SuperstepAxis {
        SuperstepAxis::new(self.supersteps, self.is_log)
    }

    fn places(&self, head: i32, axes: &[Axis]) -> Places {
        let label_areas = self.panels.iter().zip(axes);
        let label_area = label_areas
            .map(|(panel, axis)| panel.label_area(axis))
            .max();
        let left = MARGIN + LINE_HEIGHT + label_area.unwrap_or_default();
        let mut bottom = head;
        let mut y = Vec::new();
        for panel in &self.panels {
            let top = bottom + MARGIN;
            bottom = top + panel.height();
            y.push((top, bottom));
        }
        Places {
            x: (left, WIDTH - 2 * MARGIN),
            y,
            height: bottom - head + 2 * LINE_HEIGHT + MARGIN,
        }
    }

    /// The vertical axes and the names of rows.
    fn draw_axes(
        &self,
        root: &Area<'_>,
        places: &Places,
        axes: &[Axis],
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let all = self.panels.iter().zip(axes).zip(&places.y);
        for ((panel, axis), (top, bottom)) in all {
            let style = text_style(LABEL_SIZE, HPos::Right, VPos::Center);
            let left = places.x.0;
            match &panel.rows {
                Some(rows) => {
                    let most = usize::try_from((bottom - top) / LINE_HEIGHT).unwrap_or_default();
                    let step = rows.len().div_ceil(most.max(1)).max(1);
                    for (row, name) in rows.iter().enumerate().step_by(step) {
                        let y = middle_of_row((*top, *bottom), row, rows.len());
                        let name = shown(name, ROW_NAME.unsigned_abs());
                        root.draw(&Text::new(name, (left - GAP, y), style.clone()))?;
                    }
                }
                None => {
                    let plane = Cartesian2d::<RangedCoordf64, Axis>::new(
                        0.0..1.0,
                        axis.clone(),
                        (left..places.x.1, *bottom..*top),
                    );
                    for tick in axis.ticks() {
                        let y = plane.translate(&(0.0, *tick)).1;
                        let line = [(left, y), (places.x.1, y)];
                        root.draw(&PathElement::new(line, GRID))?;
                        let label = axis.label(*tick);
                        root.draw(&Text::new(label, (left - GAP, y), style.clone()))?;
                    }
                }
            }
            let line = [(left, *top), (left, *bottom)];
            root.draw(&PathElement::new(line, INK))?;
            let style =
                text_style(LABEL_SIZE, HPos::Center, VPos::Top).transform(FontTransform::Rotate270);
            let label = shown(&panel.label, (bottom - top).unsigned_abs().max(80));
            let middle = i32::midpoint(*top, *bottom);
            root.draw(&Text::new(label, (MARGIN / 2, middle), style))?;
        }
        Ok(())
    }

    /// The horizontal axis.
    fn draw_supersteps(
        &self,
        root: &Area<'_>,
        places: &Places,
        axes: &[Axis],
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let axis = self.axis();
        for (top, bottom) in &places.y {
            for (_, x) in axis.places(places.x) {
                root.draw(&PathElement::new([(x, *top), (x, *bottom)], GRID))?;
            }
            let line = [(places.x.0, *bottom), (places.x.1, *bottom)];
            root.draw(&PathElement::new(line, INK))?;
        }
        let below = places.y.last().map_or(0, |(_, bottom)| *bottom);
        let style = text_style(LABEL_SIZE, HPos::Center, VPos::Top);
        if !axes.is_empty() {
            for (label, x) in axis.places(places.x) {
                root.draw(&Text::new(label, (x, below + GAP / 2), style.clone()))?;
            }
        }
        let middle = i32::midpoint(places.x.0, places.x.1);
        let label = if self.is_log {
            "superstep, logarithmic"
        } else {
            "superstep"
        };
        root.draw(&Text::new(label, (middle, below + LINE_HEIGHT), style))
    }
}

impl Panel {
    fn axis(&self) -> Axis {
        match &self.rows {
            Some(rows) => Axis::rows(rows.len()),
            None if self.is_log => Axis::logarithmic(self.layers.iter().flat_map(Layer::heights)),
            None => Axis::linear(self.layers.iter().flat_map(Layer::heights).chain([0.0])),
        }
    }

    fn label_area(&self, axis: &Axis) -> i32 {
        match &self.rows {
            Some(rows) => {
                let widest = rows.iter().map(|name| text_width(name)).max();
                widest.unwrap_or_default().min(ROW_NAME) + GAP
            }
            None => axis.label_area(),
        }
    }

    fn height(&self) -> i32 {
        let Some(rows) = &self.rows else {
            return HEIGHT;
        };
        let rows = i32::try_from(rows.len().max(1)).unwrap_or(i32::MAX);
        let mut row = (ROWS_HEIGHT / rows).clamp(ROW_HEIGHTS.0, ROW_HEIGHTS.1);
        if self.is_compact {
            row = (row / 2).max(ROW_HEIGHTS.0);
        }
        // The label stands beside the rows, from the bottom to the top.
        let label = text_width(&self.label).min(ROW_NAME);
        row.saturating_mul(rows)
            .max(2 * LINE_HEIGHT)
            .max(label + GAP)
    }
}

/// An area with pixels as coordinates.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What is drawn on a chart of its own, without the element around it.
fn drawing(
    (width, height): (i32, i32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), DrawingAreaErrorKind<io::Error>>,
) -> String {
    let mut svg = String::new();
    let root = SVGBackend::with_string(&mut svg, (width.unsigned_abs(), height.unsigned_abs()));
    let root = root.into_drawing_area();
    draw(&root)
        .and_then(|()| root.present())
        .expect("a string takes everything, and a font that is never looked up is always there");
    drop(root);
    inner(&svg).to_owned()
}

/// The pixel of the middle of a row.
fn middle_of_row((top, bottom): (i32, i32), row: usize, rows: usize) -> i32 {
    let [row, rows] = [row, rows].map(|number| i32::try_from(number).unwrap_or(i32::MAX / 4));
    let twice = i64::from(bottom - top) * i64::from(2 * row + 1) / i64::from(2 * rows.max(1));
    top + i32::try_from(twice).unwrap_or_default()
}

/// In pixels.
const WIDTH: i32 = 960;
/// Of a panel with a vertical axis, in pixels.
const HEIGHT: i32 = 220;
/// Of a panel with rows, in pixels, if it has many.
const ROWS_HEIGHT: i32 = 640;
/// The least and the greatest height of a row, in pixels.
const ROW_HEIGHTS: (i32, i32) = (3, LINE_HEIGHT);
/// Pixels of the longest name of a row that is shown in full.
const ROW_NAME: i32 = 220;

/// Data of a panel that are drawn alike. Positions are supersteps, heights are in the unit of the panel.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Rectangles in rows.
    Cells {
        /// Number of the colour.
        colour: usize,
        /// How opaque they are, in `(0, 1]`.
        strength: f64,
        /// In any order.
        cells: Vec<Cell>,
    },
    /// The area between two lines: position, lower and upper height.
    Area {
        /// Number of the colour.
        colour: usize,
        /// How opaque it is, in `(0, 1]`.
        strength: f64,
        /// By position.
        points: Vec<(f64, f64, f64)>,
    },
    /// A line.
    Line {
        /// Number of the colour.
        colour: usize,
        /// Whether it is dashed.
        is_dashed: bool,
        /// By position.
        points: Vec<(f64, f64)>,
    },
    /// Points.
    Points {
        /// Number of the colour.
        colour: usize,
        /// Whether they are not filled.
        is_ring: bool,
        /// Their radius in pixels.
        radius: i32,
        /// Positions and heights.
        points: Vec<(f64, f64)>,
    },
}

/// A rectangle in a row of a panel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Its row, from the top.
    pub row: usize,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// What a layer is drawn on.
type Plane<'a> = DrawingArea<SVGBackend<'a>, Cartesian2d<SuperstepAxis, Axis>>;

impl Layer {
    /// The heights that the axis has to hold.
    fn heights(&self) -> Vec<f64> {
        match self {
            Self::Cells { .. } => Vec::new(),
            Self::Area { points, .. } => points
                .iter()
                .flat_map(|(_, low, high)| [*low, *high])
                .collect(),
            Self::Line { points, .. } | Self::Points { points, .. } => {
                points.iter().map(|(_, height)| *height).collect()
            }
        }
    }

    /// Draws it.
    fn draw(&self, area: &Plane<'_>) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let high = area.get_y_range().end;
        match self {
            Self::Cells {
                colour: number,
                strength,
                cells,
            } => {
                let style = colour(*number).mix(*strength).filled();
                for cell in cells {
                    let top = high - cell.row as f64;
                    let corners = [(cell.from, top - ROW_GAP), (cell.to, top - 1.0 + ROW_GAP)];
                    area.draw(&Rectangle::new(corners, style))?;
                }
            }
            Self::Area {
                colour: number,
                strength,
                points,
            } => {
                let upper = points.iter().map(|(x, _, high)| (*x, *high));
                let lower = points.iter().rev().map(|(x, low, _)| (*x, *low));
                let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
                let style = colour(*number).mix(*strength).filled();
                area.draw(&Polygon::new(outline, style))?;
            }
            Self::Line {
                colour: number,
                points,
                ..
            } => {
                // A line through one point would not be seen.
                if let [lone] = points[..] {
                    let style = colour(*number).filled();
                    area.draw(&Circle::new(lone, LONE_RADIUS * FINE, style))?;
                } else {
                    let style = colour(*number).stroke_width(LINE_WIDTH * FINE.unsigned_abs());
                    area.draw(&PathElement::new(points.clone(), style))?;
                }
            }
            Self::Points {
                colour: number,
                is_ring,
                radius,
                points,
            } => {
                let style = if *is_ring {
                    colour(*number).stroke_width(RING_WIDTH * FINE.unsigned_abs())
                } else {
                    colour(*number).filled()
                };
                for point in points {
                    area.draw(&Circle::new(*point, radius * FINE, style))?;
                }
            }
        }
        Ok(())
    }

    /// `drawn` as a group. What its elements have in common is said once.
    fn group(&self, drawn: &str) -> String {
        let is_dashed = matches!(
            self,
            Self::Line {
                is_dashed: true,
                ..
            }
        );
        if is_dashed {
            let (dash, gap) = (7 * FINE, 5 * FINE);
            return format!("<g stroke-dasharray=\"{dash} {gap}\">\n{drawn}</g>\n");
        }
        let Some(style) = shared_style(drawn) else {
            return format!("<g>\n{drawn}</g>\n");
        };
        let elements = drawn.replace(style, "");
        format!("<g{style}>\n{elements}</g>\n")
    }
}

/// The attributes of style with which all elements end, each of which is a line.
fn shared_style(drawn: &str) -> Option<&str> {
    let first = drawn.lines().next()?;
    let style = first.get(first.find(" opacity=")?..)?.strip_suffix("/>")?;
    let has_style = |line: &str| {
        line.strip_suffix("/>")
            .is_some_and(|line| line.ends_with(style))
    };
    (!style.contains("points=") && drawn.lines().all(has_style)).then_some(style)
}

/// Parts of a pixel in which layers are drawn, so that data stay in place when a program stretches the axis.
const FINE: i32 = 20;
/// Part of a row above and below its rectangles.
const ROW_GAP: f64 = 0.06;
/// In pixels.
const LINE_WIDTH: u32 = 2;
/// In pixels.
const RING_WIDTH: u32 = 2;
/// Radius of a line's only point, in pixels.
const LONE_RADIUS: i32 = 3;

/// Supersteps from the first one on; logarithmic by the number of supersteps since then, so that it begins with zero.
///
/// Invariant: the second end is above the first one.
#[derive(Clone, Debug)]
struct SuperstepAxis {
    from: u64,
    to: u64,
    is_log: bool,
}

impl SuperstepAxis {
    /// The axis from superstep `from` until before `to`.
    fn new((from, to): (u64, u64), is_log: bool) -> Self {
        Self {
            from,
            to: to.max(from.saturating_add(1)),
            is_log,
        }
    }

    /// The labels of the axis with their pixels, if its ends are at `pixels`.
    fn places(&self, pixels: (i32, i32)) -> Vec<(String, i32)> {
        let ticks = self.ticks().into_iter();
        let place = |tick: u64| (tick.to_string(), self.map(&(tick as f64), pixels));
        let mut places: Vec<(String, i32)> = Vec::new();
        for (label, x) in ticks.map(place) {
            // Labels of a logarithmic axis come near each other.
            let is_near = |(_, last): &(String, i32)| x - last < LABEL_WIDTH;
            if !places.last().is_some_and(is_near) {
                places.push((label, x));
            }
        }
        places
    }

    fn ticks(&self) -> Vec<u64> {
        let length = self.to - self.from;
        if self.is_log {
            let decades = (0..20).map(|power| 10_u64.pow(power));
            let steps =
                decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
            let since = std::iter::once(0).chain(steps);
            return since
                .take_while(|since| *since <= length)
                .map(|since| self.from + since)
                .collect();
        }
        let step = round_step(length.div_ceil(TICKS));
        let first = self.from.div_ceil(step) * step;
        (first..=self.to).step_by(position(step)).collect()
    }
}

impl Ranged for SuperstepAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let since = (value - self.from as f64).max(0.0);
        let length = (self.to - self.from) as f64;
        let share = if self.is_log {
            since.ln_1p() / length.ln_1p()
        } else {
            since / length
        };
        let pixel = f64::from(from) + share * f64::from(to - from);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "pixels are whole numbers, and what lies outside of them is cut off"
        )]
        let pixel = pixel.round() as i32;
        pixel
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks().into_iter().map(|tick| tick as f64).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from as f64..self.to as f64
    }
}

/// The least of 1, 2, 5, 10, … that is not below `least`.
fn round_step(least: u64) -> u64 {
    let decades = (0..20).map(|power| 10_u64.pow(power));
    let mut steps = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.saturating_mul(step)));
    steps.find(|step| least <= *step).unwrap_or(u64::MAX)
}

/// About how many labels a linear axis has.
const TICKS: u64 = 10;
/// Pixels between labels.
const LABEL_WIDTH: i32 = 44;

#[cfg(test)]
mod tests;
