//! How much the times of a process vary on one host.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

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
            *count = (*count + 1).min(REMEMBERED);
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
const REMEMBERED: u32 = 32;

/// Fewer differences say nothing.
const KNOWN: u32 = 2;

/// A process that computes for no more than this part of its own maximum is idle.
const IDLE_OF_OWN: f64 = 0.01;

/// Times that are equal differ by less.
const ROUNDING: f64 = 1e-6;

/// Less noise hides no gain that is noticeable. Processes that share a processor differ by as much without any.
const LEAST: f64 = 1e-3;

/// `γ + ln 2`, with Euler's constant: by as much the mean logarithm of the square of a standard normal variable is below 0.
const LOG_OF_NORMAL: f64 = 1.270_362_845_461_478;

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

    use super::*;

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
}
