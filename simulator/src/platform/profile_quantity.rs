//! What the values of a profile stand for, and their range.

use std::ops::RangeInclusive;

use crate::platform::error::PlatformErrorKind;
use crate::platform::units::{RATES, is_time};
use crate::profile::Profile;

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
