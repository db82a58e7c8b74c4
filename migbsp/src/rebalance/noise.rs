//! Random numbers that thermal noise is made of.

use crate::rebalance::draws::Draws;

/// Draws from the exponential and the Gumbel distribution, by quantiles in tables.
///
/// A change for the worse by at most the temperature times an exponential number is accepted as by
/// Metropolis; of many states, the one with the highest Gumbel number minus cost by temperature is drawn
/// as by Boltzmann.
#[derive(Debug)]
pub(super) struct Noise {
    exponential: Vec<f64>,
    gumbel: Vec<f64>,
}

impl Noise {
    pub(super) fn new() -> Self {
        let share = |number: u32| (f64::from(number) + 0.5) / f64::from(QUANTILES);
        let exponential = |number| -logarithm(share(number));
        let gumbel = |number| -logarithm(-logarithm(share(number)));
        Self {
            exponential: (0..QUANTILES).map(exponential).collect(),
            gumbel: (0..QUANTILES).map(gumbel).collect(),
        }
    }

    #[inline]
    pub(super) fn exponential(&self, draws: &mut Draws) -> f64 {
        self.exponential[draws.below(self.exponential.len())]
    }

    #[inline]
    pub(super) fn gumbel(&self, draws: &mut Draws) -> f64 {
        self.gumbel[draws.below(self.gumbel.len())]
    }

    /// No Gumbel number that is drawn is higher.
    #[inline]
    pub(super) fn gumbel_max(&self) -> f64 {
        self.gumbel[self.gumbel.len() - 1]
    }
}

/// `from` at share 0, `to` at share 1, and by equal factors between; both are above 0.
pub(super) fn geometric(from: f64, to: f64, share: f64) -> f64 {
    // To the power of a share that is halves, quarters and so on, by square roots.
    let mut value = from;
    let mut root = to / from;
    let mut rest = share.clamp(0.0, 1.0);
    if 1.0 <= rest {
        return to;
    }
    for _ in 0..HALVINGS {
        root = root.sqrt();
        rest *= 2.0;
        if 1.0 <= rest {
            rest -= 1.0;
            value *= root;
        }
    }
    value
}

/// The natural logarithm of a number above 0, by basic arithmetic, so that it is the same everywhere.
fn logarithm(number: f64) -> f64 {
    let (mut mantissa, mut halvings) = (number, 0.0);
    while 1.0 < mantissa {
        mantissa *= 0.5;
        halvings += 1.0;
    }
    while mantissa < 0.5 {
        mantissa *= 2.0;
        halvings -= 1.0;
    }
    // ln m = 2 artanh((m − 1) / (m + 1)), of which the absolute value is at most 1/3.
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum, mut odd) = (ratio, 0.0, 1.0);
    for _ in 0..TERMS {
        sum += power / odd;
        power *= ratio * ratio;
        odd += 2.0;
    }
    2.0 * sum + halvings * std::f64::consts::LN_2
}

const QUANTILES: u32 = 1024;
const HALVINGS: u32 = 16;
const TERMS: u32 = 18;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_right() {
        for number in [1e-9_f64, 0.1, 0.5, 0.7, 1.0, 2.0, 7.6, 1e12] {
            assert!((logarithm(number) - number.ln()).abs() < 1e-12 * (1.0 + number.ln().abs()));
        }
    }

    #[test]
    fn between_the_ends_factors_are_equal() {
        for (share, expected) in [(0.0, 8.0), (0.25, 4.0), (0.5, 2.0), (1.0, 0.5), (7.0, 0.5)] {
            assert!(
                (geometric(8.0, 0.5, share) - expected).abs() < 1e-3,
                "{share}"
            );
        }
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let noise = Noise::new();
        let mut draws = Draws::new(1, b"the tests of this module");
        let count = 100_000_u32;
        let exponential: f64 = (0..count).map(|_| noise.exponential(&mut draws)).sum();
        assert!((exponential / f64::from(count) - 1.0).abs() < 0.02);
        let gumbel: f64 = (0..count).map(|_| noise.gumbel(&mut draws)).sum();
        assert!((gumbel / f64::from(count) - 0.5772).abs() < 0.02);
    }
}
