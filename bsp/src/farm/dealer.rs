//! How many tasks each worker gets, from interaction to interaction.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::numbers::{length, real, whole};
use crate::units::Seconds;

/// Deals tasks to workers, interaction after interaction, by what each has taken for those before.
///
/// It knows numbers of tasks and times alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dealer {
    dealing: Dealing,
    left: u64,
    workers: Vec<Worker>,
    /// The tasks of the last interaction, by worker; empty before the first.
    last_dealt: Vec<u64>,
    /// Interactions dealt.
    interactions: u64,
    /// The longest time of a worker in the first interaction, in seconds.
    first_longest: f64,
    /// The longest time in the last one.
    last_longest: f64,
}

/// A worker, as the master knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Worker {
    /// Tasks of its last interaction; zero before the first.
    dealt: u64,
    /// For how many seconds it executed them; `None` before its first.
    took: Option<f64>,
    /// Tasks that it has executed; those of each interaction count half as much as those of the next.
    executed: f64,
    /// The same of the seconds that it took.
    seconds: f64,
}

impl Dealer {
    /// A dealer of `tasks` tasks to `workers` workers.
    #[must_use]
    pub fn new(dealing: Dealing, tasks: u64, workers: u32) -> Self {
        Self {
            dealing,
            left: tasks,
            workers: (0..workers).map(|_| Worker::default()).collect(),
            last_dealt: Vec::new(),
            interactions: 0,
            first_longest: 0.0,
            last_longest: 0.0,
        }
    }

    /// Tasks that have not been dealt.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    /// Deals the tasks of the next interaction: a number for each worker, in rank order, zero for those that are not
    /// present. As long as tasks are left and a worker is present, one at least is dealt.
    pub fn deal(&mut self, is_present: &[bool]) -> Vec<u64> {
        let present: Vec<usize> = (0..self.workers.len())
            .filter(|worker| is_present[*worker])
            .collect();
        let workers = present.len();
        let known = || present.iter().map(|worker| &self.workers[*worker]);
        let wanted = match &self.dealing {
            Dealing::Weighted(rule) => {
                let is_complete = workers == self.workers.len();
                let before = self.last_dealt.iter().sum();
                weighted(*rule, known(), (self.left, before), is_complete)
            }
            Dealing::BlockCyclic(rule) => self.blocks(rule, known()),
            Dealing::Static => shares(&vec![1.0; workers], (self.left, self.left)),
            Dealing::SelfScheduling { chunk } => vec![*chunk; workers],
            Dealing::Guided { least } => guided(*least, workers, self.left),
            Dealing::Factoring { least } => {
                let parts = length(2 * workers);
                let chunk = self.left.div_ceil(parts.max(1)).max(*least);
                vec![chunk; workers]
            }
        };
        let mut dealt = vec![0; self.workers.len()];
        for (worker, wanted) in present.into_iter().zip(wanted) {
            let number = wanted.min(self.left);
            self.left -= number;
            if 0 < number {
                self.workers[worker].dealt = number;
            }
            dealt[worker] = number;
        }
        self.last_dealt.clone_from(&dealt);
        self.last_longest = 0.0;
        self.interactions += 1;
        dealt
    }

    /// `worker`, counted from zero, took `took` for its tasks of the last interaction.
    pub fn observe(&mut self, worker: usize, took: Seconds) {
        let took = took.get();
        if self.interactions == 1 {
            self.first_longest = self.first_longest.max(took);
        }
        self.last_longest = self.last_longest.max(took);
        let worker = &mut self.workers[worker];
        worker.took = Some(took);
        worker.executed = worker.executed / 2.0 + real(worker.dealt);
        worker.seconds = worker.seconds / 2.0 + took.max(SHORTEST);
    }

    /// How far the share of each worker in the tasks of the last interaction, of which there is one at least, is from its share
    /// in the sum of all rates, in points; equation `DEAL-10` of `docs/model.md`. In rank order, without workers that have no
    /// rate yet.
    pub(super) fn deviations(&self) -> impl Iterator<Item = f64> {
        let tasks = real(self.last_dealt.iter().sum());
        let rates: f64 = self.workers.iter().filter_map(Worker::rate).sum();
        let shares = self.last_dealt.iter().zip(&self.workers);
        shares.filter_map(move |(dealt, worker)| {
            let rate = worker.rate()?;
            Some(100.0 * (real(*dealt) / tasks - rate / rates).abs())
        })
    }

    /// The block of each worker, by what it took for the one before.
    fn blocks<'a>(
        &self,
        rule: &BlockCyclic,
        workers: impl Iterator<Item = &'a Worker>,
    ) -> Vec<u64> {
        let reference = match rule.reference {
            Reference::First => self.first_longest,
            Reference::Last => self.last_longest,
        };
        let block = |worker: &Worker| match worker.took {
            Some(took) => rule.next(worker.dealt, took, reference),
            None => rule.block,
        };
        workers.map(block).collect()
    }
}

impl Worker {
    /// Tasks per second; `None` before its first interaction.
    fn rate(&self) -> Option<f64> {
        self.took.map(|_| self.executed / self.seconds)
    }
}

/// One task for each worker without a rate, and the tasks of an interaction for the others by their rates. The
/// interaction before had `before` tasks.
fn weighted<'a>(
    rule: Weighted,
    workers: impl Iterator<Item = &'a Worker>,
    (left, before): (u64, u64),
    is_complete: bool,
) -> Vec<u64> {
    let rates: Vec<Option<f64>> = workers.map(Worker::rate).collect();
    let known = length(rates.iter().flatten().count());
    let unknown = length(rates.len()) - known;
    let total = match known {
        0 => 0,
        known => {
            let pace = match (unknown, is_complete) {
                (0, true) => Pace::Usual,
                (0, false) => Pace::Expecting,
                _ => Pace::Characterising,
            };
            rule.total(left.saturating_sub(unknown), known, before, pace)
        }
    };
    let by_rate: Vec<f64> = rates.iter().map(|rate| rate.unwrap_or_default()).collect();
    let rest = left.saturating_sub(unknown);
    let most = rest.min(total.saturating_add(known));
    let shares = shares(&by_rate, (total, most)).into_iter().zip(rates);
    shares
        .map(|(share, rate)| rate.map_or(1, |_| share))
        .collect()
}

/// `⌈R / P⌉` of the tasks that are left, worker after worker.
fn guided(least: u64, workers: usize, mut left: u64) -> Vec<u64> {
    let parts = length(workers).max(1);
    let mut chunks = Vec::with_capacity(workers);
    for _ in 0..workers {
        let chunk = left.div_ceil(parts).max(least).min(left);
        left -= chunk;
        chunks.push(chunk);
    }
    chunks
}

/// No time of a worker counts as shorter, in seconds.
const SHORTEST: f64 = 1e-9;

/// A rule by which the tasks of each interaction are dealt to workers.
///
/// Equations `DEAL-1` to `DEAL-9` of `docs/model.md`; `P` is the number of workers and `R` that of the tasks that are left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Dealing {
    /// Shares in proportion to the measured rates of the workers.
    Weighted(Weighted),
    /// Blocks that change until each worker's time is between two thresholds (Santana and Souza).
    BlockCyclic(BlockCyclic),
    /// `R / P` tasks each, in one interaction.
    Static,
    /// The same number of tasks each, in every interaction.
    SelfScheduling {
        /// That number, at least 1.
        chunk: u64,
    },
    /// `⌈R / P⌉` tasks, worker after worker (Polychronopoulos and Kuck 1987).
    Guided {
        /// The least number of tasks for a worker, at least 1.
        least: u64,
    },
    /// `⌈R / (2 P)⌉` tasks each, for all workers of an interaction alike (Hummel, Schonberg and Flynn 1992).
    Factoring {
        /// The least number of tasks for a worker, at least 1.
        least: u64,
    },
}

impl Default for Dealing {
    fn default() -> Self {
        Self::Weighted(Weighted::default())
    }
}

impl Dealing {
    /// Checks the numbers of the rule.
    ///
    /// # Errors
    ///
    /// Any [`DealingError`].
    pub fn check(&self) -> Result<(), DealingError> {
        let positive = |name: &'static str, number: u64| match number {
            0 => Err(DealingError::Zero(name)),
            _ => Ok(()),
        };
        match self {
            Self::Weighted(weighted) => {
                positive("fraction", weighted.fraction)?;
                positive("least", weighted.least)
            }
            Self::BlockCyclic(rule) => {
                positive("block", rule.block)?;
                rule.check_thresholds()
            }
            Self::Static => Ok(()),
            Self::SelfScheduling { chunk } => positive("chunk", *chunk),
            Self::Guided { least } | Self::Factoring { least } => positive("least", *least),
        }
    }
}

/// Why numbers are no rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DealingError {
    /// Workers would get no tasks.
    #[error("invalid value `0` for `{0}`: must be at least 1")]
    Zero(&'static str),
    /// A number that is no threshold.
    #[error("invalid value `{value:?}` for `{name}`: must be a number from 0.001 to 1000")]
    Threshold {
        /// Its key.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// Thresholds in the wrong order.
    #[error(
        "invalid value `{min:?}` for `threshold_min`: must be at most `threshold_max`, which is {max:?}"
    )]
    Thresholds {
        /// The lower one.
        min: f64,
        /// The upper one.
        max: f64,
    },
}

/// Block-cyclic distribution with a block of its own for each worker (Santana and Souza, equations 1 to 5).
///
/// Equations `DEAL-1` to `DEAL-5` of `docs/model.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockCyclic {
    /// Tasks of each worker in its first interaction, at least 1.
    pub block: u64,
    /// A worker that takes less than this part of the reference time gets more tasks; from 0.001 to 1000.
    pub threshold_min: f64,
    /// One that takes more than this part of it gets fewer; at least the other threshold.
    pub threshold_max: f64,
    /// The reference time.
    pub reference: Reference,
}

/// The time that thresholds are parts of. The paper has both readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// The longest time of a worker in the first interaction.
    #[default]
    First,
    /// The longest time in the last interaction. No worker can take longer, so an upper threshold of 1 or more does nothing.
    Last,
}

impl Default for BlockCyclic {
    fn default() -> Self {
        Self {
            block: 8,
            threshold_min: 0.99,
            threshold_max: 1.01,
            reference: Reference::First,
        }
    }
}

impl BlockCyclic {
    /// The block of a worker that executed `block` tasks in `took` seconds; equations 3 to 5.
    pub(super) fn next(&self, block: u64, took: f64, reference: f64) -> u64 {
        let target = if took < self.threshold_min * reference {
            self.threshold_min * reference
        } else if self.threshold_max * reference < took {
            self.threshold_max * reference
        } else {
            return block;
        };
        whole(target / took * real(block)).max(1)
    }

    fn check_thresholds(&self) -> Result<(), DealingError> {
        let (min, max) = (self.threshold_min, self.threshold_max);
        for (name, value) in [("threshold_min", min), ("threshold_max", max)] {
            if !(THRESHOLD_MIN..=THRESHOLD_MAX).contains(&value) {
                return Err(DealingError::Threshold { name, value });
            }
        }
        if max < min {
            return Err(DealingError::Thresholds { min, max });
        }
        Ok(())
    }
}

/// Bounds of thresholds.
const THRESHOLD_MIN: f64 = 1e-3;
const THRESHOLD_MAX: f64 = 1e3;

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
fn shares(rates: &[f64], (least, most): (u64, u64)) -> Vec<u64> {
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
    mod dealer;

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
