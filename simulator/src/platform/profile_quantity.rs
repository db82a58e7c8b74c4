//! What the values of a profile stand for, and their range.

use crate::platform::error::PlatformErrorKind;
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
            Self::SpeedFactor | Self::Latency => 0.0 <= value,
            Self::Load => (0.0..=1.0).contains(&value),
            Self::Bandwidth => 0.0 < value,
        };
        let expected = match self {
            Self::SpeedFactor => "a factor of the host's speed, zero or above",
            Self::Load => "a fraction from 0 to 1",
            Self::Bandwidth => "a positive bandwidth, in bytes per second",
            Self::Latency => "a latency, in seconds",
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
