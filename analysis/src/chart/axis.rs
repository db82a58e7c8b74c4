//! The scale of an axis: from where to where, and which numbers stand at it.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::chart::frame::{GAP, text_width};
use crate::text::without_zeros;

/// The scale of one axis.
///
/// Invariant: `low < high`, both finite; of a logarithmic axis, `0 < low`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    /// The numbers that stand at it.
    ticks: Vec<f64>,
    /// What digits have to tell apart.
    step: f64,
    is_log: bool,
    /// Whether zero stands at the beginning of a logarithmic axis.
    has_zero: bool,
}

impl Axis {
    /// An axis for `values`, which begins and ends at a round number.
    pub(super) fn linear(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        let (low, high) = if low < high {
            (low, high)
        } else if low == 0.0 {
            (0.0, 1.0)
        } else {
            (low.min(0.0), high.max(0.0))
        };
        let step = round_step(high / TICKS - low / TICKS);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        // The round number beside the greatest of all is none.
        let round = |number: f64| (number * step).clamp(f64::MIN, f64::MAX);
        let mut ticks = vec![round(first)];
        let mut number = first;
        while number < last {
            number += 1.0;
            ticks.push(round(number));
        }
        Self {
            low: round(first),
            high: round(last),
            ticks,
            step,
            is_log: false,
            has_zero: false,
        }
    }

    /// A logarithmic axis for those of `values` that are positive, which begins and ends at a round number.
    pub(super) fn logarithmic(values: impl IntoIterator<Item = f64>) -> Self {
        let positive = values
            .into_iter()
            .filter(|value| 0.0 < *value && value.is_finite());
        let (low, high) = range(positive.map(f64::log10));
        let (first, last) = (low.floor(), high.ceil().max(low.floor() + 1.0));
        let factors: &[f64] = if last - first <= 3.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        // More labels than these would stand in each other's way.
        let every = ((last - first) / DECADES).ceil().max(1.0);
        let mut ticks = Vec::new();
        let mut decade = first;
        while decade < last {
            ticks.extend(factors.iter().map(|factor| factor * 10_f64.powf(decade)));
            decade += every;
        }
        ticks.push(10_f64.powf(last));
        // Only the ticks around the values.
        let within = |tick: &f64| tick.log10() <= low + ROUNDING;
        let begin = ticks.iter().rposition(within).unwrap_or(0);
        let beyond = |tick: &f64| high - ROUNDING <= tick.log10();
        let end = ticks.iter().position(beyond).unwrap_or(ticks.len() - 1);
        let end = end.max(begin + 1).min(ticks.len() - 1);
        let ticks = ticks[begin.min(end - 1)..=end].to_vec();
        Self {
            low: ticks[0],
            high: ticks[ticks.len() - 1],
            step: ticks[0],
            ticks,
            is_log: true,
            has_zero: false,
        }
    }

    /// A logarithmic axis as [`logarithmic`](Self::logarithmic), which begins with zero if a value is zero: one
    /// decade below the least of the others.
    pub(super) fn logarithmic_from_zero(values: &[f64]) -> Self {
        let axis = Self::logarithmic(values.iter().copied());
        let low = axis.low / 10.0;
        if !values.contains(&0.0) || low == 0.0 {
            return axis;
        }
        let mut ticks = vec![0.0];
        ticks.extend(axis.ticks);
        Self {
            low,
            ticks,
            has_zero: true,
            ..axis
        }
    }

    /// An axis around `middle` for `values`, which does not begin at zero.
    pub(super) fn around(middle: f64, values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = range(values.into_iter().chain([middle]));
        // Differences that cannot be seen in a table are not blown up.
        let least = 0.01 * middle.abs();
        Self::linear([low.min(middle - least), high.max(middle + least)])
    }

    /// An axis for rows, which has no numbers.
    pub(super) fn rows(number: usize) -> Self {
        Self {
            low: 0.0,
            high: number.max(1) as f64,
            ticks: Vec::new(),
            step: 1.0,
            is_log: false,
            has_zero: false,
        }
    }

    /// The numbers that stand at it.
    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Whether `value` has a place on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        value.is_finite() && (!self.is_log || 0.0 < value || (self.has_zero && value == 0.0))
    }

    /// Where the axis begins.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// Where the axis ends.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Width in pixels of its numbers.
    pub(super) fn label_area(&self) -> i32 {
        let labels = self.ticks.iter().map(|tick| self.label(*tick));
        let widest = labels.map(|label| text_width(&label)).max();
        widest.unwrap_or_default() + 2 * GAP
    }

    /// A number at the axis, with enough digits to distinguish it from its neighbours.
    pub(super) fn label(&self, value: f64) -> String {
        if self.is_log && value == 0.0 {
            return "0".to_owned();
        }
        let largest = self.low.abs().max(self.high.abs());
        if 1e-4 < self.step && largest < 1e7 {
            let number = format!("{value:.*}", decimals(self.step));
            return if self.is_log {
                without_zeros(&number)
            } else {
                number
            };
        }
        if value == 0.0 {
            return "0".to_owned();
        }
        let number = format!("{value:.3e}");
        let (digits, exponent) = number.split_once('e').unwrap_or((&number, "0"));
        format!("{}e{exponent}", without_zeros(digits))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = if self.has_zero && *value <= 0.0 {
            0.0
        } else if self.is_log {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
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
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

/// The least and the greatest of the finite `values`; zero and zero if there are none.
fn range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|value| value.is_finite());
    finite
        .map(|value| (value, value))
        .reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
        .unwrap_or_default()
}

/// The least of …, 0.1, 0.2, 0.5, 1, 2, 5, … that is not below `least`.
fn round_step(least: f64) -> f64 {
    let decade = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| least <= factor * decade);
    factor.unwrap_or(10.0) * decade
}

/// Number of decimals that distinguish multiples of `step`.
fn decimals(step: f64) -> usize {
    let (mut step, mut decimals) = (step, 0);
    // A rest within rounding is zero.
    while step < 0.999 && decimals < 12 {
        step *= 10.0;
        decimals += 1;
    }
    decimals
}

/// About how many numbers stand at an axis, less one.
const TICKS: f64 = 6.0;
/// The most decades that stand at a logarithmic axis.
const DECADES: f64 = 20.0;
/// Logarithms that differ by less are those of the same number.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|tick| axis.label(*tick)).collect()
    }

    #[test]
    fn an_axis_ends_at_round_numbers() {
        let axis = Axis::linear([0.0, 0.43, -0.12]);
        assert_eq!(
            labels(&axis),
            ["-0.2", "-0.1", "0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
        assert_eq!(labels(&Axis::linear([0.0, 3.0e7]))[1..3], ["5e6", "1e7"]);
        assert_eq!(labels(&Axis::linear([0.0, 4e-6]))[1], "1e-6");
    }

    #[test]
    fn an_axis_has_a_length_whatever_the_numbers_are() {
        for values in [&[][..], &[0.0], &[7.0], &[-7.0], &[f64::NAN, f64::INFINITY]] {
            for axis in [
                Axis::linear(values.iter().copied()),
                Axis::logarithmic(values.iter().copied()),
            ] {
                assert!(axis.low < axis.high, "{values:?}: {axis:?}");
                assert!(axis.ticks.len() < 20, "{values:?}: {axis:?}");
            }
        }
    }

    #[test]
    fn a_logarithmic_axis_shows_powers_of_ten() {
        let axis = Axis::logarithmic([3.0, 900.0]);
        assert_eq!(labels(&axis)[..5], ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(&axis).last().unwrap(), "1000");
        let wide = Axis::logarithmic([0.001, 50.0]);
        assert_eq!(labels(&wide), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        assert!(!axis.holds(0.0) && axis.holds(1e-9));
        assert_eq!(
            labels(&Axis::logarithmic([10.0, 2000.0]))[6..],
            ["1000", "2000"]
        );
        assert_eq!(labels(&Axis::logarithmic([5.0])), ["5", "10"]);
    }

    #[test]
    fn zero_stands_at_the_beginning_of_a_logarithmic_axis_if_it_is_a_value() {
        let axis = Axis::logarithmic_from_zero(&[0.0, 3.0, 900.0]);
        assert_eq!(labels(&axis)[..3], ["0", "2", "5"]);
        assert!(axis.holds(0.0) && !axis.holds(-1.0));
        assert_eq!(axis.map(&0.0, (0, 100)), 0);
        assert!(0 < axis.map(&2.0, (0, 100)));
        assert_eq!(axis.map(&1000.0, (0, 100)), 100);
        let positive = Axis::logarithmic_from_zero(&[3.0, 900.0]);
        assert_eq!(positive, Axis::logarithmic([3.0, 900.0]));
        for values in [&[][..], &[0.0], &[0.0, 5e-324], &[f64::NAN, 0.0]] {
            let axis = Axis::logarithmic_from_zero(values);
            assert!(axis.low < axis.high, "{values:?}: {axis:?}");
        }
    }

    #[test]
    fn an_axis_around_a_number_holds_it_and_the_values() {
        let axis = Axis::around(1.0, [0.93, 1.21]);
        assert_eq!(labels(&axis).first().unwrap(), "0.90");
        assert_eq!(labels(&axis).last().unwrap(), "1.25");
        let equal = Axis::around(1.0, [1.0]);
        assert!(equal.low <= 0.99 && 1.01 <= equal.high, "{equal:?}");
    }
}
