//! What supersteps took: the times of each process, and their digest, which Managers exchange.
//!
//! The size of a digest does not grow with the number of processes.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// Times of one process in one superstep, as the Managers need them to assess the balance.
///
/// Kept for every superstep since the last call, hence its three words: a negative time is one that
/// is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTimes {
    computation: Seconds,
    reception: Seconds,
    wait: Seconds,
}

impl ProcessTimes {
    /// `computation`: of a process that computed; `reception`: its longest; `wait`: from arriving at
    /// the barrier to going on, `None` as long as it does not go on.
    #[must_use]
    #[inline]
    pub fn new(computation: Option<Seconds>, reception: Seconds, wait: Option<Seconds>) -> Self {
        Self {
            computation: computation.map_or_else(unknown, |time| time.max(Seconds::ZERO)),
            reception: reception.max(Seconds::ZERO),
            wait: wait.map_or_else(unknown, |time| time.max(Seconds::ZERO)),
        }
    }

    /// Sets how long the process waited at the barrier.
    pub fn waited(&mut self, wait: Seconds) {
        self.wait = wait.max(Seconds::ZERO);
    }

    /// Whether it executed anything.
    #[must_use]
    pub fn computed(&self) -> bool {
        Seconds::ZERO <= self.computation
    }

    /// How long it computed; nothing if it did not.
    #[must_use]
    pub fn computation(&self) -> Seconds {
        self.computation.max(Seconds::ZERO)
    }

    /// How long its longest reception took.
    #[must_use]
    pub const fn reception(&self) -> Seconds {
        self.reception
    }

    /// How long it waited at the barrier; unknown in the superstep of a call, which ends before the
    /// process goes on.
    #[must_use]
    pub fn wait(&self) -> Option<Seconds> {
        (Seconds::ZERO <= self.wait).then_some(self.wait)
    }
}

/// Times of several processes in one superstep, as far as the balance depends on them.
///
/// Sums run in rank order within a Set and then over the Sets in their order, so that every Manager
/// computes the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// How many processes count: those that computed.
    pub counted: u32,
    /// How many of them computed.
    pub computed: u32,
    /// The longest computation among those that count.
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
    pub fn of(times: &ProcessTimes) -> Self {
        let wait = times.wait();
        if !times.computed() {
            return Self {
                wait,
                ..Self::default()
            };
        }
        Self {
            counted: 1,
            computed: 1,
            slowest: times.computation(),
            fastest: times.computation(),
            computation: times.computation(),
            reception: times.reception(),
            wait,
        }
    }

    /// Of several processes, superstep by superstep, given the times of each in rank order; a process
    /// that halted has fewer.
    #[must_use]
    pub fn of_supersteps(histories: &[&[ProcessTimes]]) -> Vec<Self> {
        let count = histories.iter().map(|times| times.len()).max().unwrap_or(0);
        let superstep = |index: usize| {
            let times = histories.iter().filter_map(|times| times.get(index));
            times.map(Self::of).fold(Self::default(), Self::and)
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
            computation: Seconds::bounded(self.computation.get() + other.computation.get()),
            reception: Seconds::bounded(self.reception.get() + other.reception.get()),
            wait,
        }
    }
}

fn unknown() -> Seconds {
    Seconds::new(-1.0).expect("a second is finite")
}

const _: () = assert!(size_of::<ProcessTimes>() == 24);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(computation: f64) -> ProcessTimes {
        let seconds = |value| Seconds::new(value).unwrap();
        let computation = (0.0 < computation).then(|| seconds(computation));
        ProcessTimes::new(computation, seconds(0.25), Some(seconds(1.0)))
    }

    #[test]
    fn what_is_not_known_stays_apart_from_zero() {
        let idle = ProcessTimes::new(None, Seconds::ZERO, None);
        assert!(!idle.computed());
        assert_eq!((idle.computation(), idle.wait()), (Seconds::ZERO, None));
        let mut quick = ProcessTimes::new(Some(Seconds::ZERO), Seconds::ZERO, None);
        quick.waited(Seconds::ZERO);
        assert!(quick.computed());
        assert_eq!(quick.wait(), Some(Seconds::ZERO));
    }

    proptest! {
        #[test]
        fn a_digest_of_sets_is_the_digest_of_their_processes(
            first in prop::collection::vec(0_u8..8, 0..6),
            second in prop::collection::vec(0_u8..8, 0..6),
        ) {
            // Eighths add up exactly, in any order.
            let digest = |values: &[u8]| {
                let times: Vec<_> = values.iter().map(|v| [times(f64::from(*v) / 8.0)]).collect();
                let histories: Vec<&[ProcessTimes]> = times.iter().map(|t| &t[..]).collect();
                Digest::of_supersteps(&histories)
            };
            let together = [first.clone(), second.clone()].concat();
            let (first, second) = (digest(&first), digest(&second));
            let merged = Digest::merge([&first[..], &second[..]].into_iter());
            prop_assert_eq!(merged, digest(&together));
        }
    }
}
