//! Lines over a number.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::axis::Axis;
use crate::chart::frame::{
    Frame, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, Mark, POINT_RADIUS, colour, stroke,
    text_style, text_width,
};
use crate::text::rounded;

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
        let frame = Frame {
            title: &self.title,
            description: self.description(),
            note: &self.note,
            legend: legend.collect(),
            width: WIDTH.max(text_width(&self.title)).unsigned_abs(),
            height: HEIGHT,
        };
        frame.svg(|area| self.draw(area, &x, &y))
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
        text
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        x: &Axis,
        y: &Axis,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let mut chart = ChartBuilder::on(area)
            .margin(MARGIN)
            .margin_right(2 * MARGIN)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(x_is_log: bool) -> Lines {
        let series = |name: &str, style| Series {
            name: name.to_owned(),
            points: vec![
                (1.0, 2.0),
                (10.0, 4.0),
                (0.0, f64::NAN),
                (100.0, 3.0),
                (1e3, 2.5),
            ],
            style,
            is_paired: false,
        };
        Lines {
            title: "Supersteps".to_owned(),
            note: String::new(),
            x_label: "superstep".to_owned(),
            y_label: "seconds".to_owned(),
            x_is_log,
            y_scale: Scale::default(),
            series: vec![
                series("none", Style::Line),
                series("migbsp", Style::Dashed),
                series("paper", Style::Marks),
            ],
        }
    }

    #[test]
    fn every_series_is_drawn_and_named() {
        for x_is_log in [false, true] {
            let svg = lines(x_is_log).svg();
            for text in [
                "none",
                "migbsp",
                "paper",
                "superstep",
                "seconds",
                "Supersteps",
            ] {
                assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
            }
            // One in the legend, and four numbers of five.
            assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_point_between_two_gaps_is_seen() {
        for style in [Style::Line, Style::Dashed] {
            let mut lines = lines(false);
            lines.series.truncate(1);
            let series = &mut lines.series[0];
            series.style = style;
            series.points = vec![(1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (4.0, f64::NAN)];
            let svg = lines.svg();
            assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
            lines.series[0].points = vec![(1.0, 2.0)];
            let svg = lines.svg();
            assert_eq!(svg.matches("<circle").count(), 1, "{svg}");
        }
    }

    #[test]
    fn values_over_more_than_a_decade_ask_for_a_logarithmic_axis() {
        let none = f64::NAN;
        assert_eq!(Scale::of(&[0.0, 0.2, none, 140.0]), Scale::Logarithmic);
        assert_eq!(Scale::of(&[0.0, 20.0, 140.0]), Scale::Linear);
        assert_eq!(Scale::of(&[-1.0, 0.2, 140.0]), Scale::Linear);
        for values in [&[][..], &[0.0], &[none], &[3.0]] {
            assert_eq!(Scale::of(values), Scale::Linear, "{values:?}");
        }
    }

    #[test]
    fn a_logarithmic_vertical_axis_has_a_place_for_zero() {
        let mut lines = lines(false);
        lines.y_scale = Scale::Logarithmic;
        lines.series.truncate(1);
        lines.series[0].style = Style::Marks;
        lines.series[0].points = vec![(0.0, 100.0), (1.0, 1.0), (2.0, 0.0), (3.0, -1.0)];
        let svg = lines.svg();
        // One in the legend, and all but the negative one.
        assert_eq!(svg.matches("<circle").count(), 4, "{svg}");
        for label in ["0", "1", "100"] {
            assert!(svg.contains(&format!("\n{label}\n")), "{label}: {svg}");
        }
        assert!(
            svg.contains("<desc>seconds, logarithmic over superstep."),
            "{svg}"
        );
    }

    #[test]
    fn series_that_belong_together_have_one_colour() {
        let mut lines = lines(false);
        assert_eq!(lines.colours(), [0, 1, 2]);
        lines.series[1].is_paired = true;
        assert_eq!(lines.colours(), [0, 0, 1]);
        lines.series[0].is_paired = true;
        assert_eq!(lines.colours(), [0, 0, 1]);
    }

    #[test]
    fn a_line_stands_at_the_value_that_others_are_compared_with() {
        let mut lines = Lines {
            y_scale: Scale::Around(1.0),
            ..lines(false)
        };
        let with = lines.svg().matches("<polyline").count();
        lines.y_scale = Scale::Linear;
        assert_eq!(with, lines.svg().matches("<polyline").count() + 1);
    }

    #[test]
    fn a_spread_is_a_bar_beside_a_line() {
        let mut lines = lines(false);
        lines.series.truncate(1);
        let ends = [(1.0, 1.5), (1.0, 2.5), (10.0, 3.0), (10.0, 4.5)];
        lines.series.push(Series {
            name: "hidden".to_owned(),
            points: ends.to_vec(),
            style: Style::Spread,
            is_paired: true,
        });
        let svg = lines.svg();
        assert_eq!(svg.matches("opacity=\"0.3\"").count(), 2, "{svg}");
        assert!(!svg.contains("hidden"), "{svg}");
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(Lines::default().svg().ends_with("</svg>\n"));
    }
}
