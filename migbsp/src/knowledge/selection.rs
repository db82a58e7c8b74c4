//! The choice among predictors of the same quantity by their recent errors.
//!
//! The selection rule of the Network Weather Service (Wolski, Spring and Hayes, 1999).

/// Learns by how much each predictor was off; `means` are their mean errors so far.
pub(super) fn learn<const N: usize>(means: &mut [f64; N], errors: [f64; N]) {
    for (mean, error) in means.iter_mut().zip(errors) {
        *mean += ERROR_WEIGHT * (error - *mean);
    }
}

/// The predictor with the least mean error; the first among equals.
pub(super) fn best<const N: usize>(means: &[f64; N]) -> usize {
    let mut best = 0;
    for (index, error) in means.iter().enumerate() {
        if *error < means[best] {
            best = index;
        }
    }
    best
}

/// Weight of the newest error: predictors are judged by some sixteen measurements.
const ERROR_WEIGHT: f64 = 0.0625;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predictor_that_was_off_least_lately_is_chosen() {
        let mut means = [0.0; 3];
        assert_eq!(best(&means), 0);
        learn(&mut means, [2.0, 1.0, 1.0]);
        assert_eq!(best(&means), 1);
        for _ in 0..40 {
            learn(&mut means, [0.1, 1.0, 1.0]);
        }
        assert_eq!(best(&means), 0);
    }
}
