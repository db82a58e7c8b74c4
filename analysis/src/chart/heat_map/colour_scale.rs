//! The colours of numbers.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use crate::chart::frame::{INK, LABEL_SIZE, LINE_HEIGHT, MARGIN, clean, contrast, text_style};

/// The colours of the numbers of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColourScale {
    low: f64,
    high: f64,
    is_around_zero: bool,
}

impl ColourScale {
    /// The scale of these numbers, which are finite; zero has the palest colour if it is `is_around_zero`.
    pub(super) fn new(numbers: &[f64], is_around_zero: bool) -> Self {
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
    pub(super) fn colour(self, number: f64) -> RGBColor {
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
    pub(super) fn text(self, number: f64) -> String {
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
    pub(super) fn draw(
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
pub(super) fn ink_on(fill: RGBColor) -> RGBColor {
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
pub(super) const BAR_WIDTH: i32 = 246;
pub(super) const BAR_HEIGHT: i32 = 12;
pub(super) const BAR_STEPS: i32 = 41;

#[cfg(test)]
mod tests {
    use super::*;

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
