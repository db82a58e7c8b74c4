//! Means, their confidence, and tests of differences.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean and its confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Of all values.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval around it; `None` if the variance is unknown.
    pub margin: Option<f64>,
    /// Probability that the mean is at least this far from 0, on either side, if the true one is 0 (Student's
    /// t-test); `None` if the variance is unknown.
    pub p: Option<f64>,
}

/// A sample of one source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stratum {
    /// At least one.
    pub values: Vec<f64>,
    /// Whether the source has only this one value.
    pub is_exact: bool,
}

impl Estimate {
    /// Estimate of the mean of the source of `values`; a single value has no confidence.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(crate) fn of(values: &[f64]) -> Self {
        let values = values.to_vec();
        Self::of_strata(&[Stratum {
            values,
            is_exact: false,
        }])
    }

    /// Estimate of the mean of the means of the sources of `strata`, with equal weights. If all are exact, so
    /// is the estimate; a single value of an inexact stratum leaves it without confidence.
    ///
    /// Degrees of freedom are Welch's and Satterthwaite's; of one stratum, its values less one.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub(crate) fn of_strata(strata: &[Stratum]) -> Self {
        let means: Vec<f64> = strata.iter().map(|stratum| mean(&stratum.values)).collect();
        let mean = mean(&means);
        let drawn = || strata.iter().filter(|stratum| !stratum.is_exact);
        if drawn().count() == 0 || drawn().any(|stratum| stratum.values.len() < 2) {
            return Self {
                mean,
                margin: None,
                p: None,
            };
        }
        let (mut variance, mut spread) = (0.0, 0.0);
        for Stratum { values, .. } in drawn() {
            let of_mean = variance_of_mean(values) / real(strata.len()).powi(2);
            variance += of_mean;
            spread += of_mean.powi(2) / (real(values.len()) - 1.0);
        }
        // An infinite mean has no confidence interval.
        if !mean.is_finite() || !variance.is_finite() {
            return Self {
                mean,
                margin: None,
                p: None,
            };
        }
        if variance == 0.0 {
            return Self {
                mean,
                margin: Some(0.0),
                p: Some(if mean == 0.0 { 1.0 } else { 0.0 }),
            };
        }
        let (error, freedom) = (f64::sqrt(variance), variance * variance / spread);
        let student = StudentsT::new(0.0, 1.0, freedom).expect("positive degrees of freedom");
        Self {
            mean,
            margin: Some(student.inverse_cdf(0.5 + CONFIDENCE / 2.0) * error),
            p: Some((2.0 * student.sf((mean / error).abs())).min(1.0)),
        }
    }
}

fn variance_of_mean(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), real(values.len()));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (count - 1.0) / count
}

/// The arithmetic mean.
///
/// # Panics
///
/// If there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "nothing has no mean");
    values.iter().sum::<f64>() / real(values.len())
}

/// `values` of p, corrected for multiple tests (Holm 1979): the smallest is multiplied by the number of
/// tests, the next by one less, and none is less than the one before. The order is kept; without a test
/// there is no value.
pub(crate) fn holm(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(index, p)| p.map(|p| (index, p)))
        .collect();
    order.sort_by(|left, right| left.1.total_cmp(&right.1).then(left.0.cmp(&right.0)));
    let mut corrected = vec![None; values.len()];
    let mut least = 0.0_f64;
    for (place, (index, p)) in order.iter().enumerate() {
        least = least.max((p * real(order.len() - place)).min(1.0));
        corrected[*index] = Some(least);
    }
    corrected
}

/// A count as a number to calculate with.
///
/// # Panics
///
/// If it is above 2³², which no count here reaches.
pub(crate) fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("a count that a run reached"))
}

/// Level of confidence.
const CONFIDENCE: f64 = 0.95;

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
            let all = real(count);
            let distance = (all * (all - 1.0) / (2.0 * real(count / 2))).sqrt();
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
    fn strata_have_equal_weight_and_welchs_degrees_of_freedom() {
        // Variances 24 and 4/3 around means of 22.5 and 10, from four values each.
        let stratum = |values: &[f64], is_exact| Stratum {
            values: values.to_vec(),
            is_exact,
        };
        let wide = stratum(&[16.5, 22.5, 22.5, 28.5], false);
        let narrow = stratum(&[9.0, 9.0, 11.0, 11.0], false);
        let both = Estimate::of_strata(&[wide.clone(), narrow]);
        near(both.mean, 16.25, 1e-12);
        let variance: f64 = (24.0 / 4.0 + 4.0 / 3.0 / 4.0) / 4.0;
        let freedom = 6.333_333_f64.powi(2) / (36.0 / 3.0 + (1.0 / 9.0) / 3.0);
        let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
        near(
            both.margin.unwrap(),
            student.inverse_cdf(0.975) * variance.sqrt(),
            1e-5,
        );
        // An exact stratum halves mean and error, and adds no uncertainty.
        let alone = Estimate::of(&wide.values);
        let beside = Estimate::of_strata(&[wide, stratum(&[0.0], true)]);
        near(beside.mean, alone.mean / 2.0, 1e-12);
        near(beside.margin.unwrap(), alone.margin.unwrap() / 2.0, 1e-12);
        near(beside.p.unwrap(), alone.p.unwrap(), 1e-12);
        let sure = Estimate::of_strata(&[stratum(&[1.0], true), stratum(&[2.0], true)]);
        assert_eq!((sure.mean, sure.margin, sure.p), (1.5, None, None));
    }

    #[test]
    fn holms_correction_matches_its_example() {
        // The worked example of Holm's correction with four tests.
        let corrected = holm(&[Some(0.01), Some(0.04), Some(0.03), Some(0.005)]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (corrected, expected) in corrected.iter().zip(expected) {
            near(corrected.unwrap(), expected, 1e-12);
        }
        assert_eq!(
            holm(&[None, Some(0.6), Some(0.7)]),
            [None, Some(1.0), Some(1.0)]
        );
        assert_eq!(holm(&[]), []);
    }
}
