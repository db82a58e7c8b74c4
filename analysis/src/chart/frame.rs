//! What surrounds the data of every chart: title, legend, colours, fonts.

use std::io;

use bsp::numbers::index;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A chart without its data.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    /// Title of the chart.
    pub(super) title: &'a str,
    /// What the chart shows, in sentences below the title; may be empty.
    pub(super) note: &'a str,
    /// What the chart shows, in words: a description for readers without the picture.
    pub(super) description: String,
    /// Legend of the colours.
    pub(super) legend: Vec<Key<'a>>,
    /// In pixels.
    pub(super) width: u32,
    /// Of the area for the data and their axes, in pixels.
    pub(super) height: u32,
}

/// An entry of the legend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'a> {
    /// Label.
    pub(super) name: &'a str,
    /// Style.
    pub(super) mark: Mark,
    /// Index of its [`colour`].
    pub(super) colour: usize,
}

/// Style of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Filled areas.
    Area,
    /// A line.
    Line,
    /// A dashed line.
    Dashes,
    /// Points.
    Points,
    /// Points that are not filled.
    Rings,
}

impl Frame<'_> {
    /// The chart: title and legend, with the drawing of `data` below.
    pub(super) fn svg(
        &self,
        data: impl FnOnce(
            &DrawingArea<SVGBackend<'_>, Shift>,
        ) -> Result<(), DrawingAreaErrorKind<io::Error>>,
    ) -> String {
        let mut svg = String::new();
        self.draw(&mut svg, data).expect(
            "a string takes everything, and a font that is never looked up is always there",
        );
        self.with_head(&svg)
    }

    /// Height of title, note and legend, in pixels.
    pub(super) fn head(&self) -> i32 {
        let rows = self.legend_places().last().map_or(0, |(_, row)| row + 1);
        let legend = rows * LEGEND_HEIGHT + if 0 < rows { GAP } else { 0 };
        TITLE_HEIGHT + height_of(self.note_lines().len()) + legend
    }

    /// `svg` with title, description, and the colour of texts on dark pages.
    fn with_head(&self, svg: &str) -> String {
        let (tag, drawing) = svg.split_once('>').unwrap_or((svg, ""));
        let (title, description) = (escaped(self.title), escaped(&self.description));
        format!(
            "{tag} role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n<style>{STYLE}</style>{drawing}"
        )
    }

    fn draw(
        &self,
        svg: &mut String,
        data: impl FnOnce(
            &DrawingArea<SVGBackend<'_>, Shift>,
        ) -> Result<(), DrawingAreaErrorKind<io::Error>>,
    ) -> Result<(), DrawingAreaErrorKind<io::Error>> {
        let places = self.legend_places();
        let note = self.note_lines();
        let head = TITLE_HEIGHT + height_of(note.len());
        let above = self.head();
        let size = (self.width, self.height + above.unsigned_abs());
        let root = SVGBackend::with_string(svg, size).into_drawing_area();
        let title = shown(self.title, self.width);
        root.draw(&Text::new(
            title,
            (MARGIN, MARGIN),
            text_style(TITLE_SIZE, HPos::Left, VPos::Top),
        ))?;
        for (index, line) in note.into_iter().enumerate() {
            let style = text_style(LABEL_SIZE, HPos::Left, VPos::Top);
            root.draw(&Text::new(
                line,
                (MARGIN, TITLE_HEIGHT + height_of(index)),
                style,
            ))?;
        }
        for (key, (x, row)) in self.legend.iter().zip(places) {
            let y = head + row * LEGEND_HEIGHT + LEGEND_HEIGHT / 2;
            draw_mark(&root, key.mark, colour(key.colour), (x, y))?;
            let style = text_style(LABEL_SIZE, HPos::Left, VPos::Center);
            let name = clean(key.name);
            root.draw(&Text::new(name, (x + KEY_WIDTH, y), style))?;
        }
        let (_, area) = root.split_vertically(above);
        data(&area)?;
        root.present()
    }

    /// The note, wrapped to the width of the chart.
    fn note_lines(&self) -> Vec<String> {
        let room = self.width.saturating_sub(2 * MARGIN.unsigned_abs());
        let columns = index(room) / NOTE_CHARACTER_WIDTH;
        // A number and its unit stay in one line.
        let note = clean(self.note).replace(" %", "\u{a0}%");
        let lines = textwrap::wrap(&note, columns.max(1)).into_iter();
        lines
            .map(std::borrow::Cow::into_owned)
            .filter(|line| !line.is_empty())
            .collect()
    }

    /// For each key of the legend, the pixel at which it begins and the row it stands in.
    fn legend_places(&self) -> Vec<(i32, i32)> {
        let end = i32::try_from(self.width).unwrap_or(i32::MAX);
        let (mut x, mut row) = (MARGIN, 0);
        let place = |key: &Key<'_>| {
            let width = KEY_WIDTH + text_width(key.name) + 2 * GAP;
            if MARGIN < x && end < x + width {
                (x, row) = (MARGIN, row + 1);
            }
            let place = (x, row);
            x += width;
            place
        };
        self.legend.iter().map(place).collect()
    }
}

/// `svg` with more `attributes`, and with `layers` in front of what it has.
pub(super) fn with_layers(svg: &str, attributes: &str, layers: &str) -> String {
    let (tag, rest) = svg.split_once('>').unwrap_or((svg, ""));
    let body = rest.strip_suffix(END).unwrap_or(rest);
    format!("{tag} {attributes}>{body}{layers}{END}")
}

/// The elements of `svg`, without the element around them.
pub(super) fn inner(svg: &str) -> &str {
    let (_, rest) = svg.split_once('>').unwrap_or((svg, ""));
    let rest = rest.strip_prefix('\n').unwrap_or(rest);
    rest.strip_suffix(END).unwrap_or(rest)
}

/// Pixels of `lines` lines of labels.
fn height_of(lines: usize) -> i32 {
    i32::try_from(lines).map_or(i32::MAX / 2, |lines| lines.saturating_mul(LINE_HEIGHT))
}

fn draw_mark(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    mark: Mark,
    colour: RGBColor,
    (x, y): (i32, i32),
) -> Result<(), DrawingAreaErrorKind<io::Error>> {
    let (from, to) = (x, x + KEY_WIDTH - GAP);
    match mark {
        Mark::Area => area.draw(&Rectangle::new(
            [(from, y - 6), (to, y + 6)],
            colour.filled(),
        )),
        Mark::Line => area.draw(&PathElement::new([(from, y), (to, y)], stroke(colour))),
        Mark::Dashes => {
            let middle = i32::midpoint(from, to);
            area.draw(&PathElement::new(
                [(from, y), (middle - 2, y)],
                stroke(colour),
            ))?;
            area.draw(&PathElement::new(
                [(middle + 2, y), (to, y)],
                stroke(colour),
            ))
        }
        Mark::Points => {
            let middle = i32::midpoint(from, to);
            area.draw(&Circle::new((middle, y), POINT_RADIUS, colour.filled()))
        }
        Mark::Rings => {
            let middle = i32::midpoint(from, to);
            area.draw(&Circle::new((middle, y), POINT_RADIUS, colour))
        }
    }
}

/// The colour of the series `index`. There is no page behind a chart: each colour has a contrast of at least 3 with
/// white and with the pages of dark themes. Hues are near those of Okabe and Ito, which colour-blind readers can
/// distinguish.
pub(super) fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(199, 124, 0),
    RGBColor(0, 150, 110),
    RGBColor(200, 60, 30),
    RGBColor(190, 105, 160),
    RGBColor(40, 145, 195),
    RGBColor(118, 118, 118),
];

/// The contrast as the Web Content Accessibility Guidelines define it.
pub(super) fn contrast(one: RGBColor, other: RGBColor) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The part of light that a colour reflects.
fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
    let linear = |part: u8| {
        let share = f64::from(part) / 255.0;
        if share <= 0.04045 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// A line of a series.
pub(super) fn stroke(colour: RGBColor) -> ShapeStyle {
    colour.stroke_width(2)
}

/// Text of a size in units of `plotters`, its anchor at the given side.
pub(super) fn text_style(size: f64, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(horizontal, vertical))
}

/// Approximate width of a label in pixels.
pub(super) fn text_width(text: &str) -> i32 {
    let characters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 16);
    characters.min(i32::MAX / 16) * CHARACTER_WIDTH
}

/// `text`, cleaned, as the content of an element.
fn escaped(text: &str) -> String {
    let cleaned = clean(text);
    cleaned
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// `text` without characters that XML has no place for.
pub(super) fn clean(text: &str) -> String {
    let allowed = |character: char| match character {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        character if character.is_control() => ' ',
        character => character,
    };
    text.chars().map(allowed).collect()
}

/// `text`, cleaned and cut to fit into this many pixels.
pub(super) fn shown(text: &str, width: u32) -> String {
    let cleaned = clean(text);
    let room = index(width) / CHARACTER_WIDTH.unsigned_abs() as usize;
    if cleaned.chars().count() <= room {
        return cleaned;
    }
    let kept: String = cleaned.chars().take(room.saturating_sub(1)).collect();
    kept + "…"
}

/// Colour of texts and axes: its contrast with white is 4.5, with black 4.6.
pub(super) const INK: RGBColor = RGBColor(118, 118, 118);
/// Colour of the lines behind the data.
pub(super) const GRID: RGBAColor = RGBAColor(118, 118, 118, 0.25);
/// Texts on pages that are dark but not black need a lighter colour for a contrast of 4.5. On a white page, where a
/// program applies this rule by mistake, it still has 3. Texts of another colour than [`INK`] stand on cells that have
/// their own.
const STYLE: &str =
    "@media (prefers-color-scheme: dark) { svg text[fill=\"#767676\"] { fill: #919191; } }";
/// How every chart ends.
const END: &str = "</svg>\n";
/// Size of labels, in units of `plotters`: 13 pixels.
pub(super) const LABEL_SIZE: f64 = 16.12;
/// Radius of a point, in pixels.
pub(super) const POINT_RADIUS: i32 = 4;
/// Space around everything, in pixels.
pub(super) const MARGIN: i32 = 12;
/// Space between things, in pixels.
pub(super) const GAP: i32 = 8;
/// Height of a line of labels, in pixels.
pub(super) const LINE_HEIGHT: i32 = 20;
const TITLE_SIZE: f64 = 19.84;
const TITLE_HEIGHT: i32 = 40;
const LEGEND_HEIGHT: i32 = 20;
const KEY_WIDTH: i32 = 28;
const CHARACTER_WIDTH: i32 = 8;
/// Running text is narrower than the estimate for labels.
const NOTE_CHARACTER_WIDTH: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_contrasts_with_white_and_dark_pages() {
        // Pages of GitHub in its dark theme, and of `reproduce --html`.
        let dark = RGBColor(13, 17, 23);
        for colour in COLOURS.into_iter().chain([INK]) {
            for page in [WHITE, dark, BLACK] {
                let contrast = contrast(colour, page);
                assert!(3.0 <= contrast, "{colour:?} on {page:?}: {contrast}");
            }
        }
        let light_ink = RGBColor(0x91, 0x91, 0x91);
        assert!(STYLE.contains("#919191"));
        let RGBColor(red, green, blue) = INK;
        assert!(STYLE.contains(&format!("#{red:02X}{green:02X}{blue:02X}")));
        assert!(4.5 <= contrast(INK, WHITE));
        assert!(4.5 <= contrast(light_ink, dark));
        assert!(3.0 <= contrast(light_ink, WHITE));
    }

    #[test]
    fn a_chart_has_a_title_and_a_description_and_no_page() {
        let frame = Frame {
            title: "a < b",
            note: "",
            description: "c & \u{1}d".to_owned(),
            legend: Vec::new(),
            width: 400,
            height: 100,
        };
        let svg = frame.svg(|_| Ok(()));
        assert!(svg.contains("<title>a &lt; b</title>"), "{svg}");
        assert!(svg.contains("<desc>c &amp;  d</desc>"), "{svg}");
        assert!(svg.contains("role=\"img\""), "{svg}");
        assert!(!svg.contains("<rect"), "{svg}");
    }
}
