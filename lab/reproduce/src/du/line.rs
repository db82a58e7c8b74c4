//! A line through points, by least squares.

use serde::Serialize;

/// `y = intercept + slope · x`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) intercept: f64,
    pub(super) slope: f64,
    /// The share of the variance of `y` that the line explains.
    pub(super) r_squared: f64,
}

impl Line {
    /// The line with the least sum of squared distances in `y`; none for fewer than two different `x` or `y`.
    pub(super) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = f64::from(u32::try_from(points.len()).ok()?);
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|(x, _)| *x), mean(|(_, y)| *y));
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            let centred = points.iter().map(|(x, y)| of(x - x_mean, y - y_mean));
            centred.sum::<f64>()
        };
        let (xx, yy) = (sum(&|x, _| x * x), sum(&|_, y| y * y));
        if !(0.0 < xx && 0.0 < yy) {
            return None;
        }
        let slope = sum(&|x, y| x * y) / xx;
        let residual = sum(&|x, y| (y - slope * x) * (y - slope * x));
        Some(Self {
            intercept: y_mean - slope * x_mean,
            slope,
            r_squared: 1.0 - residual / yy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_line_give_that_line() {
        let points: Vec<_> = [1.0, 3.0, 4.0, 100.0].map(|x| (x, 0.5 + 0.25 * x)).to_vec();
        let line = Line::through(&points).unwrap();
        assert!((line.intercept - 0.5).abs() < 1e-12, "{line:?}");
        assert!((line.slope - 0.25).abs() < 1e-12, "{line:?}");
        assert!((line.r_squared - 1.0).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn what_a_line_leaves_over_lowers_its_share() {
        // By hand: slope 0.5, intercept 2/3, residuals 1/6, -1/3, 1/6 of a variance of 2/3.
        let line = Line::through(&[(0.0, 5.0 / 6.0), (1.0, 5.0 / 6.0), (2.0, 11.0 / 6.0)]);
        let line = line.unwrap();
        assert!((line.slope - 0.5).abs() < 1e-12, "{line:?}");
        assert!((line.intercept - 2.0 / 3.0).abs() < 1e-12, "{line:?}");
        assert!((line.r_squared - 0.75).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn one_point_and_equal_points_give_none() {
        for points in [&[][..], &[(1.0, 2.0)], &[(1.0, 2.0), (1.0, 3.0)]] {
            assert_eq!(Line::through(points), None, "{points:?}");
        }
    }
}
