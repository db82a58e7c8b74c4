//! What supersteps took: the times of each process, and their digest, which Managers exchange.
//!
//! The size of a digest does not grow with the number of processes.

use std::sync::Arc;

use bsp::units::Seconds;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};

use super::rows::{Rows, append};

/// Times of one process in one superstep, as the Managers need them to assess the balance.
///
/// Three words, because [`Times`] has them for every superstep since the last call: a negative time is one that is not known.
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

    fn words(&self) -> [u64; 3] {
        [self.computation, self.reception, self.wait].map(|time| time.get().to_bits())
    }

    fn of_words(words: [u64; 3]) -> Self {
        let [computation, reception, wait] = words
            .map(|word| Seconds::new(f64::from_bits(word)).expect("the bits of a time are kept"));
        Self {
            computation,
            reception,
            wait,
        }
    }
}

/// The times of one process in each superstep since the last call, oldest first, in little memory.
///
/// A superstep takes two bytes if it was like the one before, and at most 26. Clones share their memory until one of them
/// changes. Encoded as a list.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<ProcessTimes>")]
pub struct Times(Option<Arc<Supersteps>>);

/// The times of at least one superstep.
#[derive(Clone, Debug, PartialEq)]
struct Supersteps {
    number: usize,
    /// The last superstep, of which the wait may not be known yet.
    last: ProcessTimes,
    /// The one before, if it is in the same part.
    before: [u64; 3],
    /// All but the last, in parts. A part stays where it is: lists of all processes that move while they grow leave as much memory
    /// unused as they have.
    earlier: Vec<Vec<u8>>,
}

impl Times {
    /// Adds a superstep.
    pub fn push(&mut self, times: ProcessTimes) {
        match &mut self.0 {
            Some(supersteps) => Arc::make_mut(supersteps).push(times),
            None => self.0 = Some(Arc::new(Supersteps::first(times))),
        }
    }

    /// Sets how long the process waited at the barrier of the last superstep, if there is one.
    pub fn waited(&mut self, wait: Seconds) {
        if let Some(supersteps) = &mut self.0 {
            Arc::make_mut(supersteps).last.waited(wait);
        }
    }

    /// The number of supersteps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |supersteps| supersteps.number)
    }

    /// Whether there is no superstep.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The times, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = ProcessTimes> {
        let supersteps = self.0.as_ref();
        let earlier = supersteps.map_or(&[][..], |supersteps| &supersteps.earlier);
        let earlier = earlier.iter().flat_map(|part| Rows::new(part));
        let earlier = earlier.map(ProcessTimes::of_words);
        earlier.chain(supersteps.map(|supersteps| supersteps.last))
    }
}

impl Supersteps {
    fn first(times: ProcessTimes) -> Self {
        Self {
            number: 1,
            last: times,
            before: [0; 3],
            earlier: Vec::new(),
        }
    }

    fn push(&mut self, times: ProcessTimes) {
        let last = self.last.words();
        let has_room = |part: &&mut Vec<u8>| part.len() + ROW_MAX <= part.capacity();
        match self.earlier.last_mut().filter(has_room) {
            Some(part) => append(part, &self.before, &last),
            None => {
                let all: usize = self.earlier.iter().map(Vec::capacity).sum();
                let mut part = Vec::with_capacity(all.clamp(PART_MIN, PART_MAX));
                append(&mut part, &[0; 3], &last);
                self.earlier.push(part);
            }
        }
        self.before = last;
        self.last = times;
        self.number += 1;
    }
}

/// The most bytes of a superstep.
const ROW_MAX: usize = 2 + 3 * 8;

/// The fewest and the most bytes of a part.
const PART_MIN: usize = 2 * ROW_MAX;
const PART_MAX: usize = 1024;

impl From<Vec<ProcessTimes>> for Times {
    fn from(supersteps: Vec<ProcessTimes>) -> Self {
        let mut times = Self::default();
        for superstep in supersteps {
            times.push(superstep);
        }
        times
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for times in self.iter() {
            list.serialize_element(&times)?;
        }
        list.end()
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
    pub fn of_supersteps<'a>(histories: impl IntoIterator<Item = &'a Times>) -> Vec<Self> {
        let mut digests: Vec<Self> = Vec::new();
        for times in histories {
            if digests.len() < times.len() {
                digests.resize(times.len(), Self::default());
            }
            for (digest, times) in digests.iter_mut().zip(times.iter()) {
                *digest = digest.and(Self::of(&times));
            }
        }
        digests
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

    #[test]
    fn a_clone_keeps_its_times() {
        let mut own = Times::from(vec![times(0.5)]);
        let reported = own.clone();
        own.waited(Seconds::ZERO);
        own.push(times(0.25));
        assert_eq!(reported, Times::from(vec![times(0.5)]));
        assert_eq!((reported.len(), own.len()), (1, 2));
    }

    #[test]
    fn supersteps_that_repeat_take_little_memory() {
        let times = Times::from(vec![times(0.1); 1000]);
        let supersteps = times.0.unwrap();
        let bytes: usize = supersteps.earlier.iter().map(Vec::capacity).sum();
        assert!((2000..3500).contains(&bytes), "{bytes}");
    }

    /// Any time, one of a few, or none.
    fn time() -> impl Strategy<Value = Option<Seconds>> {
        let time = prop_oneof![Just(0.0), Just(0.1), 0.0..2.0, 0.0..1e-300, 1e20..1e30];
        prop::option::of(time.prop_map(|time| Seconds::new(time).unwrap()))
    }

    proptest! {
        #[test]
        fn times_come_out_as_they_were(
            supersteps in prop::collection::vec((time(), time(), time()), 0..40),
        ) {
            let mut times = Times::default();
            let mut expected: Vec<ProcessTimes> = Vec::new();
            for (computation, reception, wait) in supersteps {
                let superstep = ProcessTimes::new(computation, reception.unwrap_or_default(), None);
                times.push(superstep);
                expected.push(superstep);
                if let (Some(wait), Some(last)) = (wait, expected.last_mut()) {
                    times.waited(wait);
                    last.waited(wait);
                }
            }
            prop_assert_eq!(times.len(), expected.len());
            prop_assert_eq!(&times.iter().collect::<Vec<_>>(), &expected);
            let encoded = serde_json::to_string(&times).unwrap();
            prop_assert_eq!(&encoded, &serde_json::to_string(&expected).unwrap());
            prop_assert_eq!(serde_json::from_str::<Times>(&encoded).unwrap(), times);
        }

        #[test]
        fn a_digest_of_sets_is_the_digest_of_their_processes(
            first in prop::collection::vec(0_u8..8, 0..6),
            second in prop::collection::vec(0_u8..8, 0..6),
        ) {
            // Eighths add up exactly, in any order.
            let digest = |values: &[u8]| {
                let times = values.iter().map(|v| vec![times(f64::from(*v) / 8.0)]);
                let histories: Vec<Times> = times.map(Times::from).collect();
                Digest::of_supersteps(&histories)
            };
            let together = [first.clone(), second.clone()].concat();
            let (first, second) = (digest(&first), digest(&second));
            let merged = Digest::merge([&first[..], &second[..]].into_iter());
            prop_assert_eq!(merged, digest(&together));
        }
    }
}
