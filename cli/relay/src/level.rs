/// The part of a link's rate that is available.
///
/// Invariant: above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// The whole rate.
    pub const FULL: Self = Self(1.0);
    /// What a number has to be, for errors.
    pub const RULE: &str = "must be above 0 and at most 1";

    /// `part`, if it is in the range of levels.
    #[must_use]
    pub fn new(part: f64) -> Option<Self> {
        (0.0 < part && part <= 1.0).then_some(Self(part))
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_above_zero_and_at_most_one() {
        for part in [f64::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!(Level::new(part), Some(Level(part)));
        }
        for part in [0.0, -0.5, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Level::new(part), None, "{part}");
        }
    }
}
