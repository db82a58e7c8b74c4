//! How many tasks each worker gets, from interaction to interaction.

use serde::{Deserialize, Serialize};

use super::block_cyclic::{BlockCyclic, Reference};
use super::dealing::Dealing;
use super::weighted::{Pace, Weighted, shares};
use crate::interaction::Interaction;
use crate::numbers::{length, real};
use crate::units::Seconds;

/// Deals tasks to workers, interaction after interaction, by what each has taken for those before.
///
/// It knows numbers of tasks and times alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dealer {
    dealing: Dealing,
    left: u64,
    workers: Vec<Worker>,
    /// The last interaction, until it is complete.
    interaction: Option<Interaction>,
    /// The tasks of the last interaction.
    last_dealt: u64,
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
            interaction: None,
            last_dealt: 0,
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

    /// Deals the tasks of the next interaction in `superstep`: a number for each worker, in rank order, zero for those that
    /// are not present. As long as tasks are left and a worker is present, one at least is dealt.
    pub fn deal(&mut self, superstep: u64, is_present: &[bool]) -> Vec<u64> {
        let present: Vec<usize> = (0..self.workers.len())
            .filter(|worker| is_present[*worker])
            .collect();
        let workers = present.len();
        let known = || present.iter().map(|worker| &self.workers[*worker]);
        let wanted = match &self.dealing {
            Dealing::Weighted(rule) => {
                let is_complete = workers == self.workers.len();
                weighted(*rule, known(), (self.left, self.last_dealt), is_complete)
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
        let before = self.left;
        let mut dealt = vec![0; self.workers.len()];
        for (worker, wanted) in present.into_iter().zip(wanted) {
            let number = wanted.min(self.left);
            self.left -= number;
            if 0 < number {
                self.workers[worker].dealt = number;
            }
            dealt[worker] = number;
        }
        self.last_dealt = before - self.left;
        self.last_longest = 0.0;
        self.interaction = (0 < self.last_dealt).then(|| Interaction {
            number: self.interactions,
            superstep,
            left: before,
            took: vec![Seconds::ZERO; dealt.len()],
            dealt: dealt.clone(),
        });
        self.interactions += 1;
        dealt
    }

    /// The last interaction with the times of its workers, which have been observed; `None`: it dealt no tasks.
    pub fn complete(&mut self) -> Option<Interaction> {
        self.interaction.take()
    }

    /// `worker`, counted from zero, took `took` for its tasks of the last interaction.
    pub fn observe(&mut self, worker: usize, took: Seconds) {
        if let Some(interaction) = &mut self.interaction {
            interaction.took[worker] = took;
        }
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

#[cfg(test)]
mod tests;
