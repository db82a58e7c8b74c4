//! Lines over a number.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::frame::{
    Frame, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, Mark, POINT_RADIUS, colour, stroke,
    text_style, text_width,
};

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
    /// In the order of the legend.
    pub series: Vec<Series>,
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
        let y = Axis::linear(finite().map(|(_, y)| *y).chain([0.0]));
        let key = |series: &'_ Series| match series.style {
            Style::Line => Mark::Line,
            Style::Dashed => Mark::Dashes,
            Style::Marks => Mark::Points,
            Style::Rings => Mark::Rings,
        };
        let legend = self.series.iter().map(|series| Key {
            name: &series.name,
            mark: key(series),
        });
        let frame = Frame {
            title: &self.title,
            note: &self.note,
            legend: legend.collect(),
            width: WIDTH.max(text_width(&self.title)).unsigned_abs(),
            height: HEIGHT,
        };
        frame.svg(|area| self.draw(area, &x, &y))
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
        for (index, series) in self.series.iter().enumerate() {
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
        };
        Lines {
            title: "Supersteps".to_owned(),
            note: String::new(),
            x_label: "superstep".to_owned(),
            y_label: "seconds".to_owned(),
            x_is_log,
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
    fn no_data_gives_an_empty_chart() {
        assert!(Lines::default().svg().ends_with("</svg>\n"));
    }
}
