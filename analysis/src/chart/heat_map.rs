//! A number for every pair of values, as a colour.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::chart::frame::{
    Frame, GAP, INK, LABEL_SIZE, LINE_HEIGHT, MARGIN, clean, contrast, shown, text_style,
    text_width,
};
use crate::text::rounded;

/// Coloured cells, in one or several panels with a common scale.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// Title of the chart.
    pub title: String,
    /// What the chart shows, in sentences below the title; may be empty.
    pub note: String,
    /// What the colours show, with its unit.
    pub unit: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Values of the horizontal axis, from left to right.
    pub columns: Vec<String>,
    /// Values of the vertical axis, from bottom to top.
    pub rows: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<HeatPanel>,
    /// Whether the colour of zero is pale, and those of positive and negative numbers differ; otherwise the least
    /// number has the palest colour.
    pub is_around_zero: bool,
}

/// The cells of one panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatPanel {
    /// Heading.
    pub name: String,
    /// Row × column; numbers that are not finite leave gaps.
    pub cells: Vec<Vec<f64>>,
}

impl HeatMap {
    /// The chart.
    pub fn svg(&self) -> String {
        let sizes = Sizes::new(self);
        let frame = Frame {
            title: &self.title,
            note: &self.note,
            description: self.description(),
            legend: Vec::new(),
            width: sizes.width.max(text_width(&self.title)).unsigned_abs(),
            height: sizes.height(self.panels.len()).unsigned_abs(),
        };
        let scale = ColourScale::new(&self.numbers(), self.is_around_zero);
        frame.svg(|area| self.draw(Drawing { area, sizes, scale }))
    }

    /// All numbers that have a colour.
    fn numbers(&self) -> Vec<f64> {
        let cells = self.panels.iter().flat_map(|panel| panel.cells.iter());
        let numbers = cells.flatten().copied();
        numbers.filter(|number| number.is_finite()).collect()
    }

    fn description(&self) -> String {
        let mut text = format!(
            "{}{}{} by {} (from left to right) and {} (from bottom to top).",
            self.note,
            if self.note.is_empty() { "" } else { " " },
            self.unit,
            self.x_label,
            self.y_label
        );
        for panel in &self.panels {
            let numbered = panel.cells.iter().enumerate();
            let cells = numbered.flat_map(|(row, cells)| {
                let numbered = cells.iter().enumerate();
                numbered.map(move |(column, number)| (*number, row, column))
            });
            let cells = cells.filter(|(number, ..)| number.is_finite());
            let ordered = |left: &(f64, usize, usize), right: &(f64, usize, usize)| {
                left.0.total_cmp(&right.0)
            };
            let place = |(number, row, column): (f64, usize, usize)| {
                format!(
                    "{} at {} and {}",
                    rounded(number, 2),
                    self.columns[column],
                    self.rows[row]
                )
            };
            let least = cells.clone().min_by(ordered).map(place);
            let greatest = cells.max_by(ordered).map(place);
            let (Some(least), Some(greatest)) = (least, greatest) else {
                text.push_str(&format!(" {}: no values.", panel.name));
                continue;
            };
            text.push_str(&format!(
                " {}: least {least}, greatest {greatest}.",
                panel.name
            ));
        }
        text
    }

    fn draw(&self, drawing: Drawing<'_, '_>) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let mut top = 0;
        for panel in &self.panels {
            self.draw_panel(drawing, panel, top)?;
            top += drawing.sizes.panel;
        }
        drawing.scale.draw(drawing.area, &self.unit, top)
    }

    fn draw_panel(
        &self,
        drawing: Drawing<'_, '_>,
        panel: &HeatPanel,
        top: i32,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let Drawing { area, sizes, .. } = drawing;
        let left = MARGIN + sizes.beside;
        let write = |text: String, place: (i32, i32), horizontal: HPos| {
            let style = text_style(LABEL_SIZE, horizontal, VPos::Center);
            area.draw(&Text::new(clean(&text), place, style))
        };
        let heading = top + LINE_HEIGHT / 2;
        write(panel.name.clone(), (left, heading), HPos::Left)?;
        let below_heading = heading + LINE_HEIGHT;
        write(self.y_label.clone(), (MARGIN, below_heading), HPos::Left)?;
        let first = top + 2 * LINE_HEIGHT + GAP / 2;
        let count = i32::try_from(self.rows.len()).unwrap_or(i32::MAX);
        let every = LINE_HEIGHT.div_euclid(sizes.cell.1.max(1)).max(1);
        for (row, name) in (0..).zip(&self.rows) {
            let y = first + (count - 1 - row) * sizes.cell.1;
            if row % every == 0 {
                let name = shown(name, NAME_LENGTH_MAX.unsigned_abs());
                write(name, (left - GAP, y + sizes.cell.1 / 2), HPos::Right)?;
            }
            let cells = panel.cells.get(usize::try_from(row).unwrap_or(0));
            for (column, number) in (0..).zip(cells.into_iter().flatten()) {
                if number.is_finite() {
                    let corner = (left + column * sizes.cell.0, y);
                    drawing.cell(*number, corner)?;
                }
            }
        }
        let labels = first + count * sizes.cell.1 + LINE_HEIGHT / 2;
        let widest = self.columns.iter().map(|name| text_width(name)).max();
        let every = (widest.unwrap_or(0) + GAP).div_euclid(sizes.cell.0).max(0) + 1;
        for (column, name) in (0..).zip(&self.columns) {
            if column % every == 0 {
                let x = left + column * sizes.cell.0 + sizes.cell.0 / 2;
                write(name.clone(), (x, labels), HPos::Center)?;
            }
        }
        let columns = i32::try_from(self.columns.len()).unwrap_or(i32::MAX);
        let middle = left + columns * sizes.cell.0 / 2;
        let half = text_width(&self.x_label) / 2;
        let place = (middle.max(half + MARGIN), labels + LINE_HEIGHT);
        write(self.x_label.clone(), place, HPos::Center)
    }
}

/// Where a chart is drawn, and how.
#[derive(Clone, Copy)]
struct Drawing<'a, 'b> {
    area: &'a DrawingArea<SVGBackend<'b>, Shift>,
    sizes: Sizes,
    scale: ColourScale,
}

impl Drawing<'_, '_> {
    /// Draws a number as a cell.
    fn cell(&self, number: f64, (x, y): (i32, i32)) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let (width, height) = self.sizes.cell;
        let gap = i32::from(4 < width.min(height));
        let corners = [(x, y), (x + width - gap, y + height - gap)];
        let fill = self.scale.colour(number);
        self.area.draw(&Rectangle::new(corners, fill.filled()))?;
        let text = self.scale.text(number);
        if height < LINE_HEIGHT || width < text_width(&text) {
            return Ok(());
        }
        let style = ("sans-serif", LABEL_SIZE).into_font().color(&ink_on(fill));
        let style = style.pos(Pos::new(HPos::Center, VPos::Center));
        self.area
            .draw(&Text::new(text, (x + width / 2, y + height / 2), style))
    }
}

/// Pixels of the parts of a chart.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Width and height of a cell.
    cell: (i32, i32),
    /// Of the names of rows.
    beside: i32,
    /// Height of a panel with its heading and its labels.
    panel: i32,
    width: i32,
}

impl Sizes {
    fn new(map: &HeatMap) -> Self {
        let widest = |names: &[String]| {
            let widths = names.iter().map(|name| text_width(name));
            widths.max().unwrap_or(0).min(NAME_LENGTH_MAX)
        };
        let count = |names: &[String]| i32::try_from(names.len().max(1)).unwrap_or(i32::MAX);
        let (columns, rows) = (count(&map.columns), count(&map.rows));
        let room = (WIDTH / columns).max(1);
        let wanted = (widest(&map.columns) + GAP).max(CELL_WIDTH);
        let cell = (
            wanted.min(room).max(1),
            (HEIGHT_MAX / rows).clamp(1, CELL_HEIGHT),
        );
        let beside = widest(&map.rows) + GAP;
        let names = [
            text_width(&map.x_label),
            text_width(&map.y_label),
            BAR_WIDTH,
        ];
        let least = names.into_iter().max().unwrap_or(0);
        let table = beside.saturating_add(columns.saturating_mul(cell.0));
        Self {
            cell,
            beside,
            panel: rows
                .saturating_mul(cell.1)
                .saturating_add(4 * LINE_HEIGHT + 3 * GAP),
            width: table.max(least).max(WIDTH_MIN).saturating_add(3 * MARGIN),
        }
    }

    fn height(self, panels: usize) -> i32 {
        let panels = i32::try_from(panels).unwrap_or(i32::MAX);
        let bar = 2 * LINE_HEIGHT + BAR_HEIGHT + 2 * MARGIN;
        panels.saturating_mul(self.panel).saturating_add(bar)
    }
}

/// Pixels of all cells of a row, unless there are more cells.
const WIDTH: i32 = 640;
/// Pixels of the narrowest chart.
const WIDTH_MIN: i32 = 420;
/// Pixels of all cells of a column, unless there are more cells.
const HEIGHT_MAX: i32 = 640;
const CELL_WIDTH: i32 = 96;
const CELL_HEIGHT: i32 = 36;
/// Pixels of the longest name of a row that is shown in full.
const NAME_LENGTH_MAX: i32 = 200;

/// The colours of the numbers of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ColourScale {
    low: f64,
    high: f64,
    is_around_zero: bool,
}

impl ColourScale {
    /// The scale of these numbers, which are finite; zero has the palest colour if it is `is_around_zero`.
    fn new(numbers: &[f64], is_around_zero: bool) -> Self {
        let zero = is_around_zero.then_some(0.0);
        let numbers = || numbers.iter().copied().chain(zero);
        let low = numbers().reduce(f64::min).unwrap_or(0.0);
        let high = numbers().reduce(f64::max).unwrap_or(0.0);
        Self {
            low,
            high,
            is_around_zero,
        }
    }

    /// The colour of a number between the ends.
    fn colour(self, number: f64) -> RGBColor {
        if self.is_around_zero {
            let share = number / self.low.abs().max(self.high).max(f64::MIN_POSITIVE);
            let end = if share < 0.0 { NEGATIVE } else { POSITIVE };
            return between(end, share.abs());
        }
        let range = self.high - self.low;
        let share = if 0.0 < range {
            (number - self.low) / range
        } else {
            0.5
        };
        between(POSITIVE, share)
    }

    /// A number with as many decimals as all others: the largest one has three digits.
    fn text(self, number: f64) -> String {
        let largest = self.low.abs().max(self.high.abs());
        let decimals = match largest {
            0.0 => 0,
            1e5.. | ..0.01 => return format!("{number:.1e}"),
            100.0.. => 0,
            10.0.. => 1,
            _ => 2,
        };
        let text = format!("{number:.decimals$}");
        match text.strip_prefix('-') {
            // Zero has no sign.
            Some(size) if size.bytes().all(|digit| b"0.".contains(&digit)) => size.to_owned(),
            _ => text,
        }
    }

    /// Draws a bar with all colours, and what they mean.
    fn draw(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        unit: &str,
        top: i32,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let write = |text: String, place: (i32, i32), horizontal: HPos| {
            let style = text_style(LABEL_SIZE, horizontal, VPos::Center);
            area.draw(&Text::new(text, place, style))
        };
        write(clean(unit), (MARGIN, top + LINE_HEIGHT / 2), HPos::Left)?;
        let bar = top + LINE_HEIGHT;
        let number = |step: i32| {
            let share = f64::from(step) / f64::from(BAR_STEPS - 1);
            self.low + share * (self.high - self.low)
        };
        let step_width = BAR_WIDTH / BAR_STEPS;
        for step in 0..BAR_STEPS {
            let x = MARGIN + step * step_width;
            let corners = [(x, bar), (x + step_width, bar + BAR_HEIGHT)];
            area.draw(&Rectangle::new(corners, self.colour(number(step)).filled()))?;
        }
        let below = bar + BAR_HEIGHT + LINE_HEIGHT / 2;
        let end = MARGIN + BAR_STEPS * step_width;
        let frame = [(MARGIN, bar), (end, bar + BAR_HEIGHT)];
        area.draw(&Rectangle::new(frame, INK.stroke_width(1)))?;
        write(self.text(self.low), (MARGIN, below), HPos::Left)?;
        write(self.text(self.high), (end, below), HPos::Right)
    }
}

/// The colour at this share of the way from the palest colour to `end`.
fn between(end: RGBColor, share: f64) -> RGBColor {
    let share = share.clamp(0.0, 1.0);
    let part = |from: u8, to: u8| {
        let part = f64::from(from) + share * (f64::from(to) - f64::from(from));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number between two parts of colours is one"
        )]
        let part = part.round() as u8;
        part
    };
    RGBColor(
        part(PALEST.0, end.0),
        part(PALEST.1, end.1),
        part(PALEST.2, end.2),
    )
}

/// Black or white, whichever is read better on `fill`.
fn ink_on(fill: RGBColor) -> RGBColor {
    if contrast(fill, WHITE) < contrast(fill, BLACK) {
        BLACK
    } else {
        WHITE
    }
}

/// A cell has its own colour on white and on dark pages.
const PALEST: RGBColor = RGBColor(242, 242, 238);
const POSITIVE: RGBColor = RGBColor(0, 84, 147);
const NEGATIVE: RGBColor = RGBColor(176, 66, 0);
const BAR_WIDTH: i32 = 246;
const BAR_HEIGHT: i32 = 12;
const BAR_STEPS: i32 = 41;

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: Vec<Vec<f64>>, is_around_zero: bool) -> HeatMap {
        let names = |count: usize| (0..count).map(|place| format!("v{place}")).collect();
        HeatMap {
            title: "Gain".to_owned(),
            unit: "gain in %".to_owned(),
            x_label: "a.x".to_owned(),
            y_label: "a.y".to_owned(),
            columns: names(cells.first().map_or(0, Vec::len)),
            rows: names(cells.len()),
            panels: vec![HeatPanel {
                name: "adaptive".to_owned(),
                cells,
            }],
            is_around_zero,
            ..HeatMap::default()
        }
    }

    #[test]
    fn every_number_has_a_cell_and_gaps_have_none() {
        let svg = map(vec![vec![1.5, -2.5], vec![f64::NAN, 40.0]], true).svg();
        // The cells, the steps of the bar, and its frame.
        let bar = usize::try_from(BAR_STEPS).unwrap() + 1;
        assert_eq!(svg.matches("<rect").count(), 3 + bar);
        for text in ["1.5", "-2.5", "40.0", "adaptive", "a.x", "a.y", "v0", "v1"] {
            assert!(svg.contains(&format!("\n{text}\n")), "{text}: {svg}");
        }
        let description = "gain in % by a.x (from left to right) and a.y (from bottom to top). adaptive: \
                           least -2.50 at v1 and v0, greatest 40.00 at v1 and v1.";
        assert!(svg.contains(description), "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn many_cells_have_no_numbers_and_fit() {
        let svg = map(vec![vec![1.5; 300]; 100], true).svg();
        // That of the bar.
        assert_eq!(svg.matches("\n1.50\n").count(), 1);
        let labels = svg.matches("\nv").count();
        assert!((3..80).contains(&labels), "{labels}");
    }

    #[test]
    fn no_data_gives_an_empty_chart() {
        assert!(HeatMap::default().svg().ends_with("</svg>\n"));
        assert!(map(vec![vec![f64::NAN]], false).svg().contains("no values"));
    }

    #[test]
    fn colours_show_sign_and_size() {
        let scale = ColourScale::new(&[-5.0, 0.0, 10.0], true);
        assert_eq!(scale.colour(0.0), PALEST);
        assert_eq!(scale.colour(10.0), POSITIVE);
        let (loss, gain) = (scale.colour(-5.0), scale.colour(5.0));
        assert!(loss.2 < loss.0 && gain.0 < gain.2, "{loss:?} {gain:?}");
        let scale = ColourScale::new(&[3.0, 4.0], false);
        assert_eq!((scale.colour(3.0), scale.colour(4.0)), (PALEST, POSITIVE));
        let equal = ColourScale::new(&[3.0], false);
        assert_eq!(equal.colour(3.0), between(POSITIVE, 0.5));
    }

    #[test]
    fn numbers_have_the_decimals_of_the_largest_one() {
        let texts = |numbers: &[f64]| -> Vec<String> {
            let scale = ColourScale::new(numbers, false);
            numbers.iter().map(|number| scale.text(*number)).collect()
        };
        assert_eq!(texts(&[37.66, -0.04, 9.0]), ["37.7", "0.0", "9.0"]);
        assert_eq!(texts(&[-512.3, 7.0]), ["-512", "7"]);
        assert_eq!(texts(&[0.5, 0.25]), ["0.50", "0.25"]);
        assert_eq!(texts(&[2e6, 0.0]), ["2.0e6", "0.0e0"]);
        assert_eq!(texts(&[0.0]), ["0"]);
    }

    #[test]
    fn numbers_are_read_on_every_colour() {
        for end in [POSITIVE, NEGATIVE] {
            for step in 0..=100 {
                let fill = between(end, f64::from(step) / 100.0);
                let contrast = contrast(fill, ink_on(fill));
                assert!(4.5 <= contrast, "{fill:?}: {contrast}");
            }
        }
    }
}
