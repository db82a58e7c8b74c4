//! Shares in proportion to measured rates.

use crate::numbers::{real, whole};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

/// Shares in proportion to the rates of the workers, which are characterised by one task each.
///
/// Equations `DEAL-6` and `DEAL-7` of `docs/model.md`. The tasks and the seconds of each
/// interaction count half as much for the rate of a worker as those of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighted {
    /// An interaction deals this part of the tasks that are left: one of `fraction`, at least 1.
    pub fraction: u64,
    /// The least number of tasks that an interaction deals for each worker in the mean, at least 1. If at most 1.5 times as
    /// many are left, all are dealt.
    pub least: u64,
}

impl Default for Weighted {
    fn default() -> Self {
        Self {
            fraction: 8,
            least: 8,
        }
    }
}

impl Weighted {
    /// The number of tasks of the next interaction, of `left`, for `workers` workers, after one of `before` tasks; equation
    /// `DEAL-6`.
    pub(super) fn total(self, left: u64, workers: u64, before: u64, pace: Pace) -> u64 {
        let least = workers.saturating_mul(self.least);
        if left <= least.saturating_add(least / 2) {
            return left;
        }
        // Rates that are known from a few tasks divide a few more.
        let most = before.saturating_mul(GROWTH);
        let fraction = match pace {
            Pace::Usual => self.fraction,
            Pace::Expecting => self.fraction.saturating_mul(SHORTER),
            Pace::Characterising => return least,
        };
        left.div_ceil(fraction).min(most).max(least)
    }
}

/// How long an interaction may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Usual,
    /// Workers may join, and would have to wait for its end.
    Expecting,
    /// A worker executes a single task, and waits for the others.
    Characterising,
}

/// By which factor interactions are shorter while workers may join.
const SHORTER: u64 = 4;

/// The most tasks of an interaction, as a multiple of those of the one before.
const GROWTH: u64 = 8;

/// At least `least` tasks and at most `most` in proportion to `rates`, of which one is above zero; equation `DEAL-7`.
///
/// Each worker gets the whole part of its share of `least`, and each further task goes to the worker that finishes it first,
/// the lowest rank among equals. As many are dealt as take the least time per task.
pub(super) fn shares(rates: &[f64], (least, most): (u64, u64)) -> Vec<u64> {
    let sum: f64 = rates.iter().sum();
    let whole_part = |rate: &f64| whole(real(least) * (rate / sum));
    let mut shares: Vec<u64> = rates.iter().map(whole_part).collect();
    let mut dealt: u64 = shares.iter().sum();
    let finish = |share: u64, rank: usize| real(share) / rates[rank];
    let busy = shares.iter().enumerate().filter(|(_, share)| 0 < **share);
    let mut longest = busy
        .map(|(rank, share)| finish(*share, rank))
        .fold(0.0, f64::max);
    let next = |share: u64, rank: usize| Reverse((Finish(finish(share + 1, rank)), rank));
    let mut queue: BinaryHeap<_> = shares
        .iter()
        .enumerate()
        .map(|(rank, share)| next(*share, rank))
        .collect();
    let (mut best, mut best_time) = (shares.clone(), f64::INFINITY);
    loop {
        if least <= dealt {
            let time = longest / real(dealt);
            if time < best_time {
                best_time = time;
                best.clone_from(&shares);
            }
        }
        let further = if dealt < most { queue.pop() } else { None };
        let Some(Reverse((Finish(finish), rank))) = further else {
            return best;
        };
        shares[rank] += 1;
        dealt += 1;
        longest = longest.max(finish);
        queue.push(next(shares[rank], rank));
    }
}

/// A time at which a worker finishes; times are ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Finish(f64);

impl Eq for Finish {}

impl PartialOrd for Finish {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Finish {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_goes_to_those_that_finish_first() {
        let shares = |rates: &[f64], total| shares(rates, (total, total));
        assert_eq!(shares(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(shares(&[3.0, 0.0, 1.0], 6), [5, 0, 1]);
        assert_eq!(shares(&[2.0, 1.0], 0), [0, 0]);
        // The second finishes a third task before the others finish another.
        assert_eq!(shares(&[42.0, 28.0, 30.0], 10), [4, 3, 3]);
    }

    #[test]
    fn as_many_are_dealt_as_take_the_least_time_each() {
        // The third worker takes a task without making any other wait.
        let rates = [5.0, 5.0, 1.0];
        assert_eq!(shares(&rates, (10, 10)), [5, 5, 0]);
        assert_eq!(shares(&rates, (10, 13)), [5, 5, 1]);
        assert_eq!(shares(&rates, (11, 13)), [5, 5, 1]);
        assert_eq!(shares(&[0.0, 1.0], (3, 5)), [0, 3]);
    }

    #[test]
    fn the_last_tasks_are_dealt_together() {
        let rule = Weighted::default();
        assert_eq!(rule.total(800, 4, 100, Pace::Usual), 100);
        assert_eq!(rule.total(8000, 4, 5, Pace::Usual), 40);
        assert_eq!(rule.total(8000, 4, 2, Pace::Usual), 32);
        assert_eq!(rule.total(100, 4, 100, Pace::Usual), 32);
        assert_eq!(rule.total(49, 4, 100, Pace::Usual), 32);
        assert_eq!(rule.total(48, 4, 100, Pace::Usual), 48);
        assert_eq!(rule.total(0, 4, 100, Pace::Usual), 0);
        assert_eq!(rule.total(8000, 4, 1000, Pace::Expecting), 250);
        assert_eq!(rule.total(8000, 4, 1000, Pace::Characterising), 32);
    }
}
