//! What one superstep took, over many processes: what Managers exchange instead of every time.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::bounded::seconds;
use crate::{Config, IdleProcesses, ProcessTime, ProcessTimes};

/// Times of several processes in one superstep, as far as the balance depends on them.
///
/// Sums run in rank order within a Set and then over the Sets in their order, so that every Manager
/// computes the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// How many processes count.
    pub counted: u32,
    /// How many of them computed.
    pub computed: u32,
    /// The longest time among those that count: of the computation, and with [`ProcessTime::Own`] of the process's
    /// own reception.
    pub slowest: Seconds,
    /// The shortest.
    pub fastest: Seconds,
    /// The sum of their computations.
    pub computation: Seconds,
    /// The sum of their receptions.
    pub reception: Seconds,
    /// The shortest wait at the barrier among all, where any is known.
    pub wait: Option<Seconds>,
}

impl Digest {
    /// Of one process.
    #[must_use]
    pub fn of(config: &Config, times: &ProcessTimes) -> Self {
        let wait = times.wait();
        let counts_idle = config.parameters().idle_processes == IdleProcesses::Counted;
        if !times.computed() && !counts_idle {
            return Self {
                wait,
                ..Self::default()
            };
        }
        let own = match config.parameters().process_time {
            ProcessTime::Own | ProcessTime::OwnWithoutBarrier => times.reception(),
            ProcessTime::Whole | ProcessTime::Computation => Seconds::ZERO,
        };
        let time = times.computation() + own;
        Self {
            counted: 1,
            computed: u32::from(times.computed()),
            slowest: time,
            fastest: time,
            computation: times.computation(),
            reception: times.reception(),
            wait,
        }
    }

    /// Of several processes, superstep by superstep, given the times of each in rank order; a process
    /// that halted has fewer.
    #[must_use]
    pub fn of_supersteps(config: &Config, histories: &[&[ProcessTimes]]) -> Vec<Self> {
        let count = histories.iter().map(|times| times.len()).max().unwrap_or(0);
        let superstep = |index: usize| {
            let times = histories.iter().filter_map(|times| times.get(index));
            times
                .map(|times| Self::of(config, times))
                .fold(Self::default(), Self::and)
        };
        (0..count).map(superstep).collect()
    }

    /// The digests of several Sets, each superstep by superstep, as one.
    #[must_use]
    pub fn merge<'a>(sets: impl Iterator<Item = &'a [Self]>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for digests in sets {
            if merged.len() < digests.len() {
                merged.resize(digests.len(), Self::default());
            }
            for (all, one) in merged.iter_mut().zip(digests) {
                *all = all.and(*one);
            }
        }
        merged
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let wait = match (self.wait, other.wait) {
            (Some(wait), Some(other)) => Some(wait.min(other)),
            (wait, other) => wait.or(other),
        };
        if self.counted == 0 || other.counted == 0 {
            let counting = if self.counted == 0 { other } else { self };
            return Self { wait, ..counting };
        }
        Self {
            counted: self.counted.saturating_add(other.counted),
            computed: self.computed.saturating_add(other.computed),
            slowest: self.slowest.max(other.slowest),
            fastest: self.fastest.min(other.fastest),
            computation: seconds(self.computation.get() + other.computation.get()),
            reception: seconds(self.reception.get() + other.reception.get()),
            wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn times(computation: f64) -> ProcessTimes {
        let seconds = |value| Seconds::new(value).unwrap();
        let computation = (0.0 < computation).then(|| seconds(computation));
        ProcessTimes::new(computation, seconds(0.25), Some(seconds(1.0)))
    }

    proptest! {
        #[test]
        fn a_digest_of_sets_is_the_digest_of_their_processes(
            first in prop::collection::vec(0_u8..8, 0..6),
            second in prop::collection::vec(0_u8..8, 0..6),
        ) {
            // Eighths add up exactly, in any order.
            let config = Config::new(Parameters::default()).unwrap();
            let digest = |values: &[u8]| {
                let times: Vec<_> = values.iter().map(|v| [times(f64::from(*v) / 8.0)]).collect();
                let histories: Vec<&[ProcessTimes]> = times.iter().map(|t| &t[..]).collect();
                Digest::of_supersteps(&config, &histories)
            };
            let together = [first.clone(), second.clone()].concat();
            let (first, second) = (digest(&first), digest(&second));
            let merged = Digest::merge([&first[..], &second[..]].into_iter());
            prop_assert_eq!(merged, digest(&together));
        }
    }
}
