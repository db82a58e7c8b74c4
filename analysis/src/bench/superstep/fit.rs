//! The line `T(h) = g·h + l` through measured times.

use migbsp::median;

/// A line, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Seconds of a word.
    pub(super) g: f64,
    /// Seconds of a superstep without words.
    pub(super) l: f64,
    /// The median distance of a time from the line, as a part of the time.
    pub(super) residual: f64,
}

impl Fit {
    /// The line through `points`, which are words and seconds, that makes the sum of the squares of relative residuals
    /// least. `None`: there are no two different numbers of words with a time.
    ///
    /// # Deviations
    ///
    /// `bspbench` takes absolute residuals. Here times span three orders of magnitude, and their noise grows with them:
    /// with absolute residuals, noise of the longest supersteps would decide about l. In addition, a point that is far
    /// too late has a small weight.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        let points = points.iter().copied();
        let points: Vec<(f64, f64)> = points
            .filter(|(_, seconds)| seconds.is_finite() && 0.0 < *seconds)
            .collect();
        let shortest = points.iter().map(|(_, seconds)| *seconds);
        let shortest = shortest.fold(f64::INFINITY, f64::min);
        // From 0 to 1, so that no sum overflows.
        let weighted = || {
            let each = points.iter();
            each.map(|(words, seconds)| ((shortest / seconds).powi(2), *words, *seconds))
        };
        let sum = weighted().map(|(weight, _, _)| weight).sum::<f64>();
        let words = weighted().map(|(weight, x, _)| weight * x).sum::<f64>() / sum;
        let seconds = weighted().map(|(weight, _, y)| weight * y).sum::<f64>() / sum;
        let spread = weighted().map(|(weight, x, _)| weight * (x - words).powi(2));
        let spread = spread.sum::<f64>();
        let common = weighted().map(|(weight, x, y)| weight * (x - words) * (y - seconds));
        let g = common.sum::<f64>() / spread;
        let l = seconds - g * words;
        let residuals = points.iter().map(|(x, y)| ((y - g * x - l) / y).abs());
        let residual = median(residuals.collect())?;
        let fit = Self { g, l, residual };
        let is_line = 0.0 < spread && [g, l, residual].iter().all(|number| number.is_finite());
        is_line.then_some(fit)
    }

    /// Seconds of a superstep with `words`.
    pub(super) fn at(&self, words: f64) -> f64 {
        self.g * words + self.l
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    const G: f64 = 8e-9;
    const L: f64 = 7e-4;

    /// Times of 65 numbers of words up to 65 536, each multiplied by up to `noise` more or less.
    fn points(noise: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut numbers = ChaCha8Rng::seed_from_u64(seed);
        let mut factor =
            || 1.0 + noise * (f64::from(numbers.next_u32()) / f64::from(u32::MAX) * 2.0 - 1.0);
        let words = (0..65).map(|step| f64::from(step * 1024));
        words
            .map(|words| (words, (G * words + L) * factor()))
            .collect()
    }

    #[track_caller]
    fn check(points: &[(f64, f64)], within: f64) -> Fit {
        let fit = Fit::of(points).unwrap();
        assert!((fit.g / G - 1.0).abs() < within, "{fit:?}");
        assert!((fit.l / L - 1.0).abs() < within, "{fit:?}");
        fit
    }

    #[test]
    fn times_on_a_line_give_its_g_and_l() {
        let fit = check(&points(0.0, 1), 1e-9);
        assert!(fit.residual < 1e-9, "{fit:?}");
        assert!((fit.at(1000.0) - 7.08e-4).abs() < 1e-12, "{fit:?}");
    }

    #[test]
    fn noise_and_a_late_point_change_little() {
        for seed in 1..=20 {
            let mut points = points(0.05, seed);
            let fit = check(&points, 0.06);
            assert!((0.005..0.05).contains(&fit.residual), "{fit:?}");
            let late = usize::try_from(seed * 3).unwrap();
            points[late].1 *= 20.0;
            check(&points, 0.08);
        }
    }

    #[test]
    fn the_scale_of_times_makes_no_difference() {
        for scale in [1e-150, 1e-9, 1e9, 1e150] {
            let points: Vec<_> = points(0.0, 1)
                .iter()
                .map(|(x, y)| (*x, y * scale))
                .collect();
            let fit = Fit::of(&points).unwrap();
            assert!((fit.g / (G * scale) - 1.0).abs() < 1e-9, "{fit:?}");
        }
    }

    #[test]
    fn equal_times_have_no_g() {
        let fit = Fit::of(&[(0.0, 0.5), (1.0, 0.5), (2.0, 0.5)]).unwrap();
        let expected = Fit {
            g: 0.0,
            l: 0.5,
            residual: 0.0,
        };
        assert_eq!(fit, expected);
    }

    #[test]
    fn points_without_a_line_have_no_fit() {
        for points in [
            vec![],
            vec![(1.0, 0.5)],
            vec![(1.0, 0.5), (1.0, 0.6)],
            vec![(0.0, 0.0), (1.0, 0.0)],
            vec![(0.0, f64::NAN), (1.0, f64::INFINITY), (2.0, -1.0)],
            vec![(0.0, f64::MAX), (f64::MAX, f64::MAX)],
        ] {
            assert_eq!(Fit::of(&points), None, "{points:?}");
        }
    }
}
