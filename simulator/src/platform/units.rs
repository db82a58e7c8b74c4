//! Numbers with units: `1.5 Gf`, `12.5MBps`, `50 us`.
//!
//! They are read here, and not by what reads experiments, because SimGrid's values are the reference. SimGrid
//! multiplies by a unit where experiments shift the decimal point, which differs in the last digit (`50 us`).

use std::ops::RangeInclusive;

use bsp::units::text::{
    BITPS, BITS_PER_SECOND, BPS, BYTES_PER_SECOND, DAY, FLOP, FLOPS, HOUR, INSTRUCTIONS_PER_SECOND,
    MICROSECOND, MILLISECOND, MINUTE, NANOSECOND, PICOSECOND, SECOND, SHORT_MINUTE, Scale, Unit,
    WEEK, find, split,
};
use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};

use super::error::{PlatformErrorKind, nearest};
use crate::profile::Profile;

/// A quantity that cannot be read or is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value `{text}`: {problem}")]
pub struct QuantityError {
    /// The text found.
    pub text: String,
    /// What is wrong with it.
    pub problem: QuantityProblem,
}

/// What is wrong with the text of a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityProblem {
    /// No number at the start.
    #[error("must be {expected}")]
    NotANumber {
        /// What is expected instead.
        expected: &'static str,
    },
    /// A unit of another measure, or an unknown one.
    #[error(
        "unknown unit `{unit}`{}, must be {expected}",
        nearest.as_deref().map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
    )]
    UnknownUnit {
        /// The unit found.
        unit: String,
        /// The most similar unit of this measure.
        nearest: Option<String>,
        /// What is expected instead.
        expected: &'static str,
    },
    /// A number that is out of range.
    #[error("must be {range}")]
    OutOfRange {
        /// The range of this measure.
        range: &'static str,
    },
}

/// Reads a processor's speed, `1.59Gf` or `1.59 Ginstr/s`; a bare number is in instructions per
/// second.
pub(super) fn speed(text: &str) -> Result<InstructionsPerSecond, QuantityError> {
    let value = read(text, &SPEED)?;
    InstructionsPerSecond::new(value)
        .ok()
        .filter(|_| RATES.contains(&value))
        .ok_or_else(|| out_of_range(text, value, rate_range(value, SPEED_RANGE)))
}

/// Reads a speed; zero means that there is none.
pub(super) fn speed_or_none(text: &str) -> Result<Option<InstructionsPerSecond>, QuantityError> {
    let value = read(text, &SPEED)?;
    if value.abs() <= 0.0 {
        Ok(None)
    } else {
        speed(text).map(Some)
    }
}

/// Reads a bandwidth, `12.5MBps` or `100 Mbps`; a bare number is in bytes per second.
///
/// # Errors
///
/// If there is no number, the unit is none of a bandwidth, or the value is out of range.
pub fn bandwidth(text: &str) -> Result<BytesPerSecond, QuantityError> {
    let value = read(text, &BANDWIDTH)?;
    BytesPerSecond::new(value)
        .ok()
        .filter(|_| RATES.contains(&value))
        .ok_or_else(|| out_of_range(text, value, rate_range(value, BANDWIDTH_RANGE)))
}

/// Reads a bandwidth; zero means that there is none.
pub(super) fn bandwidth_or_none(text: &str) -> Result<Option<BytesPerSecond>, QuantityError> {
    let value = read(text, &BANDWIDTH)?;
    if value.abs() <= 0.0 {
        Ok(None)
    } else {
        bandwidth(text).map(Some)
    }
}

/// Reads a length of time that is not negative, `50us`; a bare number is in seconds.
///
/// # Errors
///
/// If there is no number, the unit is none of a time, or the value is out of range.
pub fn time(text: &str) -> Result<Seconds, QuantityError> {
    let value = read(text, &TIME)?;
    Seconds::new(value)
        .ok()
        .filter(|value| is_time(value.get()))
        .ok_or_else(|| {
            let range = if value < 0.0 {
                "at least 0"
            } else {
                TIME_RANGE
            };
            out_of_range(text, value, range)
        })
}

/// Reads a plain number.
pub(super) fn plain(text: &str) -> Result<f64, QuantityError> {
    read(text, &PLAIN)
}

/// Whether a simulation can count this many seconds.
pub(super) fn is_time(seconds: f64) -> bool {
    seconds.abs() <= 0.0 || TIMES.contains(&seconds)
}

/// Whether a speed or bandwidth is in the range of those in files.
pub(super) fn is_rate(rate: f64) -> bool {
    RATES.contains(&rate)
}

/// The range that a rate of `value` misses.
const fn rate_range(value: f64, range: &'static str) -> &'static str {
    if value <= 0.0 { "positive" } else { range }
}

/// The measures of platform files: an example of each, and its units with their prefixes.
#[must_use]
pub fn measures() -> Vec<(&'static str, Vec<UnitSpelling>)> {
    let spelling = |unit: &Unit| UnitSpelling {
        name: unit.name,
        prefixes: unit.spellings().skip(1).map(|(prefix, _)| prefix).collect(),
    };
    [&SPEED, &BANDWIDTH, &TIME]
        .into_iter()
        .map(|measure| {
            (
                measure.expected,
                measure.units.iter().map(spelling).collect(),
            )
        })
        .collect()
}

/// A unit of platform files, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSpelling {
    /// Without a prefix.
    pub name: &'static str,
    /// The prefixes that it may have.
    pub prefixes: Vec<&'static str>,
}

/// A measure: its units, each with its prefixes, and an example for errors.
struct Measure {
    units: &'static [Unit],
    expected: &'static str,
}

fn read(text: &str, measure: &Measure) -> Result<f64, QuantityError> {
    let found = text.trim();
    let error = |problem| QuantityError {
        text: found.to_owned(),
        problem,
    };
    let expected = measure.expected;
    let parts = split(found).and_then(|(number, unit)| Some((number.parse().ok()?, unit)));
    let (number, unit): (f64, &str) =
        parts.ok_or_else(|| error(QuantityProblem::NotANumber { expected }))?;
    let size = if unit.is_empty() {
        Some(Scale::ONE)
    } else {
        find(unit, measure.units)
    };
    let size = size.ok_or_else(|| {
        let units = measure.units.iter();
        let known = units.flat_map(|unit| {
            let spellings = unit.spellings();
            spellings.map(|(prefix, _)| [prefix, unit.name].concat())
        });
        let known: Vec<String> = known.collect();
        error(QuantityProblem::UnknownUnit {
            unit: unit.to_owned(),
            nearest: nearest(unit, known.iter().map(String::as_str)),
            expected,
        })
    })?;
    // The same multiplication as in SimGrid, so the float is the same to the last digit.
    let value = size.multiply(number);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(out_of_range(text, value, ""))
    }
}

fn out_of_range(text: &str, value: f64, range: &'static str) -> QuantityError {
    let range = if value.is_finite() {
        range
    } else {
        "a finite number"
    };
    QuantityError {
        text: text.trim().to_owned(),
        problem: QuantityProblem::OutOfRange { range },
    }
}

/// Speeds and bandwidths that a simulation can count with: the weights and rates of messages, which are
/// products and quotients of them, are normal floats. The slowest takes eleven days for a byte.
const RATES: RangeInclusive<f64> = 1e-6..=1e30;
/// Lengths of time other than zero that a simulation can count with. After the longest, 32 years, its
/// clock still distinguishes microseconds.
const TIMES: RangeInclusive<f64> = 1e-30..=1e9;

const SPEED_RANGE: &str = "from 1e-6 to 1e30 instructions per second";
const BANDWIDTH_RANGE: &str = "from 1e-6 to 1e30 bytes per second";
const TIME_RANGE: &str = "0, or from 1e-30 to 1e9 seconds";

const SPEED: Measure = Measure {
    units: &[FLOP, FLOPS, INSTRUCTIONS_PER_SECOND],
    expected: "a speed such as `1.5 Gf` or `1.5 Ginstr/s`",
};
const BANDWIDTH: Measure = Measure {
    units: &[BPS, BITPS, BYTES_PER_SECOND, BITS_PER_SECOND],
    expected: "a bandwidth such as `12.5 MBps` or `100 Mbps`",
};
const TIME: Measure = Measure {
    units: &[
        SECOND,
        MILLISECOND,
        MICROSECOND,
        NANOSECOND,
        PICOSECOND,
        SHORT_MINUTE,
        MINUTE,
        HOUR,
        DAY,
        WEEK,
    ],
    expected: "a time such as `50 us` or `1 ms`",
};
const PLAIN: Measure = Measure {
    units: &[],
    expected: "a plain number",
};

/// What the values of a profile stand for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProfileQuantity {
    /// Factors of a speed.
    SpeedFactor,
    /// Fractions of the speed that are not available.
    Load,
    /// Bytes per second.
    Bandwidth,
    /// Seconds.
    Latency,
}

impl ProfileQuantity {
    /// Checks that all values are in range.
    pub(super) fn check(self, name: &str, profile: &Profile) -> Result<(), PlatformErrorKind> {
        let is_in_range = |value: f64| match self {
            Self::SpeedFactor => value.abs() <= 0.0 || FACTORS.contains(&value),
            Self::Latency => is_time(value),
            Self::Load => (0.0..=1.0).contains(&value),
            // What a congested link has left may be less than the least that a file may state.
            Self::Bandwidth => 0.0 < value && value <= *RATES.end(),
        };
        let expected = match self {
            Self::SpeedFactor => "a factor of the host's speed, 0 or from 1e-30 to 1e30",
            Self::Load => "a fraction from 0 to 1",
            Self::Bandwidth => "a positive bandwidth of at most 1e30 bytes per second",
            Self::Latency => "a latency, 0 or from 1e-30 to 1e9 seconds",
        };
        match profile
            .points()
            .iter()
            .find(|point| !is_in_range(point.value))
        {
            None => Ok(()),
            Some(point) => Err(PlatformErrorKind::ProfileValue {
                name: name.to_owned(),
                date: point.date,
                value: point.value,
                expected,
            }),
        }
    }
}

/// Factors other than zero that leave a speed which a simulation can count with.
const FACTORS: RangeInclusive<f64> = 1e-30..=1e30;

#[cfg(test)]
mod tests;
