//! Numbers with units: `1.5 Gf`, `12.5MBps`, `50 us`.

use std::ops::RangeInclusive;

use winnow::Parser;
use winnow::ascii::digit1;
use winnow::combinator::{alt, opt};
use winnow::token::one_of;

use bsp::units::{BytesPerSecond, InstructionsPerSecond, Seconds};

use super::nearest::nearest;

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
        prefixes: unit
            .prefixes
            .iter()
            .flat_map(|prefixes| prefixes.names.iter().copied())
            .collect(),
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

/// A unit and its size in base units.
struct Unit {
    name: &'static str,
    size: f64,
    prefixes: &'static [Prefixes],
}

/// Prefixes in ascending order, each `step` times the one before it.
struct Prefixes {
    names: &'static [&'static str],
    step: f64,
}

fn read(text: &str, measure: &Measure) -> Result<f64, QuantityError> {
    let met = text.trim();
    let error = |problem| QuantityError {
        text: met.to_owned(),
        problem,
    };
    let not_a_number = || {
        error(QuantityProblem::NotANumber {
            expected: measure.expected,
        })
    };
    let mut rest = met;
    let number = number.parse_next(&mut rest).map_err(|_| not_a_number())?;
    let number: f64 = number.parse().map_err(|_| not_a_number())?;
    let unit = rest.trim();
    let size = size(unit, measure).ok_or_else(|| {
        let known: Vec<String> = measure
            .units
            .iter()
            .flat_map(|unit| spellings(unit).map(|(prefix, _)| [prefix, unit.name].concat()))
            .collect();
        error(QuantityProblem::UnknownUnit {
            unit: unit.to_owned(),
            nearest: nearest(unit, known.iter().map(String::as_str)),
            expected: measure.expected,
        })
    })?;
    // The same multiplication as in SimGrid, so the float is the same to the last digit.
    let value = number * size;
    if value.is_finite() {
        Ok(value)
    } else {
        Err(out_of_range(text, value, ""))
    }
}

/// The digits of a number. An `E` without digits behind it begins a unit: `1EBps`.
fn number<'a>(input: &mut &'a str) -> winnow::ModalResult<&'a str> {
    let sign = || opt(one_of(['+', '-']));
    let mantissa = alt((
        (digit1, opt(('.', opt(digit1)))).void(),
        ('.', digit1).void(),
    ));
    let exponent = opt((one_of(['e', 'E']), sign(), digit1));
    (sign(), mantissa, exponent).take().parse_next(input)
}

fn size(unit: &str, measure: &Measure) -> Option<f64> {
    if unit.is_empty() {
        return Some(1.0);
    }
    measure.units.iter().find_map(|known| {
        let met = unit.strip_suffix(known.name)?;
        let mut spellings = spellings(known);
        spellings.find_map(|(prefix, size)| (prefix == met).then_some(size))
    })
}

/// The prefixes of a unit, the empty one first, and the unit's sizes with them.
fn spellings(unit: &Unit) -> impl Iterator<Item = (&'static str, f64)> {
    let prefixed = unit.prefixes.iter().flat_map(|prefixes| {
        prefixes.names.iter().scan(unit.size, |size, prefix| {
            *size *= prefixes.step;
            Some((*prefix, *size))
        })
    });
    std::iter::once(("", unit.size)).chain(prefixed)
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
pub(super) const RATES: RangeInclusive<f64> = 1e-6..=1e30;
/// Lengths of time other than zero that a simulation can count with. After the longest, 32 years, its
/// clock still tells microseconds apart.
const TIMES: RangeInclusive<f64> = 1e-30..=1e9;

const SPEED_RANGE: &str = "from 1e-6 to 1e30 instructions per second";
const BANDWIDTH_RANGE: &str = "from 1e-6 to 1e30 bytes per second";
const TIME_RANGE: &str = "0, or from 1e-30 to 1e9 seconds";

const DECIMAL: Prefixes = Prefixes {
    names: &["k", "M", "G", "T", "P", "E", "Z", "Y"],
    step: 1000.0,
};
const BINARY: Prefixes = Prefixes {
    names: &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"],
    step: 1024.0,
};
const WORDS: Prefixes = Prefixes {
    names: &[
        "kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta",
    ],
    step: 1000.0,
};
/// SimGrid's parser spells it so.
const ZETA: Prefixes = Prefixes {
    names: &["zeta"],
    step: 1e21,
};

const SPEED: Measure = Measure {
    units: &[
        Unit {
            name: "f",
            size: 1.0,
            prefixes: &[DECIMAL],
        },
        Unit {
            name: "flops",
            size: 1.0,
            prefixes: &[DECIMAL, WORDS, ZETA],
        },
        Unit {
            name: "instr/s",
            size: 1.0,
            prefixes: &[DECIMAL],
        },
    ],
    expected: "a speed such as `1.5 Gf` or `1.5 Ginstr/s`",
};
const BANDWIDTH: Measure = Measure {
    units: &[
        Unit {
            name: "Bps",
            size: 1.0,
            prefixes: &[DECIMAL, BINARY],
        },
        Unit {
            name: "bps",
            size: 0.125,
            prefixes: &[DECIMAL, BINARY],
        },
        Unit {
            name: "B/s",
            size: 1.0,
            prefixes: &[DECIMAL, BINARY],
        },
        Unit {
            name: "bit/s",
            size: 0.125,
            prefixes: &[DECIMAL, BINARY],
        },
    ],
    expected: "a bandwidth such as `12.5 MBps` or `100 Mbps`",
};
const TIME: Measure = Measure {
    units: &[
        Unit {
            name: "s",
            size: 1.0,
            prefixes: &[],
        },
        Unit {
            name: "ms",
            size: 1e-3,
            prefixes: &[],
        },
        Unit {
            name: "us",
            size: 1e-6,
            prefixes: &[],
        },
        Unit {
            name: "ns",
            size: 1e-9,
            prefixes: &[],
        },
        Unit {
            name: "ps",
            size: 1e-12,
            prefixes: &[],
        },
        Unit {
            name: "m",
            size: 60.0,
            prefixes: &[],
        },
        Unit {
            name: "min",
            size: 60.0,
            prefixes: &[],
        },
        Unit {
            name: "h",
            size: 3600.0,
            prefixes: &[],
        },
        Unit {
            name: "d",
            size: 86_400.0,
            prefixes: &[],
        },
        Unit {
            name: "w",
            size: 604_800.0,
            prefixes: &[],
        },
    ],
    expected: "a time such as `50 us` or `1 ms`",
};
const PLAIN: Measure = Measure {
    units: &[],
    expected: "a plain number",
};

#[cfg(test)]
mod tests;
