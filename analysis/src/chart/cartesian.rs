//! Charts of numbers beside an axis: lines, bars, and means with their confidence intervals.

use std::io;

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::axis::Axis;
use crate::chart::frame::{
    Frame, GAP, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, Mark, POINT_RADIUS, colour, shown,
    stroke, text_style, text_width,
};
use crate::text::{Layout, rounded};

/// Lines, one for each series.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Title of the chart.
    pub title: String,
    /// What the chart shows, in sentences below the title; may be empty.
    pub note: String,
    /// Label of the horizontal axis, with its unit.
    pub x_label: String,
    /// Label of the vertical axis, with its unit.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic; points that are not positive are left out then.
    pub x_is_log: bool,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// In the order of the legend.
    pub series: Vec<Series>,
    /// Behind the lines.
    pub bands: Bands,
}

/// Marked parts of a horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Bands {
    /// What they are, for the legend.
    pub name: String,
    /// By increasing x.
    pub bands: Vec<Band>,
}

/// A marked part of a horizontal axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Label, above the chart.
    pub name: String,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
}

/// Scale of a vertical axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scale {
    /// Linear, from zero.
    #[default]
    Linear,
    /// Logarithmic, with zero at the lower end if a value is zero; negative values are left out.
    Logarithmic,
    /// Linear around this value, at which a line is drawn.
    Around(f64),
}

impl Scale {
    /// Logarithmic if no value is negative and those above zero span more than a decade; else linear.
    pub fn of(values: &[f64]) -> Self {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let positive = || finite().filter(|value| 0.0 < *value);
        let low = positive().fold(f64::INFINITY, f64::min);
        let high = positive().fold(0.0, f64::max);
        if finite().all(|value| 0.0 <= value) && low < high / 10.0 {
            Self::Logarithmic
        } else {
            Self::Linear
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Label.
    pub name: String,
    /// By increasing x.
    pub points: Vec<(f64, f64)>,
    /// Style.
    pub style: Style,
    /// Its colour is that of the series before it, because the two belong together.
    pub is_paired: bool,
}

/// Style of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Drawn through.
    #[default]
    Line,
    /// Dashed.
    Dashed,
    /// Its points alone.
    Marks,
    /// Its points alone, as rings.
    Rings,
    /// Bars, each between two points that follow each other: the spread of the series that it is paired with, which is
    /// not in the legend.
    Spread,
}

impl Lines {
    /// The chart.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let finite = || points().filter(|(x, y)| x.is_finite() && y.is_finite());
        let x = finite().map(|(x, _)| *x);
        let x = if self.x_is_log {
            Axis::logarithmic(x)
        } else {
            Axis::linear(x)
        };
        let heights = finite().map(|(_, y)| *y);
        let y = match self.y_scale {
            Scale::Linear => Axis::linear(heights.chain([0.0])),
            Scale::Logarithmic => Axis::logarithmic_from_zero(&heights.collect::<Vec<_>>()),
            Scale::Around(middle) => Axis::around(middle, heights),
        };
        let key = |series: &'_ Series| match series.style {
            Style::Line => Some(Mark::Line),
            Style::Dashed => Some(Mark::Dashes),
            Style::Marks => Some(Mark::Points),
            Style::Rings => Some(Mark::Rings),
            Style::Spread => None,
        };
        let legend = self.series.iter().zip(self.colours());
        let legend = legend.filter_map(|(series, colour)| {
            let (name, mark) = (&*series.name, key(series)?);
            Some(Key { name, mark, colour })
        });
        let bands = (!self.bands.bands.is_empty()).then_some(Key {
            name: &self.bands.name,
            mark: Mark::Area,
            colour: BAND_COLOUR,
        });
        let labels = self.band_labels(&x, &y);
        let rows = labels.iter().map(|label| label.row + 1).max();
        let ends = labels.iter().map(|label| label.x + label.width + MARGIN);
        let width = ends.fold(WIDTH.max(text_width(&self.title)), i32::max);
        let above = rows.unwrap_or(0) * LINE_HEIGHT;
        let frame = Frame {
            title: &self.title,
            description: self.description(),
            note: &self.note,
            legend: legend.chain(bands).collect(),
            width: width.unsigned_abs(),
            height: HEIGHT + above.unsigned_abs(),
        };
        frame.svg(|area| self.draw(area, (&x, &y), (above, &labels)))
    }

    /// Left and right end of the horizontal axis, in pixels.
    fn x_pixels(&self, y: &Axis) -> (i32, i32) {
        let left = MARGIN + LINE_HEIGHT + y.label_area();
        let width = WIDTH.max(text_width(&self.title));
        (left, width - 2 * MARGIN)
    }

    /// The labels of the bands. Each begins at its band. Where one would stand on the label of a later band, it stands in a
    /// higher row, so that no line from a label to its band meets another label.
    fn band_labels(&self, x: &Axis, y: &Axis) -> Vec<BandLabel> {
        let pixels = self.x_pixels(y);
        let mut labels: Vec<BandLabel> = Vec::new();
        for band in self.bands.bands.iter().rev() {
            let text = shown(&band.name, BAND_NAME_MAX);
            let (x, width) = (x.map(&band.from, pixels), GAP / 2 + text_width(&text));
            let later = labels.iter().filter(|later| later.x < x + width + GAP);
            let row = later.map(|later| later.row + 1).max().unwrap_or(0);
            labels.push(BandLabel {
                text,
                x,
                width,
                row,
            });
        }
        labels
    }

    /// The colour of each series.
    fn colours(&self) -> Vec<usize> {
        let mut next = 0;
        let colour = |(index, series): (usize, &Series)| {
            next += usize::from(0 < index && !series.is_paired);
            next
        };
        self.series.iter().enumerate().map(colour).collect()
    }

    fn description(&self) -> String {
        let logarithmic = |is_log| if is_log { ", logarithmic" } else { "" };
        let mut text = format!(
            "{}{}{}{} over {}{}.",
            self.note,
            if self.note.is_empty() { "" } else { " " },
            self.y_label,
            logarithmic(self.y_scale == Scale::Logarithmic),
            self.x_label,
            logarithmic(self.x_is_log)
        );
        for series in self
            .series
            .iter()
            .filter(|series| series.style != Style::Spread)
        {
            let finite = || {
                let points = series.points.iter();
                points.filter(|(x, y)| x.is_finite() && y.is_finite())
            };
            let (Some(first), Some(last)) = (finite().next(), finite().next_back()) else {
                text.push_str(&format!(" {}: no values.", series.name));
                continue;
            };
            let low = finite().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
            let high = finite().map(|(_, y)| *y).fold(f64::NEG_INFINITY, f64::max);
            let [low, high, start, end] = [low, high, first.1, last.1].map(|y| rounded(y, 4));
            let [from, to] = [first.0, last.0].map(|x| rounded(x, 2));
            text.push_str(&format!(
                " {}: {start} at {from}, {end} at {to}; least {low}, greatest {high}.",
                series.name
            ));
        }
        let bands = self.bands.bands.iter().map(|Band { name, from, to }| {
            let [from, to] = [from, to].map(|end| rounded(*end, 2));
            format!("{name} from {from} to {to}")
        });
        let bands: Vec<String> = bands.collect();
        if !bands.is_empty() {
            text.push_str(&format!(" {}: {}.", self.bands.name, bands.join("; ")));
        }
        text
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        (x, y): (&Axis, &Axis),
        (above, labels): (i32, &[BandLabel]),
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let (width, _) = area.dim_in_pixel();
        let right = i32::try_from(width).unwrap_or(i32::MAX) - self.x_pixels(y).1;
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_top(MARGIN + above)
            .margin_right(right)
            .x_label_area_size(2 * LINE_HEIGHT)
            .y_label_area_size(LINE_HEIGHT + y.label_area())
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_label_style(text_style(LABEL_SIZE, HPos::Center, VPos::Top))
            .y_label_style(text_style(LABEL_SIZE, HPos::Right, VPos::Center))
            .axis_desc_style(text_style(LABEL_SIZE, HPos::Center, VPos::Top))
            .draw()?;
        for band in &self.bands.bands {
            let corners = [(band.from, y.low()), (band.to, y.high())];
            let style = colour(BAND_COLOUR).mix(BAND_OPACITY).filled();
            chart.draw_series([Rectangle::new(corners, style)])?;
        }
        for label in labels {
            let y = MARGIN + above - (label.row + 1) * LINE_HEIGHT;
            let line = [(label.x, y), (label.x, MARGIN + above)];
            area.draw(&PathElement::new(line, GRID))?;
            let style = text_style(LABEL_SIZE, HPos::Left, VPos::Top);
            let place = (label.x + GAP / 2, y);
            area.draw(&Text::new(label.text.as_str(), place, style))?;
        }
        if let Scale::Around(middle) = self.y_scale {
            let ends = [x.low(), x.high()].map(|end| (end, middle));
            chart.draw_series([PathElement::new(ends, INK)])?;
        }
        for (series, index) in self.series.iter().zip(self.colours()) {
            let style = stroke(colour(index));
            // A gap in the numbers is a gap in the line.
            for piece in series
                .points
                .split(|(at, value)| !x.holds(*at) || !y.holds(*value))
            {
                let is_lone = piece.len() == 1;
                let piece = piece.iter().copied();
                match series.style {
                    // A line through one point would not be seen.
                    Style::Line | Style::Dashed if is_lone => {
                        let mark = |at| Circle::new(at, LONE_RADIUS, colour(index).filled());
                        chart.draw_series(piece.map(mark))?
                    }
                    Style::Line => chart.draw_series(LineSeries::new(piece, style))?,
                    Style::Dashed => {
                        chart.draw_series(DashedLineSeries::new(piece, 7, 5, style))?
                    }
                    Style::Marks => {
                        let mark = |at| Circle::new(at, POINT_RADIUS, colour(index).filled());
                        chart.draw_series(piece.map(mark))?
                    }
                    Style::Rings => {
                        let mark = |at| Circle::new(at, POINT_RADIUS, colour(index));
                        chart.draw_series(piece.map(mark))?
                    }
                    Style::Spread => {
                        let faint = colour(index).mix(SPREAD_OPACITY);
                        let ends: Vec<(f64, f64)> = piece.collect();
                        let bars = ends.chunks_exact(2);
                        let bar = |ends: &[(f64, f64)]| {
                            PathElement::new(ends, faint.stroke_width(SPREAD_WIDTH))
                        };
                        chart.draw_series(bars.map(bar))?
                    }
                };
            }
        }
        Ok(())
    }
}

/// The label of a band.
#[derive(Clone, Debug)]
struct BandLabel {
    text: String,
    /// Where it begins, in pixels from the left.
    x: i32,
    /// In pixels.
    width: i32,
    /// Its row, from the bottom.
    row: i32,
}

/// In pixels.
const WIDTH: i32 = 760;
/// In pixels, without title and legend.
const HEIGHT: u32 = 400;
/// Width of the bar of a spread, in pixels.
const SPREAD_WIDTH: u32 = 9;
/// Opacity of the bar of a spread, behind which lines are seen.
const SPREAD_OPACITY: f64 = 0.3;
/// Radius of a line's only point, in pixels.
const LONE_RADIUS: i32 = 3;
/// Number of the colour of bands.
const BAND_COLOUR: usize = 6;
/// Opacity of a band, on which lines are seen.
const BAND_OPACITY: f64 = 0.3;
/// Pixels of the longest label of a band that is shown in full.
const BAND_NAME_MAX: u32 = 220;

/// Horizontal bars with whiskers, one below the other, in groups.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Title of the chart.
    pub title: String,
    /// Of the values.
    pub unit: String,
    /// From top to bottom.
    pub groups: Vec<Group>,
}

/// Bars below a common heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Heading.
    pub name: String,
    /// From top to bottom.
    pub rows: Vec<Interval>,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Label: bars of one label have one colour in all groups.
    pub name: String,
    /// Colour, by number.
    pub colour: usize,
    /// End of the bar.
    pub mean: f64,
    /// Start of the whisker.
    pub low: f64,
    /// End of the whisker.
    pub high: f64,
}

impl Intervals {
    /// The chart.
    pub fn svg(&self) -> String {
        let names = self.rows().map(|row| INDENT + text_width(&row.name));
        let names = names.chain(self.groups.iter().map(|group| text_width(&group.name)));
        let beside = names.max().unwrap_or(0).min(ROW_NAME_MAX) + GAP;
        let lines = self.groups.len() + self.rows().count();
        let count = i32::try_from(lines.max(1)).unwrap_or(i32::MAX / ROW_HEIGHT);
        let height = count.saturating_mul(ROW_HEIGHT) + 2 * LINE_HEIGHT + 2 * MARGIN;
        let frame = Frame {
            title: &self.title,
            note: "",
            description: self.description(),
            // Every bar has its label beside it.
            legend: Vec::new(),
            width: (INTERVALS_WIDTH + beside)
                .max(text_width(&self.title))
                .unsigned_abs(),
            height: height.unsigned_abs(),
        };
        frame.svg(|area| self.draw(area, beside))
    }

    fn rows(&self) -> impl Iterator<Item = &Interval> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    fn description(&self) -> String {
        let mut text = format!("Bars in {}.", self.unit);
        for group in &self.groups {
            let rows = group.rows.iter().map(|row| {
                let Interval {
                    name,
                    mean,
                    low,
                    high,
                    ..
                } = row;
                let number = |value: f64| rounded(value, 2);
                if !mean.is_finite() {
                    format!("{name} none")
                } else if low.is_finite() && high.is_finite() {
                    format!(
                        "{name} {} ({} to {})",
                        number(*mean),
                        number(*low),
                        number(*high)
                    )
                } else {
                    format!("{name} {}", number(*mean))
                }
            });
            let rows: Vec<String> = rows.collect();
            text.push_str(&format!(" {}: {}.", group.name, rows.join(", ")));
        }
        text
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        beside: i32,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let ends = |row: &Interval| [row.mean, row.low, row.high];
        let axis = Axis::linear(self.rows().flat_map(ends).chain([0.0]));
        let lines = self.groups.len() + self.rows().count();
        let count = f64::from(u32::try_from(lines.max(1)).unwrap_or(u32::MAX));
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
            .x_label_area_size(2 * LINE_HEIGHT)
            .y_label_area_size(beside)
            .build_cartesian_2d(axis.clone(), count..0.0)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_desc(&self.unit)
            .label_style(text_style(LABEL_SIZE, HPos::Center, VPos::Top))
            .axis_desc_style(text_style(LABEL_SIZE, HPos::Center, VPos::Top))
            .draw()?;
        let mut middle = 0.5;
        for group in &self.groups {
            let (_, y) = chart.backend_coord(&(0.0, middle));
            let style = text_style(LABEL_SIZE, HPos::Left, VPos::Center);
            let name = shown(&group.name, ROW_NAME_MAX.unsigned_abs());
            let place = (MARGIN, y - area.get_base_pixel().1);
            area.draw(&Text::new(name, place, style))?;
            middle += 1.0;
            for row in &group.rows {
                if row.mean.is_finite() {
                    let corners = [
                        (0.0, middle - BAR_SHARE / 2.0),
                        (row.mean, middle + BAR_SHARE / 2.0),
                    ];
                    let bar = Rectangle::new(corners, colour(row.colour).filled());
                    chart.draw_series([bar])?;
                }
                if row.low.is_finite() && row.high.is_finite() {
                    let line = |from, to| PathElement::new([from, to], INK.stroke_width(2));
                    let cap =
                        |x| line((x, middle - CAP_SHARE / 2.0), (x, middle + CAP_SHARE / 2.0));
                    let whisker = line((row.low, middle), (row.high, middle));
                    chart.draw_series([whisker, cap(row.low), cap(row.high)])?;
                }
                let (_, y) = chart.backend_coord(&(0.0, middle));
                let place = (MARGIN + beside - GAP, y - area.get_base_pixel().1);
                let name = shown(&row.name, (ROW_NAME_MAX - INDENT).unsigned_abs());
                let style = text_style(LABEL_SIZE, HPos::Right, VPos::Center);
                area.draw(&Text::new(name, place, style))?;
                middle += 1.0;
            }
        }
        chart.draw_series([PathElement::new([(0.0, 0.0), (0.0, count)], INK)])?;
        Ok(())
    }
}

/// Pixels of the axis of the values, with its margins.
const INTERVALS_WIDTH: i32 = 560;
const ROW_HEIGHT: i32 = 24;
/// Pixels of the longest name that is shown in full.
const ROW_NAME_MAX: i32 = 280;
/// Pixels by which the names of bars are set off from those of groups.
const INDENT: i32 = 16;
/// Part of a row that its bar takes.
const BAR_SHARE: f64 = 0.7;
/// Part of a row that the ends of its whisker take.
const CAP_SHARE: f64 = 0.3;

/// Groups of bars: one group for each category, one bar of it for each series. Negative values
/// hang below the axis.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// Title of the chart.
    pub title: String,
    /// Of the values.
    pub unit: String,
    /// Names of the groups.
    pub categories: Vec<String>,
    /// Name and values, by category; missing or infinite values have no bar.
    pub series: Vec<(String, Vec<f64>)>,
}

impl Bars {
    /// The chart.
    pub fn svg(&self) -> String {
        let slot = self.slot();
        let names = self.categories.iter();
        let name = names.map(|name| text_width(name)).max().unwrap_or(0);
        let is_upright = name + GAP <= slot;
        let below = if is_upright {
            LINE_HEIGHT
        } else {
            name.clamp(LINE_HEIGHT, NAME_LENGTH_MAX)
        };
        let count = i32::try_from(self.categories.len()).unwrap_or(i32::MAX / slot);
        let axis = Axis::linear(self.values().chain([0.0]));
        let beside = self.label_area(&axis);
        let width = 2 * MARGIN + beside + slot.saturating_mul(count.max(1));
        let (title, legend) = (&self.title, &self.series);
        let frame = Frame {
            title,
            description: self.description(),
            note: "",
            legend: legend
                .iter()
                .enumerate()
                .map(|(colour, (name, _))| Key {
                    name,
                    mark: Mark::Area,
                    colour,
                })
                .collect(),
            width: width.max(text_width(title)).unsigned_abs(),
            height: (BARS_HEIGHT + below).unsigned_abs(),
        };
        frame.svg(|area| self.draw(area, &axis, below, is_upright))
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        axis: &Axis,
        below: i32,
        is_upright: bool,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let count = f64::from(u32::try_from(self.categories.len().max(1)).unwrap_or(u32::MAX));
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .y_label_area_size(self.label_area(axis))
            .x_label_area_size(below)
            .build_cartesian_2d(0.0..count, axis.clone())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(INK)
            .y_desc(&self.unit)
            .label_style(text_style(LABEL_SIZE, HPos::Right, VPos::Center))
            .axis_desc_style(text_style(LABEL_SIZE, HPos::Center, VPos::Top))
            .draw()?;
        let bar = GROUP_SHARE / f64::from(u32::try_from(self.series.len().max(1)).unwrap_or(1));
        let mut edge = (1.0 - GROUP_SHARE) / 2.0;
        for (index, (_, values)) in self.series.iter().enumerate() {
            let mut left = edge;
            for value in values.iter().take(self.categories.len()) {
                if value.is_finite() {
                    let corners = [(left, 0.0), (left + bar, *value)];
                    chart.draw_series([Rectangle::new(corners, colour(index).filled())])?;
                }
                left += 1.0;
            }
            edge += bar;
        }
        chart.draw_series([PathElement::new([(0.0, 0.0), (count, 0.0)], INK)])?;
        let style = if is_upright {
            text_style(LABEL_SIZE, HPos::Center, VPos::Top)
        } else {
            text_style(LABEL_SIZE, HPos::Right, VPos::Center).transform(FontTransform::Rotate270)
        };
        let mut middle = 0.5;
        for name in &self.categories {
            let (x, y) = chart.backend_coord(&(middle, axis.low()));
            let (left, top) = area.get_base_pixel();
            let place = (x - left, y - top + GAP / 2);
            let name = shown(name, NAME_LENGTH_MAX.unsigned_abs());
            area.draw(&Text::new(name, place, style.clone()))?;
            middle += 1.0;
        }
        Ok(())
    }

    fn description(&self) -> String {
        let unit = if self.unit.is_empty() {
            String::new()
        } else {
            format!(" in {}", self.unit)
        };
        let mut text = format!("Bars{unit}.");
        for (index, category) in self.categories.iter().enumerate() {
            let values = self.series.iter().map(|(name, values)| {
                let value = values.get(index).filter(|value| value.is_finite());
                let value = value.map_or_else(|| "none".to_owned(), |value| rounded(*value, 4));
                format!("{name} {value}")
            });
            let values: Vec<String> = values.collect();
            text.push_str(&format!(" {category}: {}.", values.join(", ")));
        }
        text
    }

    /// Pixels for one category: room for its bars, and more if there are few.
    fn slot(&self) -> i32 {
        let bars = i32::try_from(self.series.len()).unwrap_or(i32::MAX / 32);
        let categories = i32::try_from(self.categories.len().max(1)).unwrap_or(i32::MAX);
        (bars.min(1024) * BAR_WIDTH_MIN + GAP).max(BARS_WIDTH / categories)
    }

    fn label_area(&self, axis: &Axis) -> i32 {
        axis.label_area() + if self.unit.is_empty() { 0 } else { LINE_HEIGHT }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let values = self.series.iter().flat_map(|(_, values)| values);
        values.copied()
    }
}

/// Pixels of the axis of the values.
const BARS_HEIGHT: i32 = 320;
/// Pixels of the axis of the categories, if they need no more.
const BARS_WIDTH: i32 = 640;
const BAR_WIDTH_MIN: i32 = 8;
/// Pixels of the longest name of a category that is shown in full.
const NAME_LENGTH_MAX: i32 = 220;
/// Part of a category's room that its bars take.
const GROUP_SHARE: f64 = 0.8;

/// One line for each row: its name, its bar, its value. All bars together are `width` characters
/// wide, or fewer where lines are short, and exact to an eighth of one; those of negative values run to the
/// left of zero.
pub fn text_bars(rows: &[(String, f64)], width: usize, layout: Layout) -> String {
    let values = || {
        rows.iter()
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
    };
    let low = values().fold(0.0, f64::min);
    let high = values().fold(0.0, f64::max);
    let name_width = rows.iter().map(|(name, _)| name.chars().count()).max();
    let name_width = name_width.unwrap_or(0);
    let numbers: Vec<String> = rows.iter().map(|(_, value)| rounded(*value, 4)).collect();
    let number_width = numbers.iter().map(String::len).max().unwrap_or(0);
    // Five spaces, the axis, and one character that rounding on both sides of it may add.
    let beside = name_width + number_width + 7;
    let width = layout
        .width
        .map_or(width, |line| line.saturating_sub(beside).clamp(1, width));
    let eighths = eighths_of(width, high - low);
    let left = characters(eighths(-low));
    let right = characters(eighths(high));
    let mut text = String::new();
    for ((name, value), number) in rows.iter().zip(numbers) {
        let (before, after) = if *value < 0.0 {
            (leftwards(eighths(-value)), String::new())
        } else {
            (String::new(), rightwards(eighths(*value)))
        };
        let line = format!(
            " {name:name_width$}  {number:>number_width$}  {before:>left$}│{after:<right$}"
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Length in eighths of a character, if `span` is `width` characters.
fn eighths_of(width: usize, span: f64) -> impl Fn(f64) -> usize {
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let scale = if 0.0 < span {
        f64::from(width) * 8.0 / span
    } else {
        0.0
    };
    move |length: f64| {
        let least = if 0.0 < length { 1.0 } else { 0.0 };
        let eighths = (length * scale)
            .round()
            .max(least)
            .min(f64::from(width) * 8.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number, clamped to what eight times 16 bits hold"
        )]
        let eighths = eighths as usize;
        eighths
    }
}

/// Number of characters that `eighths` take.
fn characters(eighths: usize) -> usize {
    eighths.div_ceil(8)
}

fn rightwards(eighths: usize) -> String {
    let mut bar = "█".repeat(eighths / 8);
    bar.push_str(["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]);
    bar
}

/// A bar whose right end is flush. There are few blocks that are filled from the right: half of one
/// is the finest.
fn leftwards(eighths: usize) -> String {
    let (full, rest) = (eighths / 8, eighths % 8);
    let head = match rest {
        0 => "",
        1..=4 => "▐",
        _ => "█",
    };
    head.to_owned() + &"█".repeat(full)
}

#[cfg(test)]
mod tests;
