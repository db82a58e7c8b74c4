//! How much of what is predicted owners' jobs interrupt supersteps.

/// The time that owners' jobs took from supersteps, as a multiple of the prediction.
///
/// Interruptions of different hosts add up if they are rare and hide behind each other if they are frequent, and processes
/// move away from some: the sum over hosts is only a first guess.
#[derive(Debug, Default)]
pub(super) struct LostTime {
    /// Seconds lost, and their prediction, over the recent past.
    sums: Option<(f64, f64)>,
    /// Predicted seconds of each superstep since the last call.
    predicted: Option<f64>,
}

impl LostTime {
    /// What interruptions take, as a multiple of their prediction.
    pub(super) fn factor(&self) -> f64 {
        let factor = self.sums.map_or(1.0, |(lost, predicted)| lost / predicted);
        factor.clamp(FACTOR_MIN, FACTOR_MAX)
    }

    /// Learns from `number` supersteps that took `seconds` each, in the mean, and `uninterrupted` by prediction.
    pub(super) fn observe(&mut self, number: f64, seconds: f64, uninterrupted: f64) {
        let Some(predicted) = self.predicted.take() else {
            return;
        };
        let prior = PRIOR * uninterrupted.max(f64::MIN_POSITIVE);
        let (lost, sum) = self.sums.get_or_insert((prior, prior));
        *lost = REMEMBERED * *lost + number * (seconds - uninterrupted).max(0.0);
        *sum = REMEMBERED * *sum + number * predicted.max(0.0);
        // What has been forgotten is the prior again.
        *lost += (1.0 - REMEMBERED) * prior;
        *sum += (1.0 - REMEMBERED) * prior;
    }

    /// Interruptions are predicted to take `seconds` of each superstep until the next call.
    pub(super) const fn predict(&mut self, seconds: f64) {
        self.predicted = Some(seconds);
    }
}

/// The prediction counts as right over this many supersteps before the first.
const PRIOR: f64 = 16.0;

/// What is remembered of sums from call to call.
const REMEMBERED: f64 = 0.98;

/// Bounds of the factor.
const FACTOR_MIN: f64 = 0.05;
const FACTOR_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_follows_what_was_lost() {
        let mut lost = LostTime::default();
        assert!((lost.factor() - 1.0).abs() < 1e-12);
        // Nothing was predicted.
        lost.observe(10.0, 5.0, 1.0);
        assert!((lost.factor() - 1.0).abs() < 1e-12);
        for _ in 0..200 {
            lost.predict(2.0);
            lost.observe(10.0, 1.5, 1.0);
        }
        // A quarter of what was predicted, and the prior.
        assert!((lost.factor() - 0.25).abs() < 0.02, "{}", lost.factor());
        for _ in 0..200 {
            lost.predict(0.1);
            lost.observe(10.0, 9.0, 1.0);
        }
        assert!((lost.factor() - FACTOR_MAX).abs() < 1e-12);
    }
}
