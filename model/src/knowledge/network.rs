//! What messages take between hosts, as predicted from paths and corrected by measurements.

use bsp::SetId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::bounded::{count, non_negative};

/// The paths between all Sets, with what has been learned about them.
///
/// Equation `MESSAGE` of `docs/model.md`: a message of `b` bytes takes `L + s (b r + d max(0, o - b r))`, with the
/// latency `L` and the time per byte `r` of its path, and `o` seconds in which the busiest of the host's two
/// connections and the link between the Sets is occupied by all messages that use it. Learned are the slowness `s`
/// and the degree of sharing `d`, in `[0, 1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    sets: usize,
    /// From Set to Set.
    paths: Vec<Path>,
    lessons: Vec<Lesson>,
}

/// What measurements say about the messages from one Set to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// By how many seconds messages shared connections, and by how many they could have at most.
    shared: f64,
    shared_most: f64,
    /// `None`: nothing has been measured.
    slowness: Option<f64>,
    /// The same without messages that are [short](SHORT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    long_slowness: Option<f64>,
}

/// A message as predicted, and as measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Seconds of its bytes alone.
    pub(crate) alone: f64,
    /// Seconds in which its connections are occupied.
    pub(crate) occupied: f64,
    /// Measured seconds.
    pub(crate) took: f64,
}

impl Default for Lesson {
    /// Without measurements: a degree of one half, with the weight of one microsecond, and no slowness.
    fn default() -> Self {
        Self {
            shared: 0.5e-6,
            shared_most: 1e-6,
            slowness: None,
            long_slowness: None,
        }
    }
}

impl Lesson {
    fn degree(self) -> f64 {
        (self.shared / self.shared_most).clamp(0.0, 1.0)
    }

    /// Learns from the messages of one call, which weigh as much as those of all calls before.
    fn learn(&mut self, latency: f64, samples: &[Sample]) {
        let transfer = |sample: &Sample| (sample.took - latency).max(0.0);
        let excess = |sample: &Sample| (sample.occupied - sample.alone).max(0.0);
        let took: f64 = samples.iter().map(transfer).sum();
        let alone: f64 = samples.iter().map(|sample| sample.alone).sum();
        let most: f64 = samples.iter().map(excess).sum();
        if 0.0 < most {
            self.shared = self.shared / 2.0 + (took - alone).clamp(0.0, most);
            self.shared_most = self.shared_most / 2.0 + most;
        }
        let predicted = alone + self.degree() * most;
        let slowness = (took / predicted).clamp(1.0 / SLOWNESS_MAX, SLOWNESS_MAX);
        let learned = |before: Option<f64>| {
            let before = before.unwrap_or(slowness);
            Some(before + WEIGHT * (slowness - before))
        };
        // Of messages that are nearly empty the latency is all that counts.
        if NEGLIGIBLE * latency < predicted {
            self.slowness = learned(self.slowness);
        }
        // What delays short messages, such as many of them at the same instant, does not delay each byte of a long one.
        if SHORT * latency * count(samples.len()) < alone {
            self.long_slowness = learned(self.long_slowness);
        }
    }
}

impl Network {
    /// The `paths` from every Set to every Set, and `lessons` from the calls before.
    pub(crate) fn new(paths: &[Vec<Path>], lessons: &[Lesson]) -> Self {
        let sets = paths.len();
        let all = (0..sets).flat_map(|from| (0..sets).map(move |to| (from, to)));
        let path = |(from, to): (usize, usize)| paths[from].get(to).copied().unwrap_or_default();
        let lesson = |index| lessons.get(index).copied().unwrap_or_default();
        Self {
            sets,
            paths: all.map(path).collect(),
            lessons: (0..sets * sets).map(lesson).collect(),
        }
    }

    /// Learns from the messages between two Sets in the supersteps before this call.
    pub(crate) fn learn(&mut self, from: SetId, to: SetId, samples: &[Sample]) {
        let latency = self.latency(from, to);
        let index = self.index(from, to);
        self.lessons[index].learn(latency, samples);
    }

    /// What has been learned.
    pub(crate) fn lessons(&self) -> &[Lesson] {
        &self.lessons
    }

    /// Seconds that an empty message takes.
    #[must_use]
    pub fn latency(&self, from: SetId, to: SetId) -> f64 {
        self.paths[self.index(from, to)].latency.get().max(0.0)
    }

    /// Seconds that a byte of a message takes that shares its path with no other.
    #[must_use]
    pub fn per_byte(&self, from: SetId, to: SetId) -> f64 {
        non_negative(self.paths[self.index(from, to)].per_byte)
    }

    /// How many times as long as predicted messages have been measured to take, latency excluded.
    #[must_use]
    pub fn slowness(&self, from: SetId, to: SetId) -> f64 {
        self.lessons[self.index(from, to)].slowness.unwrap_or(1.0)
    }

    /// The same of long messages, such as images.
    pub(crate) fn long_slowness(&self, from: SetId, to: SetId) -> f64 {
        self.lessons[self.index(from, to)]
            .long_slowness
            .unwrap_or(1.0)
    }

    /// Seconds that a byte adds on the links that everything from one Set to another shares; `None`: as many as for a single
    /// message, or between hosts of one Set none.
    pub(crate) fn shared_per_byte(&self, from: SetId, to: SetId) -> Option<f64> {
        self.paths[self.index(from, to)]
            .shared_per_byte
            .map(non_negative)
    }

    /// From 0, each message has its path to itself, to 1, all share it.
    #[must_use]
    pub fn degree(&self, from: SetId, to: SetId) -> f64 {
        self.lessons[self.index(from, to)].degree()
    }

    /// Seconds that a message takes whose bytes alone take `alone` seconds, and whose connections are `occupied` for so
    /// long.
    pub(crate) fn message(&self, from: SetId, to: SetId, alone: f64, occupied: f64) -> f64 {
        let index = self.index(from, to);
        let lesson = self.lessons[index];
        let transfer = alone + lesson.degree() * (occupied - alone).max(0.0);
        self.paths[index].latency.get().max(0.0) + lesson.slowness.unwrap_or(1.0) * transfer
    }

    fn index(&self, from: SetId, to: SetId) -> usize {
        from.index() * self.sets + to.index()
    }
}

/// Weight of the newest call.
const WEIGHT: f64 = 0.5;

/// Bound of the slowness, and of its inverse.
const SLOWNESS_MAX: f64 = 32.0;

/// Bytes that take a smaller part of the latency say nothing about how fast bytes are.
const NEGLIGIBLE: f64 = 0.01;

/// The delay of messages whose bytes take a smaller part of the latency says nothing about images: it may be that of each message.
const SHORT: f64 = 0.1;

/// What a message takes from a host of one Set to one of another while nothing else is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Path {
    /// The time of an empty message.
    pub latency: Seconds,
    /// Seconds that each byte of a long message adds.
    pub per_byte: f64,
    /// Seconds that each byte adds for all messages together on the links that all of them cross, whatever their hosts are;
    /// `None`: that is not known, or it is as much as for a single message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_per_byte: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: SetId = SetId(0);

    /// What is learned of messages that take `took` seconds, where their bytes alone take `alone` and empty ones a millisecond.
    fn after(alone: f64, took: f64) -> Network {
        let path = Path {
            latency: Seconds::new(1e-3).unwrap(),
            per_byte: 1e-8,
            shared_per_byte: None,
        };
        let mut network = Network::new(&[vec![path]], &[]);
        let occupied = alone;
        let sample = Sample {
            alone,
            occupied,
            took,
        };
        network.learn(SET, SET, &[sample; 3]);
        network
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}");
    }

    #[test]
    fn what_delays_short_messages_is_not_said_of_long_ones() {
        let short = after(5e-5, 2e-3);
        close(short.slowness(SET, SET), 20.0);
        close(short.long_slowness(SET, SET), 1.0);
        let long = after(1e-2, 21e-3);
        close(long.slowness(SET, SET), 2.0);
        close(long.long_slowness(SET, SET), 2.0);
        let empty = after(1e-6, 1.1e-3);
        close(empty.slowness(SET, SET), 1.0);
    }
}
