//! Prediction of the bandwidth between two hosts.

use std::collections::VecDeque;

use super::selection;
use crate::median::median;

/// Predicts the bandwidth that the next transfer meets, in bytes per second: by the predictor of [`NAMES`] that had the
/// least relative error lately.
///
/// Equation `BANDWIDTH` of `docs/model.md`.
///
/// [`NAMES`]: Self::NAMES
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandwidthForecast {
    /// The latest measurements, the newest last.
    recent: VecDeque<f64>,
    /// Their exponential mean.
    mean: f64,
    /// What the transport estimates; `None`: it has no estimate.
    transport: Option<f64>,
    /// The recent mean error of each predictor, as a part of what was measured.
    errors: [f64; PREDICTORS],
}

impl BandwidthForecast {
    /// The predictors: the last measurement, the medians of three and of five, an exponential mean, the mean of ten, and
    /// the estimate of the transport.
    pub const NAMES: [&str; PREDICTORS] = [
        "last",
        "median-3",
        "median-5",
        "mean",
        "mean-10",
        "transport",
    ];

    /// Learns from a transfer that met `bandwidth`, in bytes per second. What is no finite positive number is ignored.
    pub fn observe(&mut self, bandwidth: f64) {
        if !(MIN..=MAX).contains(&bandwidth) {
            return;
        }
        match self.predictions() {
            Some(predictions) => {
                let errors = predictions.map(|predicted| (bandwidth / predicted - 1.0).abs());
                selection::learn(&mut self.errors, errors);
                self.mean += MEAN_WEIGHT * (bandwidth - self.mean);
            }
            None => self.mean = bandwidth,
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(bandwidth);
    }

    /// Takes over the transport's own estimate, in bytes per second.
    pub fn observe_transport(&mut self, bandwidth: f64) {
        self.transport = (MIN..=MAX).contains(&bandwidth).then_some(bandwidth);
    }

    /// Predicted bandwidth, in bytes per second; `None` before the first measurement.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        let predictions = self.predictions()?;
        Some(predictions[selection::best(&self.errors)])
    }

    /// What each predictor says, in the order of [`Self::NAMES`]; `None` before the first measurement.
    #[must_use]
    pub fn predictions(&self) -> Option<[f64; PREDICTORS]> {
        let last = *self.recent.back()?;
        let mean = self.recent.iter().sum::<f64>() / crate::bounded::count(self.recent.len());
        Some([
            last,
            self.median(3),
            self.median(5),
            self.mean,
            mean,
            self.transport.unwrap_or(last),
        ])
    }

    /// The median of the latest `number` measurements.
    fn median(&self, number: usize) -> f64 {
        let latest = self.recent.iter().rev().take(number);
        median(latest.copied().collect()).expect("there is a measurement")
    }
}

const PREDICTORS: usize = 6;

/// Measurements that are kept.
const REMEMBERED: usize = 10;

/// Weight of the newest measurement in the exponential mean.
const MEAN_WEIGHT: f64 = 0.25;

/// Bytes per second below and above which a measurement is wrong.
const MIN: f64 = 1.0;
const MAX: f64 = 1e15;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(measurements: impl IntoIterator<Item = f64>) -> BandwidthForecast {
        let mut forecast = BandwidthForecast::default();
        for measurement in measurements {
            forecast.observe(measurement);
        }
        forecast
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 1e-9,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn nothing_is_predicted_before_the_first_measurement() {
        assert_eq!(after([]).bandwidth(), None);
        assert_eq!(
            after([f64::NAN, 0.0, -1.0, f64::INFINITY]).bandwidth(),
            None
        );
        close(after([5e6]).bandwidth().unwrap(), 5e6);
    }

    #[test]
    fn predictors_are_what_their_names_say() {
        let predictions = after([7.0, 3.0, 100.0, 2.0, 4.0].map(|value| value * 1e6));
        let mut expected = [4.0, 4.0, 4.0, 0.0, 23.2, 4.0];
        // 7, 6, 29.5, 22.625, then:
        expected[3] = 17.96875;
        for (prediction, expected) in predictions.predictions().unwrap().iter().zip(expected) {
            close(*prediction, expected * 1e6);
        }
    }

    #[test]
    fn a_single_outlier_is_ignored_where_the_link_is_steady_and_a_jump_is_followed() {
        let steady = std::iter::repeat_n([10e6, 10e6, 10e6, 1e6], 12);
        close(after(steady.flatten()).bandwidth().unwrap(), 10e6);
        let jumps = (0..200).map(|index| if index / 20 % 2 == 0 { 10e6 } else { 1e6 });
        close(after(jumps.take(162)).bandwidth().unwrap(), 10e6);
    }

    #[test]
    fn the_estimate_of_the_transport_is_used_if_it_is_right() {
        let mut forecast = BandwidthForecast::default();
        for index in 0..64_u32 {
            let bandwidth = if index.count_ones() % 2 == 0 {
                1e6
            } else {
                8e6
            };
            forecast.observe_transport(bandwidth);
            forecast.observe(bandwidth);
        }
        forecast.observe_transport(3e6);
        close(forecast.bandwidth().unwrap(), 3e6);
    }

    proptest! {
        #[test]
        fn predictions_stay_in_the_range_of_measurements(
            measurements in prop::collection::vec(1e3_f64..1e9, 1..40),
        ) {
            let predicted = after(measurements.clone()).bandwidth().unwrap();
            let least = measurements.iter().copied().fold(f64::INFINITY, f64::min);
            let most = measurements.iter().copied().fold(0.0, f64::max);
            prop_assert!(least * (1.0 - 1e-9) <= predicted && predicted <= most * (1.0 + 1e-9));
        }

        #[test]
        fn whatever_is_measured_predictions_are_finite(
            measurements in prop::collection::vec(any::<f64>(), 0..40),
        ) {
            let predicted = after(measurements).bandwidth();
            prop_assert!(predicted.is_none_or(|value| value.is_finite() && 0.0 < value));
        }
    }
}
