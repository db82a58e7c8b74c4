//! Values that change at given dates: availability, external load, congestion.

use std::sync::Arc;

use bsp::units::{Instant, Seconds};

/// A piecewise constant function of simulated time, repeated for ever if it has a period.
///
/// The value of a point holds from its date until the date of the next point. Before the first point
/// [`Profile::value`] is `None`, and the user of the profile supplies the value (full speed, no load,
/// the link's own bandwidth). With a period, each point is repeated at its date plus every multiple of
/// the period; the last value holds until the first point is repeated.
///
/// Invariant: at least one point; dates strictly increase, are finite and not negative; values
/// are finite; the period, if any, exceeds the time from the first point to the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile(Arc<Curve>);

/// The points, shared by all hosts or links with this profile.
#[derive(Debug, PartialEq)]
struct Curve {
    points: Vec<Point>,
    period: Option<f64>,
}

/// From `date` on, the value is `value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Seconds since the run began.
    pub date: f64,
    /// A fraction, or an absolute bandwidth (B/s) or latency (s), depending on what the profile describes.
    pub value: f64,
}

/// Why a list of points is not a valid [`Profile`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProfileError {
    /// No point.
    #[error("a profile must have at least one point")]
    Empty,
    /// A date that is negative or not finite.
    #[error("invalid date `{0}`: must be finite and not negative")]
    Date(f64),
    /// A point that does not come after the one before it.
    #[error("invalid date `{date}`: must be after the previous point at {before} s")]
    Order {
        /// Date of the point before.
        before: f64,
        /// Date of the point.
        date: f64,
    },
    /// A value that is not finite.
    #[error("invalid value `{value}` at {date} s: must be finite")]
    Value {
        /// Date of the point.
        date: f64,
        /// The value.
        value: f64,
    },
    /// A period that is shorter than the points.
    #[error(
        "invalid period `{period}`: must be longer than the {span} s from the first point to the last"
    )]
    Period {
        /// The period.
        period: f64,
        /// Time from the first point to the last.
        span: f64,
    },
}

impl Profile {
    /// The profile of these points, repeated every `period` if one is given.
    ///
    /// # Errors
    ///
    /// Names the point, or the period, that breaks the invariant.
    pub fn new(points: Vec<Point>, period: Option<Seconds>) -> Result<Self, ProfileError> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(ProfileError::Empty);
        };
        for point in &points {
            if !(point.date.is_finite() && 0.0 <= point.date) {
                return Err(ProfileError::Date(point.date));
            }
            if !point.value.is_finite() {
                return Err(ProfileError::Value {
                    date: point.date,
                    value: point.value,
                });
            }
        }
        for pair in points.windows(2) {
            if pair[1].date <= pair[0].date {
                return Err(ProfileError::Order {
                    before: pair[0].date,
                    date: pair[1].date,
                });
            }
        }
        let span = last.date - first.date;
        let period = period.map(Seconds::get);
        if let Some(period) = period.filter(|period| *period <= span) {
            return Err(ProfileError::Period { period, span });
        }
        Ok(Self(Arc::new(Curve { points, period })))
    }

    /// The value that holds at `at`; `None` before the first point.
    #[must_use]
    pub fn value(&self, at: Instant) -> Option<f64> {
        let (_, passed) = self.position(at.get());
        let passed = passed?;
        Some(self.0.points[passed].value)
    }

    /// The first point strictly after `after`: its date and its value.
    #[must_use]
    pub fn next_change(&self, after: Instant) -> Option<(Instant, f64)> {
        let (cycle, passed) = self.position(after.get());
        let (cycle, next) = match passed {
            None => (cycle, 0),
            Some(passed) if passed + 1 < self.0.points.len() => (cycle, passed + 1),
            Some(_) => (cycle + 1.0, 0),
        };
        if 0.0 < cycle && self.0.period.is_none() {
            return None;
        }
        let at = Instant::new(self.date(cycle, next)).ok()?;
        // With a period below the resolution of the clock, time would not advance.
        (after < at).then_some((at, self.0.points[next].value))
    }

    /// The mean of the value from `from` to `to`, exactly integrated, with `initial` before the
    /// first point; the value at `from` if no time passes between them.
    #[must_use]
    pub fn mean(&self, from: Instant, to: Instant, initial: f64) -> f64 {
        if to <= from {
            return self.value(from).unwrap_or(initial);
        }
        (self.integral(to.get(), initial) - self.integral(from.get(), initial))
            / (to.get() - from.get())
    }

    /// The points of the first cycle.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.0.points
    }

    /// Time after which the points are repeated.
    #[must_use]
    pub fn period(&self) -> Option<Seconds> {
        self.0.period.and_then(|period| Seconds::new(period).ok())
    }

    /// Which cycle `at` lies in, from zero, and the last point of that cycle not after `at`.
    fn position(&self, at: f64) -> (f64, Option<usize>) {
        let mut cycle = match self.0.period {
            Some(period) if self.0.points[0].date <= at => {
                ((at - self.0.points[0].date) / period).floor()
            }
            _ => 0.0,
        };
        // The division may round to the neighbouring cycle.
        if 0.0 < cycle && at < self.date(cycle, 0) {
            cycle -= 1.0;
        } else if self.0.period.is_some() && self.date(cycle + 1.0, 0) <= at {
            cycle += 1.0;
        }
        let passed = self
            .0
            .points
            .partition_point(|point| self.shifted(cycle, point) <= at);
        (cycle, passed.checked_sub(1))
    }

    /// The date of a point in a cycle.
    fn shifted(&self, cycle: f64, point: &Point) -> f64 {
        match self.0.period {
            Some(period) if 0.0 < cycle => point.date + cycle * period,
            _ => point.date,
        }
    }

    fn date(&self, cycle: f64, index: usize) -> f64 {
        self.shifted(cycle, &self.0.points[index])
    }

    /// Integral from zero to `to`.
    fn integral(&self, to: f64, initial: f64) -> f64 {
        let first = self.0.points[0].date;
        let mut sum = initial * first.min(to);
        let (cycle, Some(passed)) = self.position(to) else {
            return sum;
        };
        if let Some(period) = self.0.period.filter(|_| 0.0 < cycle) {
            sum += cycle * self.part(self.0.points.len() - 1, first + period);
        }
        sum += self.part(passed, to - (self.date(cycle, 0) - first));
        sum
    }

    /// Integral over the first cycle, from the first point over point `last` to the date `to`.
    fn part(&self, last: usize, to: f64) -> f64 {
        let whole: f64 = self.0.points[..=last]
            .windows(2)
            .map(|pair| pair[0].value * (pair[1].date - pair[0].date))
            .sum();
        whole + self.0.points[last].value * (to - self.0.points[last].date).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: f64) -> Instant {
        Instant::new(seconds).unwrap()
    }

    fn profile(points: &[(f64, f64)], period: Option<f64>) -> Result<Profile, ProfileError> {
        let points = points.iter().map(|(date, value)| Point {
            date: *date,
            value: *value,
        });
        Profile::new(
            points.collect(),
            period.map(|period| Seconds::new(period).unwrap()),
        )
    }

    #[test]
    fn values_hold_until_the_next_point() {
        let once = profile(&[(1.0, 0.5), (2.0, 0.25)], None).unwrap();
        assert_eq!(once.value(at(0.5)), None);
        assert_eq!(once.value(at(1.0)), Some(0.5));
        assert_eq!(once.value(at(1.5)), Some(0.5));
        assert_eq!(once.value(at(100.0)), Some(0.25));
        assert_eq!(once.next_change(at(0.0)), Some((at(1.0), 0.5)));
        assert_eq!(once.next_change(at(1.0)), Some((at(2.0), 0.25)));
        assert_eq!(once.next_change(at(2.0)), None);
    }

    #[test]
    fn points_are_repeated_every_period() {
        let wave = profile(&[(0.5, 0.5), (1.0, 1.0)], Some(1.5)).unwrap();
        let mut dates = Vec::new();
        let mut now = Instant::START;
        for _ in 0..5 {
            let (next, value) = wave.next_change(now).unwrap();
            assert_eq!(wave.value(next), Some(value));
            dates.push((next.get(), value));
            now = next;
        }
        assert_eq!(
            dates,
            [(0.5, 0.5), (1.0, 1.0), (2.0, 0.5), (2.5, 1.0), (3.5, 0.5)]
        );
    }

    #[test]
    fn means_are_exact_integrals() {
        let wave = profile(&[(0.5, 0.5), (1.0, 1.0)], Some(1.5)).unwrap();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12);
        near(wave.mean(at(0.0), at(0.5), 0.0), 0.0);
        near(wave.mean(at(0.0), at(1.0), 0.0), 0.25);
        near(wave.mean(at(0.5), at(2.0), 0.0), 1.25 / 1.5);
        near(wave.mean(at(0.75), at(300.75), 0.0), 1.25 / 1.5);
        near(wave.mean(at(3.25), at(3.25), 0.0), 1.0);
        near(wave.mean(at(0.25), at(0.25), 7.0), 7.0);
    }

    #[test]
    fn invalid_profiles_are_refused() {
        assert_eq!(profile(&[], None), Err(ProfileError::Empty));
        assert_eq!(profile(&[(-1.0, 1.0)], None), Err(ProfileError::Date(-1.0)));
        assert_eq!(
            profile(&[(1.0, 1.0), (1.0, 2.0)], None)
                .unwrap_err()
                .to_string(),
            "invalid date `1`: must be after the previous point at 1 s"
        );
        assert!(profile(&[(1.0, f64::NAN)], None).is_err());
        assert_eq!(
            profile(&[(1.0, 1.0), (2.0, 1.0)], Some(1.0)),
            Err(ProfileError::Period {
                period: 1.0,
                span: 1.0
            })
        );
    }

    proptest! {
        #[test]
        fn changes_values_and_means_agree(
            steps in prop::collection::vec((0.01..3.0_f64, 0.0..2.0_f64), 1..6),
            rest in prop::option::of(0.01..2.0_f64),
            until in 0.1..40.0_f64,
        ) {
            let mut date = 0.0;
            let points: Vec<_> = steps
                .iter()
                .map(|(step, value)| {
                    date += step;
                    (date, *value)
                })
                .collect();
            let period = rest.map(|rest| date - points[0].0 + rest);
            let wave = profile(&points, period).unwrap();
            let (mut now, mut value, mut area) = (Instant::START, 0.5, 0.0);
            while let Some((next, then)) = wave.next_change(now).filter(|(next, _)| next.get() < until) {
                prop_assert!(now < next);
                prop_assert_eq!(wave.value(next), Some(then));
                area += value * (next - now).get();
                (now, value) = (next, then);
            }
            area += value * (at(until) - now).get();
            let mean = wave.mean(Instant::START, at(until), 0.5);
            prop_assert!((mean - area / until).abs() < 1e-9, "{} {}", mean, area / until);
        }
    }
}
