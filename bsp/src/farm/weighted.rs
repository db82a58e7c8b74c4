//! Shares in proportion to measured rates.

use serde::{Deserialize, Serialize};

use super::numbers::{count, whole};

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
    pub(super) fn total(self, left: u64, workers: u64, before: u64) -> u64 {
        let least = workers.saturating_mul(self.least);
        if left <= least.saturating_add(least / 2) {
            return left;
        }
        // Rates that are known from a few tasks divide a few more.
        let most = before.saturating_mul(GROWTH);
        left.div_ceil(self.fraction).min(most).max(least)
    }
}

/// The most tasks of an interaction, as a multiple of those of the one before.
const GROWTH: u64 = 8;

/// `total` tasks in proportion to `rates`, of which one is above zero: the whole parts, and the rest to the largest
/// remainders, the lowest ranks among equals; equation `DEAL-7`.
pub(super) fn shares(rates: &[f64], total: u64) -> Vec<u64> {
    let sum: f64 = rates.iter().sum();
    let exact: Vec<f64> = rates
        .iter()
        .map(|rate| count(total) * (rate / sum))
        .collect();
    let mut shares: Vec<u64> = exact.iter().map(|share| whole(*share)).collect();
    let dealt: u64 = shares.iter().sum();
    let remainder = |index: usize| exact[index] - exact[index].floor();
    let mut ranks: Vec<usize> = (0..rates.len()).collect();
    ranks.sort_by(|one, other| {
        let by_remainder = remainder(*other).total_cmp(&remainder(*one));
        by_remainder.then(one.cmp(other))
    });
    let rest = usize::try_from(total.saturating_sub(dealt)).unwrap_or(usize::MAX);
    for rank in ranks.into_iter().take(rest) {
        shares[rank] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_goes_to_the_largest_remainders() {
        assert_eq!(shares(&[1.0, 1.0, 1.0], 10), [4, 3, 3]);
        assert_eq!(shares(&[3.0, 0.0, 1.0], 6), [5, 0, 1]);
        assert_eq!(shares(&[2.0, 1.0], 0), [0, 0]);
        // 4.2, 2.8 and 3: the second has the largest remainder.
        assert_eq!(shares(&[42.0, 28.0, 30.0], 10), [4, 3, 3]);
    }

    #[test]
    fn the_last_tasks_are_dealt_together() {
        let rule = Weighted::default();
        assert_eq!(rule.total(800, 4, 100), 100);
        assert_eq!(rule.total(8000, 4, 5), 40);
        assert_eq!(rule.total(8000, 4, 2), 32);
        assert_eq!(rule.total(100, 4, 100), 32);
        assert_eq!(rule.total(49, 4, 100), 32);
        assert_eq!(rule.total(48, 4, 100), 48);
        assert_eq!(rule.total(0, 4, 100), 0);
    }
}
