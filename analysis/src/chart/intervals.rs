//! Means with their confidence intervals.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::axis::Axis;
use crate::chart::frame::{
    Frame, GAP, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, Mark, colour, shown, text_style,
    text_width,
};
use crate::text::rounded;

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
        let beside = names.max().unwrap_or(0).min(NAME_LENGTH_MAX) + GAP;
        let lines = self.groups.len() + self.rows().count();
        let count = i32::try_from(lines.max(1)).unwrap_or(i32::MAX / ROW_HEIGHT);
        let height = count.saturating_mul(ROW_HEIGHT) + 2 * LINE_HEIGHT + 2 * MARGIN;
        let frame = Frame {
            title: &self.title,
            note: "",
            description: self.description(),
            legend: self.legend(),
            width: (WIDTH + beside).max(text_width(&self.title)).unsigned_abs(),
            height: height.unsigned_abs(),
        };
        frame.svg(|area| self.draw(area, beside))
    }

    fn rows(&self) -> impl Iterator<Item = &Interval> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Each label with its colour, in the order they first occur.
    fn legend(&self) -> Vec<Key<'_>> {
        let mut keys: Vec<Key<'_>> = Vec::new();
        for row in self.rows() {
            if !keys.iter().any(|key| key.name == row.name) {
                keys.push(Key {
                    name: &row.name,
                    mark: Mark::Area,
                    colour: row.colour,
                });
            }
        }
        keys
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
            let name = shown(&group.name, NAME_LENGTH_MAX.unsigned_abs());
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
                let name = shown(&row.name, (NAME_LENGTH_MAX - INDENT).unsigned_abs());
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
const WIDTH: i32 = 560;
const ROW_HEIGHT: i32 = 24;
/// Pixels of the longest name that is shown in full.
const NAME_LENGTH_MAX: i32 = 280;
/// Pixels by which the names of bars are set off from those of groups.
const INDENT: i32 = 16;
/// Part of a row that its bar takes.
const BAR_SHARE: f64 = 0.7;
/// Part of a row that the ends of its whisker take.
const CAP_SHARE: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_a_bar_and_a_whisker() {
        let row = |name: &str, colour, mean: f64, low: f64, high: f64| Interval {
            name: name.to_owned(),
            colour,
            mean,
            low,
            high,
        };
        let none = f64::NAN;
        let group = |name: &str, rows| Group {
            name: name.to_owned(),
            rows,
        };
        let intervals = Intervals {
            title: "Gain over none".to_owned(),
            unit: "%".to_owned(),
            groups: vec![
                group("all", vec![row("adaptive", 1, 8.0, none, none)]),
                group(
                    "drift",
                    vec![
                        row("adaptive", 1, 20.0, 17.5, 22.5),
                        row("migbsp", 0, -3.0, -4.0, -2.0),
                        row("unknown", 2, none, none, none),
                    ],
                ),
            ],
        };
        let svg = intervals.svg();
        // Three keys of the legend, and three bars.
        assert_eq!(svg.matches("<rect").count(), 3 + 3, "{svg}");
        for text in ["adaptive", "migbsp", "unknown", "%", "all", "drift"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        let description = "Bars in %. all: adaptive 8.00. drift: adaptive 20.00 (17.50 to 22.50), \
                           migbsp -3.00 (-4.00 to -2.00), unknown none.";
        assert!(svg.contains(description), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
        assert_eq!(intervals.svg(), svg);
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(Intervals::default().svg().ends_with("</svg>\n"));
    }
}
