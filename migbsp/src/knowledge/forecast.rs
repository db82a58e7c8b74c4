//! Prediction of the instructions that a process executes next.

use bsp::units::Instructions;
use serde::{Deserialize, Serialize};

use crate::knowledge::selection;

/// Predicts a process's instructions in the next superstep: by the last superstep, or by an exponential mean with a
/// short or a long memory, whichever had the least error lately.
///
/// A long memory suits steady loads and noise, a short one drift and jumps; the errors tell which it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// By predictor, in instructions; `None` before the first superstep.
    predictions: Option<[f64; PREDICTORS]>,
    /// The recent mean error of each, in instructions.
    errors: [f64; PREDICTORS],
    /// The most instructions of a superstep so far.
    most: f64,
    /// Supersteps since it last computed.
    idle: u32,
    /// The longest idle period before it computed again.
    idle_longest: u32,
}

impl Forecast {
    /// Observes a superstep.
    pub fn observe(&mut self, instructions: Instructions) {
        let measured = instructions.as_f64();
        if measured <= IDLE_OF_OWN * self.most {
            self.idle = self.idle.saturating_add(1);
        } else {
            if 0.0 < self.most {
                self.idle_longest = self.idle_longest.max(self.idle);
            }
            self.idle = 0;
            self.most = self.most.max(measured);
        }
        let Some(predictions) = &mut self.predictions else {
            self.predictions = Some([measured; PREDICTORS]);
            return;
        };
        let errors = predictions.map(|prediction| (measured - prediction).abs());
        selection::learn(&mut self.errors, errors);
        for (prediction, weight) in predictions.iter_mut().zip(WEIGHTS) {
            *prediction += weight * (measured - *prediction);
        }
    }

    /// Predicted instructions of the next superstep; zero before the first. A process that seems to have finished is
    /// predicted by its last superstep: means over earlier ones no longer apply.
    #[must_use]
    pub fn instructions(&self) -> f64 {
        let Some(predictions) = self.predictions else {
            return 0.0;
        };
        if self.finished().is_some() {
            return predictions[LAST];
        }
        predictions[selection::best(&self.errors)]
    }

    /// The most instructions of a superstep so far, if the process seems to have finished: it has computed, and
    /// has now been idle for much longer than in any period before it computed again.
    #[must_use]
    pub fn finished(&self) -> Option<f64> {
        let patience = PATIENCE.saturating_mul(self.idle_longest).max(IDLE_MIN);
        (0.0 < self.most && patience < self.idle).then_some(self.most)
    }
}

const PREDICTORS: usize = 3;

/// The predictor that repeats the last superstep.
const LAST: usize = 0;

/// A process that executes no more than this part of its own maximum is idle.
const IDLE_OF_OWN: f64 = 0.01;

/// An idle period has to last this many times longer than any before to count as the end.
const PATIENCE: u32 = 2;

/// No shorter idle period counts as the end.
const IDLE_MIN: u32 = 8;

/// Weight of the newest superstep for each predictor.
const WEIGHTS: [f64; PREDICTORS] = [1.0, 0.5, 0.0625];

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
    fn a_finished_process_is_predicted_by_its_last_superstep() {
        let sparse = [[20, 20, 1000]; 9].concat();
        assert!(100.0 < after([sparse.clone(), vec![3; 8]].concat()));
        let forecast = after([sparse, vec![3; 9]].concat());
        assert!((forecast - 3.0).abs() < 1e-9, "{forecast}");
    }

    #[test]
    fn a_load_that_jumps_is_followed_within_two_supersteps() {
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
    fn a_process_idle_for_longer_than_ever_seems_to_have_finished() {
        let finished = |supersteps: &[u64]| {
            let mut forecast = Forecast::default();
            for &instructions in supersteps {
                forecast.observe(Instructions(instructions));
            }
            forecast.finished()
        };
        assert_eq!(finished(&[]), None);
        assert_eq!(finished(&[0; 99]), None, "it may begin");
        let once = [vec![0, 0, 400, 500, 300], vec![3; 8]].concat();
        assert_eq!(finished(&once), None);
        assert_eq!(finished(&[once, vec![3]].concat()), Some(500.0));
        // It computes in one superstep of seven.
        let sparse = [[9, 0, 0, 0, 0, 0, 0]; 5].concat();
        assert_eq!(finished(&[sparse.clone(), vec![0; 6]].concat()), None);
        assert_eq!(finished(&[sparse, vec![0; 7]].concat()), Some(9.0));
    }

    #[test]
    fn the_prediction_is_zero_before_the_first_superstep() {
        assert!(after([]).abs() < 1e-12);
        assert!((after([7]) - 7.0).abs() < 1e-12);
    }
}
