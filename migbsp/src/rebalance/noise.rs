//! Random numbers that thermal noise is made of, by functions that give the same bits on every machine.

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
        let exponential = |number| -libm::log(share(number));
        let gumbel = |number| -libm::log(-libm::log(share(number)));
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
    from * libm::pow(to / from, share.clamp(0.0, 1.0))
}

const QUANTILES: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_the_ends_factors_are_equal() {
        for (share, expected) in [(0.0, 8.0), (0.25, 4.0), (0.5, 2.0), (1.0, 0.5), (7.0, 0.5)] {
            assert!(
                (geometric(8.0, 0.5, share) - expected).abs() < 1e-12,
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
