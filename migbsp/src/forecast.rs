//! What a process will execute next.

use bsp::units::Instructions;
use serde::{Deserialize, Serialize};

/// Foretells a process's instructions in the next superstep: by the last superstep, or by a mean that
/// forgets quickly or slowly, whichever has been off least.
///
/// Steady loads and noise are foretold best by a long memory, drift and jumps by a short one; which it is
/// shows in the errors (the selection rule of the Network Weather Service: Wolski, Spring and Hayes, 1999).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// What each predictor says, in instructions; none before the first superstep.
    predictions: Option<[f64; PREDICTORS]>,
    /// How far each was off lately, in instructions.
    errors: [f64; PREDICTORS],
}

impl Forecast {
    /// Takes in a superstep.
    pub fn observe(&mut self, instructions: Instructions) {
        let measured = instructions.as_f64();
        let Some(predictions) = &mut self.predictions else {
            self.predictions = Some([measured; PREDICTORS]);
            return;
        };
        for ((prediction, error), weight) in
            predictions.iter_mut().zip(&mut self.errors).zip(WEIGHTS)
        {
            *error += ERROR_WEIGHT * ((measured - *prediction).abs() - *error);
            *prediction += weight * (measured - *prediction);
        }
    }

    /// Instructions of the next superstep, as far as can be told; zero before the first.
    #[must_use]
    pub fn instructions(&self) -> f64 {
        let Some(predictions) = self.predictions else {
            return 0.0;
        };
        let mut best = 0;
        for (index, error) in self.errors.iter().enumerate() {
            if *error < self.errors[best] {
                best = index;
            }
        }
        predictions[best]
    }
}

const PREDICTORS: usize = 3;

/// What the newest superstep weighs for each predictor: all, a half, a sixteenth.
const WEIGHTS: [f64; PREDICTORS] = [1.0, 0.5, 0.0625];

/// What the newest error weighs: predictors are judged by some sixteen supersteps.
const ERROR_WEIGHT: f64 = 0.0625;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(instructions: impl IntoIterator<Item = u64>) -> f64 {
        let mut forecast = Forecast::default();
        for instructions in instructions {
            forecast.observe(Instructions(instructions));
        }
        forecast.instructions()
    }

    #[test]
    fn a_load_that_jumps_is_followed_at_once() {
        let jumping = (0..90).map(|superstep| if superstep / 30 == 1 { 900 } else { 100 });
        let forecast = after(jumping.clone().take(32));
        assert!((forecast - 900.0).abs() < 1e-9, "{forecast}");
        assert!((after(jumping) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn noise_is_averaged() {
        let noisy = (0..200).map(|superstep| if superstep % 2 == 0 { 900 } else { 1100 });
        let forecast = after(noisy);
        assert!((forecast - 1000.0).abs() < 10.0, "{forecast}");
    }

    #[test]
    fn nothing_is_foretold_from_nothing() {
        assert!(after([]).abs() < 1e-12);
        assert!((after([7]) - 7.0).abs() < 1e-12);
    }
}
