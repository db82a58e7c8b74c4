//! When a call begins.

use bsp::units::Instant;

/// When a call begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallStart {
    /// The number of complete supersteps.
    pub completed: u64,
    /// The most supersteps that follow; `None`: that is not known.
    pub remaining: Option<u64>,
    /// The time.
    pub began: Instant,
}

impl CallStart {
    /// The horizon of a plan, in supersteps: `expected`, but not beyond the end.
    pub(super) fn horizon(&self, expected: f64) -> f64 {
        let remaining = self.remaining.map(crate::bounded::count);
        expected.min(remaining.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_horizon_ends_with_the_run() {
        let horizon = |remaining| {
            let start = CallStart {
                completed: 7,
                remaining,
                began: Instant::START,
            };
            start.horizon(50.0)
        };
        let expected = [
            (None, 50.0),
            (Some(3), 3.0),
            (Some(80), 50.0),
            (Some(0), 0.0),
        ];
        for (remaining, expected) in expected {
            assert!((horizon(remaining) - expected).abs() < 1e-12);
        }
    }
}
