//! Means, their confidence, and tests of differences.

use bsp::numbers::{length, real};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

/// A mean and its confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Of all values.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval around it; `None` if the variance is unknown.
    pub margin: Option<f64>,
    /// Probability that the mean is at least this far from 0, on either side, if the true one is 0 (Student's
    /// t-test); `None` if the variance is unknown.
    pub p: Option<f64>,
    /// The standard error of the mean and its degrees of freedom; `None` if the variance is unknown.
    error: Option<(f64, f64)>,
}

impl Estimate {
    /// Estimate of the mean of the source of `values`; a single value has no confidence, nor have values that are not
    /// finite.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(values: &[f64]) -> Self {
        let mean = mean(values);
        let count = real(length(values.len()));
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = squares / (count - 1.0) / count;
        if values.len() < 2 || !mean.is_finite() || !variance.is_finite() {
            return Self {
                mean,
                margin: None,
                p: None,
                error: None,
            };
        }
        let (error, freedom) = (variance.sqrt(), count - 1.0);
        let p = if error == 0.0 {
            if mean == 0.0 { 1.0 } else { 0.0 }
        } else {
            (2.0 * student(freedom).sf((mean / error).abs())).min(1.0)
        };
        let mut estimate = Self {
            mean,
            margin: None,
            p: Some(p),
            error: Some((error, freedom)),
        };
        estimate.margin = estimate.margin_at(1.0 - CONFIDENCE);
        estimate
    }

    /// Half the width of the interval that does not hold the true mean with the probability `level`.
    pub(crate) fn margin_at(&self, level: f64) -> Option<f64> {
        let (error, freedom) = self.error?;
        Some(quantile(freedom, level) * error)
    }

    /// The least number of values, of a source with this mean and variance, with which a two-sided t-test at `level`
    /// finds that the mean is not 0 in 80 % of all cases; `None` if the variance is unknown or 0, the mean is 0, or more
    /// than [`COUNT_MAX`] are needed.
    pub(crate) fn count_needed(&self, level: f64) -> Option<u32> {
        let (error, freedom) = self.error?;
        let deviation = error * (freedom + 1.0).sqrt();
        let effect = (self.mean / deviation).abs();
        if !effect.is_finite() || effect == 0.0 {
            return None;
        }
        let suffices = |count: u32| POWER <= power(effect, count, level);
        let mut most = 2;
        while !suffices(most) {
            if COUNT_MAX <= most {
                return None;
            }
            most = (most * 2).min(COUNT_MAX);
        }
        // The power grows with the number.
        let (mut low, mut high) = (most / 2, most);
        while low + 1 < high {
            let middle = u32::midpoint(low, high);
            if suffices(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("positive degrees of freedom")
}

/// The value beyond which, on either side, Student's t is with the probability `level`.
fn quantile(freedom: f64, level: f64) -> f64 {
    student(freedom).inverse_cdf(1.0 - level / 2.0)
}

/// The probability with which a two-sided t-test at `level` of `count` values finds a mean of `effect` standard
/// deviations: that of the noncentral t distribution beyond the quantiles of Student's.
///
/// It is the mean, over the standard deviation of a sample, of the probability of a normal variable: Simpson's rule
/// over ten standard errors on either side.
fn power(effect: f64, count: u32, level: f64) -> f64 {
    let freedom = f64::from(count) - 1.0;
    let (shift, beyond) = (effect * f64::from(count).sqrt(), quantile(freedom, level));
    let normal = |x: f64| erfc(-x / std::f64::consts::SQRT_2) / 2.0;
    let half = freedom / 2.0;
    let scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let density = |s: f64| {
        let logarithm = s.max(f64::MIN_POSITIVE).ln();
        (scale + (freedom - 1.0) * logarithm - half * s * s).exp()
    };
    let of = |s: f64| density(s) * (normal(shift - beyond * s) + normal(-shift - beyond * s));
    let reach = 10.0 / (2.0 * freedom).sqrt();
    let low = (1.0 - reach).max(0.0);
    let width = (1.0 + reach - low) / f64::from(2 * PARTS);
    let at = |place: u32| of(low + f64::from(place) * width);
    let inner: f64 = (1..2 * PARTS)
        .map(|place| at(place) * if place % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    (at(0) + inner + at(2 * PARTS)) * width / 3.0
}

/// The arithmetic mean.
///
/// # Panics
///
/// If there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "nothing has no mean");
    values.iter().sum::<f64>() / real(length(values.len()))
}

/// A test among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Corrected {
    /// p, corrected for the number of tests.
    pub p: f64,
    /// The level at which it is tested: a difference is significant if and only if the interval of this level is without
    /// it, and if the corrected p is below [`SIGNIFICANT`].
    pub level: f64,
}

/// `values` of p, corrected for multiple tests (Holm 1979): the smallest is multiplied by the number of
/// tests, the next by one less, and none is less than the one before. The order is kept; without a test
/// there is no value.
///
/// Correspondingly, the smallest is tested at [`SIGNIFICANT`] divided by the number of tests, the next one at that divided
/// by one less, and all after the first that is not significant at its level.
pub(crate) fn holm(values: &[Option<f64>]) -> Vec<Option<Corrected>> {
    let mut order: Vec<(usize, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(index, p)| p.map(|p| (index, p)))
        .collect();
    order.sort_by(|left, right| left.1.total_cmp(&right.1).then(left.0.cmp(&right.0)));
    let mut corrected = vec![None; values.len()];
    let (mut least, mut left) = (0.0_f64, real(length(order.len())));
    for (place, (index, p)) in order.iter().enumerate() {
        if least < SIGNIFICANT {
            left = real(length(order.len() - place));
        }
        least = least.max((p * real(length(order.len() - place))).min(1.0));
        corrected[*index] = Some(Corrected {
            p: least,
            level: SIGNIFICANT / left,
        });
    }
    corrected
}

/// Level of confidence.
const CONFIDENCE: f64 = 0.95;

/// Probability of a difference that is shown where there is none.
pub(crate) const SIGNIFICANT: f64 = 0.05;

/// Probability with which a test finds a difference.
const POWER: f64 = 0.8;

/// The most values that are counted for a test.
pub(crate) const COUNT_MAX: u32 = 100_000;

/// Pairs of steps of an integral.
const PARTS: u32 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right}");
    }

    #[test]
    fn confidence_intervals_match_students_tables() {
        // Values with a standard error of the mean of 1, and the quantiles 0.975 of the tables.
        for (count, quantile) in [
            (2, 12.706_205),
            (3, 4.302_653),
            (5, 2.776_445),
            (10, 2.262_157),
            (30, 2.045_230),
            (100, 1.984_217),
        ] {
            // Half of them at +d, half at -d, the odd one at 0.
            let all = real(length(count));
            let distance = (all * (all - 1.0) / (2.0 * real(length(count / 2)))).sqrt();
            let mut values = [distance, -distance].repeat(count / 2);
            values.resize(count, 0.0);
            near(Estimate::of(&values).margin.unwrap(), quantile, 1e-5);
        }
    }

    #[test]
    fn the_paired_t_test_matches_students_1908_example() {
        // Student (1908), The probable error of a mean: additional hours of sleep by two drugs on ten
        // patients. Paired: t = 4.0621 with 9 degrees of freedom, p = 0.002833.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
        let estimate = Estimate::of(&differences);
        near(estimate.mean, 1.58, 1e-12);
        near(estimate.p.unwrap(), 0.002_832_890, 1e-8);
        // The interval is 0.7001142 to 2.4598858.
        near(estimate.margin.unwrap(), 0.879_885_8, 1e-6);
    }

    #[test]
    fn one_value_has_no_confidence_and_equal_values_are_exact() {
        let alone = Estimate::of(&[3.0]);
        assert_eq!((alone.margin, alone.p), (None, None));
        let equal = Estimate::of(&[3.0, 3.0, 3.0]);
        assert_eq!((equal.margin, equal.p), (Some(0.0), Some(0.0)));
        let nothing = Estimate::of(&[0.0, 0.0]);
        assert_eq!((nothing.margin, nothing.p), (Some(0.0), Some(1.0)));
        // Where one takes no time at all, the other takes infinitely longer.
        for values in [[f64::INFINITY, 1.0], [f64::INFINITY, f64::INFINITY]] {
            let endless = Estimate::of(&values);
            assert_eq!(
                (endless.mean, endless.margin, endless.p),
                (f64::INFINITY, None, None)
            );
        }
        let both = Estimate::of(&[f64::INFINITY, f64::NEG_INFINITY]);
        assert_eq!((both.margin, both.p), (None, None));
    }

    #[test]
    fn holms_correction_matches_its_example() {
        // The worked example of Holm's correction with four tests: 0.02 and 0.03 are significant. The first is tested at
        // 0.05 / 4, the second at 0.05 / 3; the third is not significant at 0.05 / 2, at which the last is tested, too.
        let corrected = holm(&[Some(0.01), Some(0.04), Some(0.03), Some(0.005)]);
        let expected = [(0.03, 3.0), (0.06, 2.0), (0.06, 2.0), (0.02, 4.0)];
        for (corrected, (p, left)) in corrected.iter().zip(expected) {
            near(corrected.unwrap().p, p, 1e-12);
            near(corrected.unwrap().level, 0.05 / left, 1e-12);
        }
        let untested = holm(&[None, Some(0.6), Some(0.7)]);
        assert_eq!(untested[0], None);
        assert!(untested[1..].iter().all(|test| {
            test.is_some_and(|test| test.p.total_cmp(&1.0).is_eq() && test.level < 0.026)
        }));
        assert_eq!(holm(&[]), []);
    }

    #[test]
    fn an_interval_is_without_0_exactly_if_the_test_is_significant() {
        // Four samples, which are tested together.
        let samples: [&[f64]; 4] = [
            &[0.1, 0.2, 0.15, 0.12],
            &[0.1, 0.4, 0.05, 0.3],
            &[0.1, -0.2, 0.3, 0.0],
            &[-0.11, -0.2, -0.13, -0.16],
        ];
        let estimates = samples.map(Estimate::of);
        let tests = holm(&estimates.map(|estimate| estimate.p));
        let mut significant = Vec::new();
        for (estimate, test) in estimates.iter().zip(tests) {
            let Corrected { p, level } = test.unwrap();
            let margin = estimate.margin_at(level).unwrap();
            assert_eq!(
                p < SIGNIFICANT,
                margin < estimate.mean.abs(),
                "{estimate:?}"
            );
            significant.push(p < SIGNIFICANT);
        }
        assert_eq!(significant, [true, false, false, true]);
    }

    #[test]
    fn powers_and_numbers_of_values_match_statsmodels() {
        // `TTestPower().power(effect, count, level)` of statsmodels 0.15, which is
        // `nct.sf(t.ppf(1 - level / 2, n - 1), n - 1, effect * sqrt(n))` of SciPy 1.17 and the other side.
        for (effect, count, level, expected) in [
            (0.5, 10, 0.05, 0.293_175_606_5),
            (0.5, 34, 0.05, 0.807_777_501_3),
            (1.2, 2, 0.05, 0.108_236_353_4),
            (0.857, 10, 0.05 / 21.0, 0.165_834_578_4),
            (0.1, 1000, 0.05, 0.884_789_098_9),
            (3.0, 5, 0.01, 0.894_714_241_9),
            (0.2, 3, 0.05, 0.055_541_276_0),
        ] {
            near(power(effect, count, level), expected, 1e-7);
        }
        // `TTestPower().solve_power(effect_size=effect, alpha=level, power=0.8)`, rounded up: 33.37, 44.78, 28.14, 4.22,
        // 2.48, 786.81.
        for (effect, level, expected) in [
            (0.5, 0.05, 34),
            (0.5, 0.05 / 3.0, 45),
            (0.8, 0.05 / 21.0, 29),
            (2.0, 0.05, 5),
            (5.0, 0.05, 3),
            (20.0, 0.05, 2),
            (0.1, 0.05, 787),
        ] {
            let estimate = Estimate {
                mean: -effect,
                margin: None,
                p: None,
                error: Some((0.5, 3.0)),
            };
            assert_eq!(estimate.count_needed(level), Some(expected), "{effect}");
        }
        let needed = |values: &[f64]| Estimate::of(values).count_needed(0.05);
        assert_eq!(needed(&[1.0, -1.0]), None, "there is no difference");
        assert_eq!(
            needed(&[1.0, -0.9999]),
            None,
            "a difference that is too small"
        );
        assert_eq!(needed(&[1.0]), None);
    }
}
