//! A call when lines through the times so far say that it pays.

use super::{CallOutcome, Elapsed, When};
use crate::bounded::count;
use crate::rule::Rule;

/// Calls after the period that straight lines through the longest and the mean computations make the best.
///
/// The rule of Charm++'s `MetaLB` (Menon, Jain, Zheng and Kalé, 2012), equations `METALB` of
/// `docs/model.md`: with `m(t) = m_s t + m_c` and `r0 · a(t) = a_s t + a_c`, where `r0` is the ratio of `m`
/// to `a` after the last call, the period is the positive root of
/// `½ (m_s − a_s) t² + (m_c − a_c) t − C = 0`. It needs five supersteps, and leaves a run alone whose
/// processors are used to 90 %.
#[derive(Clone, Debug)]
struct MetaLb {
    /// Sums of `m` and of `a` over the first supersteps since the last call: none of them, one, two, ….
    sums: Vec<[f64; 2]>,
    /// `r0`, once known.
    ratio: Option<f64>,
    /// `C`, in seconds.
    cost: f64,
}

/// A line through times, in seconds, over supersteps.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    slope: f64,
    intercept: f64,
}

impl MetaLb {
    /// Nothing is known of costs.
    pub(super) fn at_start() -> Self {
        Self {
            sums: vec![[0.0; 2]],
            // No call has balanced the run yet: a call is taken to reach perfect balance.
            ratio: Some(1.0),
            cost: 0.0,
        }
    }

    /// The best period, in supersteps; `None`: a call does not pay.
    fn period(&self) -> Option<f64> {
        let supersteps = self.sums.len() - 1;
        if supersteps < SAMPLES_MIN {
            return None;
        }
        let [slowest, mean] = self.mean(0, supersteps);
        if slowest * UTILISATION_ENOUGH <= mean {
            return None;
        }
        let ratio = self.ratio?;
        let (first, second) = (
            self.mean(0, supersteps / 2),
            self.mean(supersteps / 2, supersteps),
        );
        let number = count(supersteps);
        let longest = Line::through(first[0], second[0], number);
        let balanced = Line::through(ratio * first[1], ratio * second[1], number);
        let (bend, rise) = (
            (longest.slope - balanced.slope) / 2.0,
            longest.intercept - balanced.intercept,
        );
        let period = if bend.abs() < FLAT * slowest {
            let gap = slowest - ratio * mean;
            (0.0 < gap).then(|| self.cost / gap)?
        } else {
            positive_root(bend, rise, -self.cost)?
        };
        let (longest_then, balanced_then) = (longest.at(period), balanced.at(period));
        (0.0 <= balanced_then && balanced_then <= longest_then).then_some(period)
    }

    /// Means of `m` and of `a` over the supersteps from `first` to before `end`.
    fn mean(&self, first: usize, end: usize) -> [f64; 2] {
        let number = count(end - first);
        let (before, after) = (self.sums[first], self.sums[end]);
        [
            (after[0] - before[0]) / number,
            (after[1] - before[1]) / number,
        ]
    }
}

impl Line {
    /// Through the means of the two halves of `number` supersteps.
    fn through(first: f64, second: f64, number: f64) -> Self {
        let slope = 2.0 * (second - first) / number;
        Self {
            slope,
            intercept: first - slope * number / 4.0,
        }
    }

    fn at(self, superstep: f64) -> f64 {
        self.slope * superstep + self.intercept
    }
}

impl When for MetaLb {
    fn observe(&mut self, elapsed: &Elapsed) {
        let (slowest, mean) = (elapsed.slowest.get(), elapsed.mean.get());
        if self.ratio.is_none() && 0.0 < mean {
            self.ratio = Some(slowest / mean);
        }
        let [slowest_sum, mean_sum] = self.sums.last().copied().unwrap_or_default();
        self.sums.push([slowest_sum + slowest, mean_sum + mean]);
    }

    fn is_due(&self, _completed: u64) -> bool {
        let supersteps = count(self.sums.len() - 1);
        self.period().is_some_and(|period| period <= supersteps)
    }

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        *self = Self {
            sums: vec![[0.0; 2]],
            ratio: None,
            cost: call.spacing.cost.get(),
        };
    }
}

/// The least positive root of `a t² + b t + c`, with `a` not zero; zero counts as positive.
fn positive_root(a: f64, b: f64, c: f64) -> Option<f64> {
    let discriminant = b * b - 4.0 * a * c;
    if discriminant < 0.0 {
        return None;
    }
    let root = discriminant.sqrt();
    let roots = [(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)];
    let positive = roots.into_iter().filter(|root| 0.0 <= *root);
    positive.min_by(f64::total_cmp)
}

/// Lines through fewer supersteps than these are no lines.
const SAMPLES_MIN: usize = 5;

/// What part of processors has to be in use for a run to be left alone.
const UTILISATION_ENOUGH: f64 = 0.9;

/// Lines whose slopes differ by less than this part of the longest computation are parallel.
const FLAT: f64 = 1e-9;

/// `metalb`.
pub(super) const METALB: Rule<dyn When> = Rule::new(
    "metalb",
    "calls after the period that Charm++'s MetaLB computes from linear trends",
    |_| Box::new(MetaLb::at_start()),
);

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;

    use crate::when::tests::call_outcome;

    use super::*;

    fn called_at(metalb: &mut MetaLb, times: impl IntoIterator<Item = (f64, f64)>) -> Option<u64> {
        for (completed, (slowest, mean)) in (1..).zip(times) {
            metalb.observe(&Elapsed {
                completed,
                slowest: Seconds::new(slowest).unwrap(),
                mean: Seconds::new(mean).unwrap(),
                took: Seconds::ZERO,
            });
            if metalb.is_due(completed) {
                return Some(completed);
            }
        }
        None
    }

    #[test]
    fn a_line_goes_through_the_means_of_both_halves() {
        // 1, 2, 3, 4: means 1.5 and 3.5, slope 1, and 1.5 − 1 in the beginning.
        let line = Line::through(1.5, 3.5, 4.0);
        assert_eq!(
            line,
            Line {
                slope: 1.0,
                intercept: 0.5
            }
        );
    }

    #[test]
    fn parallel_lines_call_when_their_gap_has_cost_a_call() {
        let mut metalb = MetaLb {
            cost: 4.0,
            ..MetaLb::at_start()
        };
        // Half a second a superstep: eight of them.
        assert_eq!(called_at(&mut metalb, [(1.0, 0.5); 20]), Some(8));
    }

    #[test]
    fn diverging_lines_call_at_the_root() {
        let mut metalb = MetaLb::at_start();
        metalb.conclude(&call_outcome(0, 9.0, 0));
        // With r0 = 1.25, after seven: ¼ t² − 0.375 t − 9 = 0 at t = 6.80; after six, at 6.52.
        let times = (0..40).map(|t| (1.25 + 0.5 * f64::from(t), 1.0));
        assert_eq!(called_at(&mut metalb, times), Some(7));
    }

    #[test]
    fn five_supersteps_are_needed_and_nine_tenths_suffice() {
        assert_eq!(called_at(&mut MetaLb::at_start(), [(1.0, 0.5); 4]), None);
        assert_eq!(called_at(&mut MetaLb::at_start(), [(1.0, 0.5); 5]), Some(5));
        assert_eq!(called_at(&mut MetaLb::at_start(), [(1.0, 0.91); 100]), None);
    }

    #[test]
    fn what_the_last_call_left_behind_does_not_call_again() {
        let mut metalb = MetaLb::at_start();
        metalb.conclude(&call_outcome(0, 0.1, 0));
        assert_eq!(called_at(&mut metalb, [(1.0, 0.5); 100]), None);
    }
}
