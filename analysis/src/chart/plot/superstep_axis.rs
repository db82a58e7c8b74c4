//! The axis of supersteps.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged};

/// Supersteps from the first one on; logarithmic by the number of supersteps since then, so that it begins with zero.
///
/// Invariant: the second end is above the first one.
#[derive(Clone, Debug)]
pub(super) struct SuperstepAxis {
    from: u64,
    to: u64,
    is_log: bool,
}

impl SuperstepAxis {
    /// The axis from superstep `from` until before `to`.
    pub(super) fn new((from, to): (u64, u64), is_log: bool) -> Self {
        Self {
            from,
            to: to.max(from.saturating_add(1)),
            is_log,
        }
    }

    /// The labels of the axis with their pixels, if its ends are at `pixels`.
    pub(super) fn places(&self, pixels: (i32, i32)) -> Vec<(String, i32)> {
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
        (first..=self.to)
            .step_by(usize::try_from(step).unwrap_or(usize::MAX))
            .collect()
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
mod tests {
    use super::*;

    fn labels(supersteps: (u64, u64), is_log: bool) -> Vec<String> {
        let axis = SuperstepAxis::new(supersteps, is_log);
        let places = axis.places((0, 900)).into_iter();
        places.map(|(label, _)| label).collect()
    }

    #[test]
    fn labels_are_round_numbers_that_do_not_overlap() {
        assert_eq!(labels((0, 4), false), ["0", "1", "2", "3", "4"]);
        assert_eq!(labels((0, 2_000), false)[..3], ["0", "200", "400"]);
        assert_eq!(labels((990, 2_000), false)[..2], ["1000", "1200"]);
        let logarithmic = labels((0, 2_000), true);
        assert_eq!(logarithmic[..4], ["0", "1", "2", "5"]);
        assert_eq!(logarithmic.last().unwrap(), "2000");
        for supersteps in [(0, 0), (5, 5), (0, u64::MAX), (u64::MAX - 1, u64::MAX)] {
            for is_log in [false, true] {
                assert!(labels(supersteps, is_log).len() < 40, "{supersteps:?}");
            }
        }
    }

    #[test]
    fn both_scales_begin_and_end_at_the_same_places() {
        for is_log in [false, true] {
            let axis = SuperstepAxis::new((100, 300), is_log);
            assert_eq!(axis.map(&100.0, (20, 900)), 20);
            assert_eq!(axis.map(&300.0, (20, 900)), 900);
            assert!(axis.map(&110.0, (20, 900)) < axis.map(&120.0, (20, 900)));
        }
    }
}
