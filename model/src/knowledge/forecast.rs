//! Predictions from measurements: instructions of a process, the bandwidth between two hosts, and noise.

use std::collections::VecDeque;

use bsp::units::{Instructions, Seconds};
use serde::{Deserialize, Serialize};

/// Predicts a process's instructions in the next superstep: by the last superstep, or by an exponential mean with a
/// short or a long memory, whichever had the least error lately.
///
/// A long memory suits steady loads and noise, a short one drift and jumps; the errors show which it is.
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
        learn_errors(&mut self.errors, errors);
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
        predictions[least_error(&self.errors)]
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
    errors: [f64; BANDWIDTH_PREDICTORS],
}

impl BandwidthForecast {
    /// The predictors: the last measurement, the medians of three and of five, an exponential mean, the mean of ten, and
    /// the estimate of the transport.
    pub const NAMES: [&str; BANDWIDTH_PREDICTORS] = [
        "last",
        "median-3",
        "median-5",
        "mean",
        "mean-10",
        "transport",
    ];

    /// Learns from a transfer that had this `bandwidth`, in bytes per second. What is no finite positive number is ignored.
    pub fn observe(&mut self, bandwidth: f64) {
        if !(MIN..=MAX).contains(&bandwidth) {
            return;
        }
        match self.predictions() {
            Some(predictions) => {
                let errors = predictions.map(|predicted| (bandwidth / predicted - 1.0).abs());
                learn_errors(&mut self.errors, errors);
                self.mean += MEAN_WEIGHT * (bandwidth - self.mean);
            }
            None => self.mean = bandwidth,
        }
        if self.recent.len() == BANDWIDTHS {
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
        Some(predictions[least_error(&self.errors)])
    }

    /// What each predictor says, in the order of [`Self::NAMES`]; `None` before the first measurement.
    #[must_use]
    pub fn predictions(&self) -> Option<[f64; BANDWIDTH_PREDICTORS]> {
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

const BANDWIDTH_PREDICTORS: usize = 6;

/// Measurements that are kept.
const BANDWIDTHS: usize = 10;

/// Weight of the newest measurement in the exponential mean.
const MEAN_WEIGHT: f64 = 0.25;

/// Bytes per second below and above which a measurement is wrong.
const MIN: f64 = 1.0;
const MAX: f64 = 1e15;

/// How much the computation times of a process vary from superstep to superstep while it stays on a host, as a part of
/// them.
///
/// Equation `NOISE` of `docs/model.md`. Noise is what a superstep differs by from the line through two before it: a change
/// that goes on is none, and neither is what repeats itself after two or three supersteps. The mean over differences is
/// geometric: a program that has a superstep of another kind now and then, or a load that begins and ends, differs seldom,
/// and noise always. Supersteps in which the process is idle are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The last times, the newest first, in seconds.
    last: [f64; 2 * LAGS],
    /// How many of them there are since the last call.
    number: usize,
    /// The longest time so far.
    most: f64,
    /// By lag: the mean logarithm of the squares of relative differences, and how many it is the mean of.
    squares: [(f64, u32); LAGS],
}

impl Noise {
    /// Observes a superstep in which the process computed for so long.
    pub fn observe(&mut self, took: Seconds) {
        let seconds = took.get();
        self.most = self.most.max(seconds);
        if seconds <= IDLE_OF_OWN * self.most {
            return;
        }
        for (lag, (mean, count)) in (1..).zip(&mut self.squares) {
            let [Some(&before), Some(&earlier)] =
                [lag, 2 * lag].map(|lag| self.last[..self.number].get(lag - 1))
            else {
                continue;
            };
            let difference =
                3.0 * (seconds - 2.0 * before + earlier) / (seconds + before + earlier);
            let square = (difference * difference).max(ROUNDING * ROUNDING);
            *count = (*count + 1).min(DIFFERENCES);
            *mean += (libm::log(square) - *mean) / f64::from(*count);
        }
        self.last.rotate_right(1);
        self.last[0] = seconds;
        self.number = (self.number + 1).min(self.last.len());
    }

    /// The process may go on elsewhere: what follows is not compared with what was before.
    pub const fn interrupt(&mut self) {
        self.number = 0;
    }

    /// The standard deviation of a computation time, as a part of it; zero without noise, and as long as nothing is known.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let known = self.squares.iter().filter(|(_, count)| KNOWN <= *count);
        let Some(least) = known.map(|(mean, _)| *mean).min_by(f64::total_cmp) else {
            return 0.0;
        };
        // Differences of independent times have six times their variance, whose logarithm is above the mean of theirs.
        let deviation = (libm::exp(least + LOG_OF_NORMAL) / 6.0).sqrt();
        if LEAST < deviation { deviation } else { 0.0 }
    }
}

/// What repeats itself after as many supersteps is no noise.
const LAGS: usize = 3;

/// The mean is that of about as many differences.
const DIFFERENCES: u32 = 32;

/// Fewer differences say nothing.
const KNOWN: u32 = 2;

/// Times that are equal differ by less.
const ROUNDING: f64 = 1e-6;

/// Less noise hides no gain that is noticeable. Processes that share a processor differ by as much without any.
const LEAST: f64 = 1e-3;

/// `γ + ln 2`, with Euler's constant: by as much the mean logarithm of the square of a standard normal variable is below 0.
const LOG_OF_NORMAL: f64 = 1.270_362_845_461_478;

/// Learns by how much each predictor was off; `means` are their mean errors so far. Predictors are chosen by their recent
/// errors, as in the Network Weather Service (Wolski, Spring and Hayes, 1999).
pub(super) fn learn_errors<const N: usize>(means: &mut [f64; N], errors: [f64; N]) {
    for (mean, error) in means.iter_mut().zip(errors) {
        *mean += ERROR_WEIGHT * (error - *mean);
    }
}

/// The predictor with the least mean error; the first among equals.
pub(super) fn least_error<const N: usize>(means: &[f64; N]) -> usize {
    let mut best = 0;
    for (index, error) in means.iter().enumerate() {
        if *error < means[best] {
            best = index;
        }
    }
    best
}

/// Weight of the newest error: predictors are compared by some sixteen measurements.
const ERROR_WEIGHT: f64 = 0.0625;

#[cfg(test)]
mod bandwidth_forecast_tests {
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

/// The median: the value in the middle, or the mean of the two there; `None` without values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

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

    fn deviation(times: impl IntoIterator<Item = f64>) -> f64 {
        let mut noise = Noise::default();
        for seconds in times {
            noise.observe(Seconds::new(seconds).unwrap());
            noise.observe(Seconds::ZERO);
        }
        noise.deviation()
    }

    #[test]
    fn what_is_equal_or_repeats_itself_is_no_noise() {
        assert!(deviation([]) < 1e-12);
        assert!(deviation([3.0; 9]) < 1e-12);
        assert!(deviation([0.0; 9]) < 1e-12);
        // The third superstep of a round is another than the first two.
        for round in [vec![1.0, 5.0], vec![5.6, 18.4, 19.1]] {
            assert!(deviation(round.repeat(9)) < 1e-12);
        }
    }

    #[test]
    fn noise_is_the_deviation_and_a_change_that_goes_on_is_none() {
        // The sum of twelve uniform numbers has the variance 1, and is nearly normal. Least of three lags, of about 32
        // differences each: some tenths below the deviation.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut normal = || {
            (0..12)
                .map(|_| f64::from(rng.next_u32()) / 2.0_f64.powi(32))
                .sum::<f64>()
                - 6.0
        };
        for expected in [0.01, 0.1, 0.2] {
            let found = deviation((0..200).map(|_| 5.0 * (1.0 + expected * normal())));
            assert!(
                (0.6 * expected..1.2 * expected).contains(&found),
                "{expected}: {found}"
            );
        }
        let rising = |superstep: u32| f64::from(superstep);
        assert!(deviation((1..5).map(rising)) < 1e-12);
        assert!(deviation((1..100).map(rising)) < 1e-12);
        let jumping = (0..40).map(|superstep| if superstep < 20 { 1.0 } else { 2.0 });
        assert!(deviation(jumping) < 1e-4);
    }

    /// A process that holds the column of the pivot divides in one of five stages, which takes a twentieth of an update.
    #[test]
    fn a_superstep_of_another_kind_now_and_then_is_little_noise() {
        let stages = [0.05, 1.0, 0.999, 0.998, 0.997, 0.996].repeat(6);
        assert!(deviation(stages) < 0.05);
    }

    #[test]
    fn nothing_is_compared_across_an_interruption() {
        let mut noise = Noise::default();
        for seconds in [1.0, 2.0] {
            for _ in 0..5 {
                noise.observe(Seconds::new(seconds).unwrap());
            }
            noise.interrupt();
        }
        assert!(noise.deviation() < 1e-12);
    }

    #[test]
    fn the_predictor_that_was_off_least_lately_is_chosen() {
        let mut means = [0.0; 3];
        assert_eq!(least_error(&means), 0);
        learn_errors(&mut means, [2.0, 1.0, 1.0]);
        assert_eq!(least_error(&means), 1);
        for _ in 0..40 {
            learn_errors(&mut means, [0.1, 1.0, 1.0]);
        }
        assert_eq!(least_error(&means), 0);
    }

    #[test]
    fn of_an_even_number_of_values_it_is_the_mean_of_the_two_in_the_middle() {
        let check = |values: &[f64], expected| assert_eq!(median(values.to_vec()), expected);
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[4.0, 1.0], Some(2.5));
        check(&[9.0, 1.0, 4.0], Some(4.0));
        // Supersteps in ms before the first move of a run: 9.5 and 22.9 are in the middle.
        check(&[22.9, 5.1, 48.0, 9.5], Some(16.2));
        check(&[f64::MAX, f64::MAX], Some(f64::MAX));
    }
}
