//! How much the times of a process vary on one host.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// How much the computation times of a process vary from superstep to superstep while it stays on a host, as a part of
/// them.
///
/// Equation `NOISE` of `docs/model.md`. Noise is what supersteps differ by from those shortly before: a slow change counts
/// for little, a jump counts once, and what repeats itself after two or three supersteps does not count. Supersteps in
/// which the process is idle are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The last times, the newest first, in seconds.
    last: [f64; LAGS],
    /// How many of them there are since the last call.
    number: usize,
    /// The longest time so far.
    most: f64,
    /// By lag: the mean square of the relative differences, and how many it is the mean of.
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
        for (before, (mean, count)) in self.last[..self.number].iter().zip(&mut self.squares) {
            let difference = 2.0 * (seconds - before) / (seconds + before);
            *count = (*count + 1).min(REMEMBERED);
            *mean += (difference * difference - *mean) / f64::from(*count);
        }
        self.last.rotate_right(1);
        self.last[0] = seconds;
        self.number = (self.number + 1).min(LAGS);
    }

    /// The process may go on elsewhere: what follows is not compared with what was before.
    pub const fn interrupt(&mut self) {
        self.number = 0;
    }

    /// The standard deviation of a computation time, as a part of it; zero without noise, and as long as nothing is known.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let known = self.squares.iter().filter(|(_, count)| KNOWN <= *count);
        let least = known.map(|(mean, _)| *mean).min_by(f64::total_cmp);
        // Independent times differ by twice their variance.
        let deviation = (least.unwrap_or_default() / 2.0).sqrt();
        if ROUNDING < deviation { deviation } else { 0.0 }
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

#[cfg(test)]
mod tests {
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
    fn noise_is_the_deviation_and_a_slow_change_is_none() {
        // 2 (1.1 - 0.9) / 2 is 0.2, of which the root of a half is 0.1414; a pattern of five repeats itself too late.
        let noisy = [0.9, 1.1, 0.9, 0.9, 1.1].repeat(40);
        // Lags 1, 2, 3 differ in 4, 4 and 4 of 10 pairs, by 0.2: the root of 0.4 of 0.04 / 2.
        let expected = (0.6_f64.min(0.8) * 0.04 / 2.0).sqrt();
        assert!((deviation(noisy) - expected).abs() < 0.03);
        let drifting = (0..100).map(|superstep| 1.0 + 0.01 * f64::from(superstep));
        assert!(deviation(drifting) < 0.01);
        let jumping = (0..40).map(|superstep| if superstep < 20 { 1.0 } else { 2.0 });
        assert!(deviation(jumping) < 0.1);
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
