//! The pace of supersteps that were measured on real hosts.

use std::ops::Range;

use migbsp::median;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::explain::history::History;

/// How long supersteps took, by complete rounds, without the first ones of the run.
///
/// Equation `PACE` of `docs/model.md`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pace {
    /// Seconds of a superstep in each round, the shortest first.
    rounds: Vec<f64>,
}

impl Pace {
    /// The pace of the complete rounds in `range`.
    pub(super) fn of(history: &History, range: Range<usize>) -> Self {
        let supersteps = &history.supersteps;
        let round = history.run.round;
        let length = usize::try_from(round.length).unwrap_or(usize::MAX).max(1);
        let first = history.run.first_superstep();
        let begin = range.start.max(COLD);
        let ends = range.filter(|place| {
            let index = u64::try_from(*place).map_or(u64::MAX, |place| first.saturating_add(place));
            let is_whole = (place + 1)
                .checked_sub(length)
                .is_some_and(|start| begin <= start);
            is_whole && round.ends_with(index)
        });
        let seconds = ends.filter_map(|last| {
            let of_round = supersteps.get(last + 1 - length..=last)?;
            let sum: f64 = of_round.iter().map(|superstep| superstep.seconds).sum();
            Some(sum / f64::from(u32::try_from(length).ok()?))
        });
        Self::new(seconds.collect())
    }

    fn new(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { rounds }
    }

    /// Number of rounds.
    pub(super) const fn number(&self) -> usize {
        self.rounds.len()
    }

    /// Median seconds of a superstep; `None` without rounds.
    pub(super) fn median(&self) -> Option<f64> {
        median(self.rounds.clone())
    }

    /// The interval that covers the median of the source of these rounds with 95 % confidence, from their order alone;
    /// `None` if they are too few.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let number = u32::try_from(self.rounds.len()).ok()?;
        let binomial = Binomial::new(0.5, number.into()).ok()?;
        // Some places before the first one that the tail reaches.
        let spread = 1.1 * f64::from(number).sqrt() + 1.0;
        let below = |place: &u32| f64::from(*place) < f64::from(number) / 2.0 - spread;
        let start = (0..number).take_while(below).count();
        let reaches =
            |place: &usize| u64::try_from(*place).is_ok_and(|place| TAIL <= binomial.cdf(place));
        let place = (start..self.rounds.len()).find(reaches)?;
        let low = self.rounds.get(place.checked_sub(1)?)?;
        let high = self.rounds.get(self.rounds.len() - place)?;
        Some((*low, *high))
    }

    /// Whether the two paces differ by more than they vary.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        match (self.interval(), other.interval()) {
            (Some(one), Some(other)) => one.1 < other.0 || other.1 < one.0,
            _ => false,
        }
    }
}

/// The first supersteps of a run on real hosts: caches, connections and threads are cold, and they do not count.
pub(super) const COLD: usize = 5;

/// The part of samples whose median is below the interval, and that of those whose median is above it.
const TAIL: f64 = 0.025;

/// Number of rounds below which there is no interval.
pub(super) const ROUNDS_MIN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(number: u32) -> Option<(f64, f64)> {
        Pace::new((1..=number).rev().map(f64::from).collect()).interval()
    }

    #[test]
    fn intervals_of_medians_are_those_of_tables_of_the_sign_test() {
        // Conover, Practical Nonparametric Statistics, section 3.2: ranks of 95 % intervals of the median.
        let tables = [
            (6, 1.0, 6.0),
            (8, 1.0, 8.0),
            (10, 2.0, 9.0),
            (20, 6.0, 15.0),
            (30, 10.0, 21.0),
        ];
        for (number, low, high) in tables {
            assert_eq!(interval(number), Some((low, high)), "{number}");
        }
        assert_eq!(interval(100), Some((40.0, 61.0)));
        // The normal approximation: 5000 - 1.96 · 50.
        assert_eq!(interval(10_000), Some((4902.0, 5099.0)));
        for few in 0..=5 {
            assert_eq!(interval(few), None, "{few}");
        }
        assert_eq!(ROUNDS_MIN, 6);
    }

    #[test]
    fn paces_differ_if_their_intervals_do_not_overlap() {
        let pace = |values: [f64; 6]| Pace::new(values.to_vec());
        let quiet = pace([10.0, 10.1, 10.2, 10.3, 10.4, 10.5]);
        assert!(quiet.differs_from(&pace([9.0, 9.1, 9.2, 9.3, 9.4, 9.5])));
        assert!(!quiet.differs_from(&pace([2.0, 3.0, 4.0, 5.0, 6.0, 11.0])));
        assert!(!quiet.differs_from(&Pace::new(vec![1.0; 5])));
    }
}
