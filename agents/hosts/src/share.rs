//! The fraction of its processors that a node gives to programs.

use std::time::Duration;

/// The fraction of a processor that a node gives to programs.
///
/// Invariant: from [`Share::LEAST`] to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self(1.0);
    /// The smallest share: with less, a superstep of a minute would take days.
    pub const LEAST: f64 = 1e-3;

    /// `fraction`, if it is in the range of shares.
    #[must_use]
    pub fn new(fraction: f64) -> Option<Self> {
        let is_share = (Self::LEAST..=1.0).contains(&fraction);
        is_share.then_some(Self(fraction))
    }

    /// The fraction.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The time that a processor rests after it was busy for `busy`.
    pub(super) fn rest(self, busy: Duration) -> Duration {
        let rest = busy.as_secs_f64() * (1.0 / self.0 - 1.0);
        Duration::try_from_secs_f64(rest).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_what_is_busy_of_the_time() {
        let busy = Duration::from_secs(3);
        for (fraction, rest) in [(1.0, 0), (0.75, 1), (0.25, 9), (0.001, 2997)] {
            let rest = Duration::from_secs(rest);
            let share = Share::new(fraction).unwrap();
            assert!(share.rest(busy).abs_diff(rest) < Duration::from_micros(1));
        }
        for fraction in [0.0, -1.0, 0.000_999, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::new(fraction), None, "{fraction}");
        }
    }
}
