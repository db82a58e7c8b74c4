//! Bars: as SVG, and as characters for a terminal.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::axis::Axis;
use crate::chart::frame::{
    Frame, GAP, GRID, INK, Key, LABEL_SIZE, LINE_HEIGHT, MARGIN, Mark, colour, shown, text_style,
    text_width,
};
use crate::text::{Layout, rounded};

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
            height: (HEIGHT + below).unsigned_abs(),
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
        (bars.min(1024) * BAR_WIDTH_MIN + GAP).max(WIDTH / categories)
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
const HEIGHT: i32 = 320;
/// Pixels of the axis of the categories, if they need no more.
const WIDTH: i32 = 640;
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
mod tests {
    use super::*;

    fn bars() -> Bars {
        Bars {
            title: "Forces on p21 <&> \"others\"".to_owned(),
            unit: "s".to_owned(),
            categories: ["labtec", "corisco", "aquario"].map(str::to_owned).to_vec(),
            series: vec![
                ("Comp".to_owned(), vec![0.3, 0.5, 0.1]),
                ("Mem".to_owned(), vec![-0.2, f64::NAN]),
            ],
        }
    }

    #[test]
    fn every_finite_value_has_a_bar_and_every_name_stands_there() {
        let svg = bars().svg();
        // Two keys of the legend, and four bars.
        assert_eq!(svg.matches("<rect").count(), 2 + 4, "{svg}");
        let description =
            "<desc>Bars in s. labtec: Comp 0.3000, Mem -0.2000. corisco: Comp 0.5000, Mem none.";
        assert!(svg.contains(description), "{svg}");
        for text in ["labtec", "corisco", "aquario", "Comp", "Mem"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        assert!(svg.starts_with("<svg "), "{svg}");
        assert!(svg.ends_with("</svg>\n"), "{svg}");
    }

    #[test]
    fn texts_are_escaped_and_nothing_else_changes_between_two_drawings() {
        let mut bars = bars();
        bars.categories[0] = "a\u{1}b".to_owned();
        let svg = bars.svg();
        assert!(
            svg.contains("Forces on p21 &lt;&amp;&gt; &quot;others&quot;"),
            "{svg}"
        );
        assert!(svg.contains("\na b\n"), "{svg}");
        assert_eq!(bars.svg(), svg);
    }

    #[test]
    fn names_that_do_not_fit_are_turned() {
        let mut bars = bars();
        // The unit is always turned.
        assert_eq!(bars.svg().matches("rotate(270,").count(), 1);
        bars.categories = (0..40)
            .map(|index| format!("a long name {index}"))
            .collect();
        assert_eq!(bars.svg().matches("rotate(270,").count(), 41);
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        let svg = Bars::default().svg();
        assert!(svg.ends_with("</svg>\n"), "{svg}");
    }

    fn rows(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
        let row = |(name, value): &(&str, f64)| ((*name).to_owned(), *value);
        rows.iter().map(row).collect()
    }

    #[test]
    fn bars_grow_to_the_right_and_losses_to_the_left() {
        let rows = rows(&[("Comp", 0.75), ("Comm", 0.0), ("Mem", -0.25), ("PM", 0.3)]);
        let expected = " \
    Comp   0.7500    │██████
     Comm   0.0000    │
     Mem   -0.2500  ██│
     PM     0.3000    │██▍
    ";
        assert_eq!(text_bars(&rows, 8, Layout::default()), expected);
    }

    #[test]
    fn a_nonzero_value_draws_at_least_one_eighth() {
        let rows = rows(&[("much", 1e6), ("little", 1e-3), ("least", -1e-3)]);
        let text = text_bars(&rows, 10, Layout::default());
        let bars: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split("  ").last())
            .collect();
        assert_eq!(bars, [" │██████████", " │▏", "▐│"]);
    }

    #[test]
    fn bars_end_where_lines_do() {
        let rows = rows(&[("a long name", 0.7), ("b", -0.3)]);
        for width in [26, 30, 40] {
            let layout = Layout {
                width: Some(width),
                is_whole: false,
            };
            let text = text_bars(&rows, 48, layout);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= width), "{text}");
            assert!(text.contains('█') || width == 26, "{text}");
        }
    }

    #[test]
    fn numbers_that_are_none_have_no_bar() {
        let text = text_bars(&rows(&[("a", f64::NAN), ("b", 0.0)]), 10, Layout::default());
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('█'), "{text}");
        assert_eq!(text_bars(&[], 10, Layout::default()), "");
    }
}
