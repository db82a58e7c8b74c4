//! What the values of a profile mean, and so which may stand in it.

use crate::platform::error::PlatformErrorKind;
use crate::profile::Profile;

/// What the values of a profile mean.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProfileQuantity {
    /// Factors of a speed.
    SpeedFactor,
    /// Fractions taken away.
    Load,
    /// Bytes per second.
    Bandwidth,
    /// Seconds.
    Latency,
}

impl ProfileQuantity {
    /// Whether the thing described can take all values.
    pub(super) fn check(self, name: &str, profile: &Profile) -> Result<(), PlatformErrorKind> {
        let takes = |value: f64| match self {
            Self::SpeedFactor | Self::Latency => 0.0 <= value,
            Self::Load => (0.0..=1.0).contains(&value),
            Self::Bandwidth => 0.0 < value,
        };
        let expected = match self {
            Self::SpeedFactor => "a factor of the host's speed, zero or above",
            Self::Load => "a fraction from 0 to 1",
            Self::Bandwidth => "a bandwidth above zero, in bytes per second",
            Self::Latency => "a latency, in seconds",
        };
        match profile.points().iter().find(|point| !takes(point.value)) {
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
