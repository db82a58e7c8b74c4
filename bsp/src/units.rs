//! Units as types.
//!
//! Counts are integers ([`Bytes`], [`Instructions`]); measures are finite floats ([`Seconds`],
//! [`BytesPerSecond`], [`InstructionsPerSecond`]). Only meaningful operators exist: bytes divided by bytes
//! per second are seconds.

pub mod text;

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A value that no measure can have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum UnitError {
    /// Not a number, or infinite.
    #[error("{0} is not a finite number")]
    NotFinite(f64),
    /// A rate or a date has to lie in a range that this value does not.
    #[error("{value} is {problem}")]
    OutOfRange {
        /// The value found.
        value: f64,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// An amount of data, in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// An amount of computation, in instructions.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Instructions(pub u64);

/// A length of time, in seconds; may be negative (a potential of migration often is).
///
/// Invariant: finite, and never `-0.0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(try_from = "f64", into = "f64")]
pub struct Seconds(f64);

/// What a clock shows: seconds since the run began.
///
/// Invariant: finite and non-negative, so that instants have a total order.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("minimum" = 0)))]
#[serde(try_from = "f64", into = "f64")]
pub struct Instant(f64);

/// Speed of a network, in bytes per second.
///
/// Invariant: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("exclusiveMinimum" = 0)))]
#[serde(try_from = "f64", into = "f64")]
pub struct BytesPerSecond(f64);

/// Speed of a processor, in instructions per second.
///
/// Invariant: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("exclusiveMinimum" = 0)))]
#[serde(try_from = "f64", into = "f64")]
pub struct InstructionsPerSecond(f64);

impl Seconds {
    /// No time at all.
    pub const ZERO: Self = Self(0.0);

    /// # Errors
    ///
    /// If `value` is not finite.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        // Adding zero turns -0.0 into 0.0.
        if value.is_finite() {
            Ok(Self(value + 0.0))
        } else {
            Err(UnitError::NotFinite(value))
        }
    }

    /// `value` seconds, at most 1e30 in either direction; what is not a number counts as that: longer than any run, and far
    /// enough from the largest float that sums stay finite. For times that numbers of other hosts make.
    #[must_use]
    pub fn bounded(value: f64) -> Self {
        const FOREVER: f64 = 1e30;
        if value.is_nan() {
            Self(FOREVER)
        } else {
            Self(value.clamp(-FOREVER, FOREVER) + 0.0)
        }
    }

    /// The bare number, for leaf arithmetic and printing.
    #[must_use]
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The larger of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.0 < other.0 { other } else { self }
    }

    /// The smaller of the two.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    #[track_caller]
    #[inline]
    fn finite(value: f64) -> Self {
        assert!(
            value.is_finite(),
            "a time of {value} s came out of arithmetic"
        );
        Self(value + 0.0)
    }
}

impl Instant {
    /// The beginning of the run.
    pub const START: Self = Self(0.0);

    /// # Errors
    ///
    /// If `value` is negative or not finite.
    pub fn new(value: f64) -> Result<Self, UnitError> {
        if !value.is_finite() {
            return Err(UnitError::NotFinite(value));
        }
        if value < 0.0 {
            return Err(UnitError::OutOfRange {
                value,
                problem: "before the run began",
            });
        }
        Ok(Self(value + 0.0))
    }

    /// Seconds since the run began, for leaf arithmetic and printing.
    #[must_use]
    #[inline]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The later of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.0 < other.0 { other } else { self }
    }
}

impl Eq for Seconds {}
impl Eq for Instant {}
impl Eq for BytesPerSecond {}
impl Eq for InstructionsPerSecond {}

macro_rules! measures {
    ($($measure:ident)*) => {$(
        #[expect(clippy::derive_ord_xor_partial_ord, reason = "finite, so both orders agree")]
        impl Ord for $measure {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl TryFrom<f64> for $measure {
            type Error = UnitError;

            fn try_from(value: f64) -> Result<Self, UnitError> {
                Self::new(value)
            }
        }

        impl From<$measure> for f64 {
            fn from(measure: $measure) -> Self {
                measure.0
            }
        }
    )*};
}

measures!(Seconds Instant BytesPerSecond InstructionsPerSecond);

macro_rules! rates {
    ($($rate:ident of $amount:ident),*) => {$(
        impl $rate {
            /// # Errors
            ///
            /// If `value` is not finite, zero or negative.
            pub fn new(value: f64) -> Result<Self, UnitError> {
                if !value.is_finite() {
                    return Err(UnitError::NotFinite(value));
                }
                if value <= 0.0 {
                    return Err(UnitError::OutOfRange { value, problem: "not above zero" });
                }
                Ok(Self(value))
            }

            /// The bare number, for leaf arithmetic and printing.
            #[must_use]
            #[inline]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl Div<$rate> for $amount {
            type Output = Seconds;

            fn div(self, rate: $rate) -> Seconds {
                Seconds::finite(self.as_f64() / rate.0)
            }
        }
    )*};
}

rates!(BytesPerSecond of Bytes, InstructionsPerSecond of Instructions);

macro_rules! amounts {
    ($($amount:ident)*) => {$(
        impl $amount {
            /// None.
            pub const ZERO: Self = Self(0);

            /// The amount as a float, exact up to 2⁵³.
            #[must_use]
            #[inline]
            #[expect(clippy::as_conversions, reason = "no lossless conversion exists")]
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl Add for $amount {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $amount {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sum for $amount {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self(0), Add::add)
            }
        }
    )*};
}

amounts!(Bytes Instructions);

impl Add for Seconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::finite(self.0 + other.0)
    }
}

impl AddAssign for Seconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Seconds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::finite(self.0 - other.0)
    }
}

impl SubAssign for Seconds {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Seconds {
    type Output = Self;

    fn neg(self) -> Self {
        Self::finite(-self.0)
    }
}

impl Mul<f64> for Seconds {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self::finite(self.0 * factor)
    }
}

impl Sum for Seconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Add::add)
    }
}

impl Add<Seconds> for Instant {
    type Output = Self;

    /// # Panics
    ///
    /// If the sum lies before the run began.
    fn add(self, length: Seconds) -> Self {
        let sum = self.0 + length.0;
        assert!(
            0.0 <= sum && sum.is_finite(),
            "{self} + {length} is not an instant of the run"
        );
        Self(sum)
    }
}

impl Sub for Instant {
    type Output = Seconds;

    fn sub(self, earlier: Self) -> Seconds {
        Seconds::finite(self.0 - earlier.0)
    }
}

/// `value` with the largest decimal prefix that keeps it at least one, and the unit behind it.
fn prefixed(formatter: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    const PREFIXES: [(f64, &str); 5] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let (scale, prefix) = PREFIXES
        .into_iter()
        .find(|(scale, _)| *scale <= value.abs())
        .unwrap_or((1.0, ""));
    let digits = formatter.precision().unwrap_or(3);
    let text = format!("{:.digits$}", value / scale);
    let short = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    write!(formatter, "{short} {prefix}{unit}")
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        prefixed(formatter, self.as_f64(), "B")
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        prefixed(formatter, self.as_f64(), "instr")
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        prefixed(formatter, self.0, "B/s")
    }
}

impl fmt::Display for InstructionsPerSecond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        prefixed(formatter, self.0, "instr/s")
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match formatter.precision() {
            Some(digits) => write!(formatter, "{:.digits$} s", self.0),
            None => write!(formatter, "{} s", self.0),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Seconds(self.0), formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_clock_can_show_are_bounded() {
        let forever = Seconds(1e30);
        for (value, expected) in [
            (f64::INFINITY, forever),
            (f64::NEG_INFINITY, -forever),
            (f64::NAN, forever),
            (1.5, Seconds(1.5)),
            (-0.0, Seconds::ZERO),
        ] {
            assert_eq!(Seconds::bounded(value), expected, "{value}");
        }
    }

    #[test]
    fn values_that_are_not_finite_are_refused() {
        assert_eq!(
            Seconds::new(f64::INFINITY),
            Err(UnitError::NotFinite(f64::INFINITY))
        );
        assert!(Seconds::new(f64::NAN).is_err());
        assert!(Instant::new(-1e-9).is_err());
        assert!(BytesPerSecond::new(0.0).is_err());
        assert!(InstructionsPerSecond::new(-1.0).is_err());
    }

    #[test]
    fn zero_has_one_sign() {
        let zero = Seconds::new(-0.0).unwrap();
        assert!(zero.get().is_sign_positive());
        assert_eq!(zero.cmp(&Seconds::ZERO), std::cmp::Ordering::Equal);
        assert!((-Seconds::ZERO).get().is_sign_positive());
    }

    #[test]
    fn amounts_over_rates_are_times() {
        let speed = InstructionsPerSecond::new(1.5e9).unwrap();
        assert_eq!(
            Instructions(3_000_000_000) / speed,
            Seconds::new(2.0).unwrap()
        );
        let bandwidth = BytesPerSecond::new(12.5e6).unwrap();
        assert_eq!(Bytes(25_000_000) / bandwidth, Seconds::new(2.0).unwrap());
    }

    #[test]
    fn amounts_read_with_prefixes() {
        assert_eq!(Bytes(100_000).to_string(), "100 kB");
        assert_eq!(Bytes(1_500_000).to_string(), "1.5 MB");
        assert_eq!(Bytes(8).to_string(), "8 B");
        assert_eq!(
            InstructionsPerSecond::new(1.59e9).unwrap().to_string(),
            "1.59 Ginstr/s"
        );
    }
}
