//! Means with their confidence intervals.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::Axis;
use super::frame::{
    Frame, GAP, GRID, INK, LABEL_SIZE, LINE_HEIGHT, MARGIN, colour, shown, text_style, text_width,
};

/// Horizontal bars, one below the other, with whiskers.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Title of the chart.
    pub title: String,
    /// Of the values.
    pub unit: String,
    /// From top to bottom.
    pub rows: Vec<Interval>,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Label.
    pub name: String,
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
        let names = self.rows.iter().map(|row| text_width(&row.name));
        let beside = names.max().unwrap_or(0).min(NAME_LENGTH_MAX) + GAP;
        let count = i32::try_from(self.rows.len().max(1)).unwrap_or(i32::MAX / ROW_HEIGHT);
        let height = count.saturating_mul(ROW_HEIGHT) + 2 * LINE_HEIGHT + 2 * MARGIN;
        let frame = Frame {
            title: &self.title,
            note: "",
            legend: Vec::new(),
            width: (WIDTH + beside).max(text_width(&self.title)).unsigned_abs(),
            height: height.unsigned_abs(),
        };
        frame.svg(|area| self.draw(area, beside))
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        beside: i32,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let ends = |row: &Interval| [row.mean, row.low, row.high];
        let axis = Axis::linear(self.rows.iter().flat_map(ends).chain([0.0]));
        let count = f64::from(u32::try_from(self.rows.len().max(1)).unwrap_or(u32::MAX));
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
        for row in &self.rows {
            if row.mean.is_finite() {
                let corners = [
                    (0.0, middle - BAR_SHARE / 2.0),
                    (row.mean, middle + BAR_SHARE / 2.0),
                ];
                chart.draw_series([Rectangle::new(corners, colour(0).filled())])?;
            }
            if row.low.is_finite() && row.high.is_finite() {
                let line = |from, to| PathElement::new([from, to], INK.stroke_width(2));
                let cap = |x| line((x, middle - CAP_SHARE / 2.0), (x, middle + CAP_SHARE / 2.0));
                let whisker = line((row.low, middle), (row.high, middle));
                chart.draw_series([whisker, cap(row.low), cap(row.high)])?;
            }
            let (_, y) = chart.backend_coord(&(0.0, middle));
            let place = (MARGIN + beside - GAP, y - area.get_base_pixel().1);
            let name = shown(&row.name, NAME_LENGTH_MAX.unsigned_abs());
            let style = text_style(LABEL_SIZE, HPos::Right, VPos::Center);
            area.draw(&Text::new(name, place, style))?;
            middle += 1.0;
        }
        chart.draw_series([PathElement::new([(0.0, 0.0), (0.0, count)], INK)])?;
        Ok(())
    }
}

/// Pixels of the axis of the values, with its margins.
const WIDTH: i32 = 560;
const ROW_HEIGHT: i32 = 30;
/// Pixels of the longest name that is shown in full.
const NAME_LENGTH_MAX: i32 = 280;
/// Part of a row that its bar takes.
const BAR_SHARE: f64 = 0.64;
/// Part of a row that the ends of its whisker take.
const CAP_SHARE: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_a_bar_and_a_whisker() {
        let row = |name: &str, mean: f64, low: f64, high: f64| Interval {
            name: name.to_owned(),
            mean,
            low,
            high,
        };
        let intervals = Intervals {
            title: "Gain over none".to_owned(),
            unit: "%".to_owned(),
            rows: vec![
                row("adaptive", 20.0, 17.5, 22.5),
                row("migbsp", -3.0, -4.0, -2.0),
                row("unknown", f64::NAN, f64::NAN, f64::NAN),
            ],
        };
        let svg = intervals.svg();
        assert_eq!(svg.matches("<rect").count(), 1 + 2, "{svg}");
        for text in ["adaptive", "migbsp", "unknown", "%", "Gain over none"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        assert!(!svg.contains("NaN"), "{svg}");
        assert_eq!(intervals.svg(), svg);
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(Intervals::default().svg().ends_with("</svg>\n"));
    }
}
