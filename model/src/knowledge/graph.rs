//! The communication graph: which process sends how much to which other.

use bsp::units::{Bytes, Seconds};
use bsp::{Rank, SetId};
use serde::{Deserialize, Serialize};

use crate::bounded::non_negative;
use crate::{Host, Load};

/// What each process sends to each other in a superstep, as the processes of a snapshot have reported it.
///
/// A process reports its heaviest senders by rank; the others are known by the Set that they were in. Processes are
/// numbered as in the snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    outgoing: Adjacency,
    incoming: Adjacency,
    /// What is known by Set of the sender alone, by receiver.
    rest: Vec<Rest>,
}

/// What one process receives from, or sends to, another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// The other process.
    pub other: usize,
    /// Bytes in a superstep.
    pub bytes: f64,
    /// The mean time that a message took, in seconds.
    pub time: f64,
}

/// What a process receives from processes of a Set that it has not named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rest {
    pub(crate) to: usize,
    /// Where the senders run at present.
    pub(crate) set: SetId,
    pub(crate) bytes: f64,
}

/// Messages by process.
#[derive(Clone, Debug, Default, PartialEq)]
struct Adjacency {
    /// By process, and one more: where its messages begin.
    first: Vec<usize>,
    messages: Vec<Message>,
}

impl Graph {
    /// The graph of `processes`, in rank order, which run on the hosts `places`. Senders that are not among them, and
    /// a process itself, are left out.
    pub(crate) fn new(processes: &[Load], places: &[usize], hosts: &[Host]) -> Self {
        let number = |rank| {
            let found = processes.binary_search_by_key(&rank, |load: &Load| load.rank);
            found.ok()
        };
        let mut pairs = Vec::new();
        let mut rest = Vec::new();
        for (to, load) in processes.iter().enumerate() {
            let mut named: Vec<(SetId, f64)> = Vec::new();
            for edge in &load.edges {
                let Some(from) = number(edge.from) else {
                    continue;
                };
                let bytes = f64::from(edge.bytes);
                named.push((hosts[places[from]].set, bytes));
                if from != to {
                    let time = f64::from(edge.time) / f64::from(edge.messages).max(1.0);
                    pairs.push((from, to, bytes, non_negative(time)));
                }
            }
            for received in &load.received {
                let of_set = named.iter().filter(|(set, _)| *set == received.set);
                let bytes = received.bytes - of_set.map(|(_, bytes)| bytes).sum::<f64>();
                if REST_MIN * received.bytes < bytes {
                    rest.push(Rest {
                        to,
                        set: received.set,
                        bytes,
                    });
                }
            }
        }
        let size = processes.len();
        Self {
            outgoing: Adjacency::new(
                size,
                pairs.iter().map(|(from, to, b, t)| (*from, *to, *b, *t)),
            ),
            incoming: Adjacency::new(
                size,
                pairs.iter().map(|(from, to, b, t)| (*to, *from, *b, *t)),
            ),
            rest,
        }
    }

    /// The graph of as many processes in which each of `edges`, sender, receiver and bytes in a superstep, is one
    /// message. What a process sends to itself is left out.
    ///
    /// # Panics
    ///
    /// If an edge has a process that does not exist.
    pub(crate) fn of_bytes(processes: usize, edges: &[(usize, usize, f64)]) -> Self {
        let edges = edges.iter().filter(|(from, to, _)| from != to);
        let out = edges
            .clone()
            .map(|&(from, to, bytes)| (from, to, bytes, 0.0));
        let back = edges.map(|&(from, to, bytes)| (to, from, bytes, 0.0));
        Self {
            outgoing: Adjacency::new(processes, out),
            incoming: Adjacency::new(processes, back),
            rest: Vec::new(),
        }
    }

    /// What a process sends, by receiver.
    #[must_use]
    pub fn outgoing(&self, process: usize) -> &[Message] {
        self.outgoing.of(process)
    }

    /// What a process receives, by sender.
    #[must_use]
    pub fn incoming(&self, process: usize) -> &[Message] {
        self.incoming.of(process)
    }

    /// How many processes there are.
    pub(crate) fn processes(&self) -> usize {
        self.outgoing.first.len().saturating_sub(1)
    }

    /// How many processes send to another one, counted by pair.
    pub(crate) fn messages(&self) -> usize {
        self.outgoing.messages.len()
    }

    /// What is known by Set of the sender alone.
    pub(crate) fn rest(&self) -> &[Rest] {
        &self.rest
    }

    /// Every process that exchanges messages with `process`, some of them twice.
    pub(crate) fn neighbours(&self, process: usize) -> impl Iterator<Item = &Message> {
        self.outgoing(process).iter().chain(self.incoming(process))
    }
}

impl Adjacency {
    /// From the messages of `size` processes: whose it is, the other, bytes and time.
    fn new(size: usize, messages: impl Iterator<Item = (usize, usize, f64, f64)> + Clone) -> Self {
        let mut first = vec![0; size + 1];
        for (own, ..) in messages.clone() {
            first[own + 1] += 1;
        }
        for process in 0..size {
            first[process + 1] += first[process];
        }
        let mut next = first.clone();
        let none = Message {
            other: 0,
            bytes: 0.0,
            time: 0.0,
        };
        let mut all = vec![none; first[size]];
        for (own, other, bytes, time) in messages {
            all[next[own]] = Message { other, bytes, time };
            next[own] += 1;
        }
        Self {
            first,
            messages: all,
        }
    }

    fn of(&self, process: usize) -> &[Message] {
        &self.messages[self.first[process]..self.first[process + 1]]
    }
}

/// A smaller part of what comes from a Set is rounding.
const REST_MIN: f64 = 1e-3;

/// What one process received in a superstep from one other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incoming {
    /// The sender.
    pub from: Rank,
    /// How many messages.
    pub messages: u32,
    /// How many bytes, summed.
    pub bytes: Bytes,
    /// The time that the messages took, summed.
    pub time: Seconds,
}

/// What a process is predicted to receive in a superstep from one other: an edge of the communication graph.
///
/// Numbers are single-precision: an edge takes no more than 21 bytes in a message.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Edge {
    /// The sender.
    pub from: Rank,
    /// How many messages.
    pub messages: f32,
    /// How many bytes.
    pub bytes: f32,
    /// Seconds that the messages took, summed.
    pub time: f32,
}

/// From whom a process receives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbours(Vec<Edge>);

impl Neighbours {
    /// The most edges that a process reports; what others send is known by Set alone.
    pub const REPORTED: usize = 12;

    /// Observes the messages of a superstep: those of the heaviest senders, by rank. `old` is the weight of what was
    /// predicted before; the new measurement has the rest.
    pub(crate) fn observe(&mut self, old: f64, incoming: &[Incoming]) {
        for edge in &mut self.0 {
            let found = incoming.binary_search_by_key(&edge.from, |other| other.from);
            let found =
                found.map_or_else(|_| Edge::silent(edge.from), |at| Edge::of(&incoming[at]));
            edge.age(old, found);
        }
        for found in incoming {
            if let Err(at) = self.0.binary_search_by_key(&found.from, |edge| edge.from) {
                let mut edge = Edge::silent(found.from);
                edge.age(old, Edge::of(found));
                // Most processes have a few senders.
                self.0.reserve_exact(1);
                self.0.insert(at, edge);
            }
        }
        self.0.retain(|edge| 0.0 < edge.messages);
        keep_heaviest(&mut self.0, KEPT, |edge| edge.bytes, |edge| edge.from);
    }

    /// The heaviest edges, by rank of the sender.
    pub(crate) fn heaviest(&self) -> Vec<Edge> {
        let mut edges = self.0.clone();
        keep_heaviest(
            &mut edges,
            Self::REPORTED,
            |edge| edge.bytes,
            |edge| edge.from,
        );
        edges
    }
}

impl Incoming {
    /// The messages of one superstep in any order as one entry per sender, by rank; only those of the heaviest senders
    /// are kept.
    pub fn combine(messages: &mut Vec<Self>) {
        // Stable: the times of one sender are summed in the order of arrival.
        messages.sort_by_key(|message| message.from);
        messages.dedup_by(|next, first| {
            let is_same = next.from == first.from;
            if is_same {
                first.messages = first.messages.saturating_add(next.messages);
                first.bytes = Bytes(first.bytes.0.saturating_add(next.bytes.0));
                first.time += next.time;
            }
            is_same
        });
        keep_heaviest(
            messages,
            KEPT,
            |message| message.bytes,
            |message| message.from,
        );
    }

    /// Entries after which a list of messages is [combined](Self::combine), so that it stays short.
    pub const COMBINED_AT: usize = 4 * KEPT;
}

impl Edge {
    const fn silent(from: Rank) -> Self {
        Self {
            from,
            messages: 0.0,
            bytes: 0.0,
            time: 0.0,
        }
    }

    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a prediction may be rounded"
    )]
    fn of(incoming: &Incoming) -> Self {
        Self {
            from: incoming.from,
            messages: incoming.messages as f32,
            bytes: incoming.bytes.0 as f32,
            time: incoming.time.get() as f32,
        }
    }

    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "a prediction may be rounded"
    )]
    fn age(&mut self, old: f64, found: Self) {
        let aged = |before: f32, now: f32| {
            let aged = (old * f64::from(before) + (1.0 - old) * f64::from(now)) as f32;
            if aged < NEGLIGIBLE { 0.0 } else { aged }
        };
        self.messages = aged(self.messages, found.messages);
        self.bytes = aged(self.bytes, found.bytes);
        self.time = aged(self.time, found.time);
    }

    /// The same with finite numbers that are not negative.
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "a number that was single-precision before"
    )]
    pub(crate) fn sound(self) -> Self {
        let sound = |value: f32| non_negative(value.into()) as f32;
        Self {
            from: self.from,
            messages: sound(self.messages),
            bytes: sound(self.bytes),
            time: sound(self.time),
        }
    }
}

/// Keeps the `number` entries that weigh most, of equal ones those of the lowest ranks; by rank.
fn keep_heaviest<T, W: PartialOrd>(
    entries: &mut Vec<T>,
    number: usize,
    weight: impl Fn(&T) -> W,
    rank: impl Fn(&T) -> Rank,
) {
    if entries.len() <= number {
        return;
    }
    // Stable, so that of equal weights the lowest ranks are kept.
    entries.sort_by(|one, other| {
        let order = weight(other).partial_cmp(&weight(one));
        order.unwrap_or(std::cmp::Ordering::Equal)
    });
    entries.truncate(number);
    entries.sort_by_key(rank);
}

/// The most senders that a process remembers.
const KEPT: usize = 16;

/// A prediction below this is zero.
const NEGLIGIBLE: f32 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming(from: u32, bytes: u64) -> Incoming {
        Incoming {
            from: Rank(from),
            messages: 1,
            bytes: Bytes(bytes),
            time: Seconds::new(0.5).unwrap(),
        }
    }

    fn bytes(neighbours: &Neighbours) -> Vec<(u32, f32)> {
        let edges = neighbours.heaviest();
        edges.iter().map(|edge| (edge.from.0, edge.bytes)).collect()
    }

    #[test]
    fn messages_of_one_sender_are_one_entry() {
        let mut messages = vec![incoming(3, 10), incoming(1, 5), incoming(3, 20)];
        Incoming::combine(&mut messages);
        let found = messages.iter();
        let found = found.map(|one| (one.from.0, one.messages, one.bytes.0));
        assert_eq!(found.collect::<Vec<_>>(), [(1, 1, 5), (3, 2, 30)]);
        assert!((messages[1].time.get() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn only_the_heaviest_senders_are_kept_and_the_lowest_ranks_among_equals() {
        let mut messages: Vec<_> = (0..1000)
            .map(|from| incoming(from, u64::from(from == 700)))
            .collect();
        Incoming::combine(&mut messages);
        let ranks: Vec<u32> = messages.iter().map(|one| one.from.0).collect();
        let expected: Vec<u32> = (0..15).chain([700]).collect();
        assert_eq!(ranks, expected);
    }

    #[test]
    fn edges_follow_what_is_received_and_vanish_after_a_while() {
        let mut neighbours = Neighbours::default();
        neighbours.observe(0.0, &[incoming(2, 100), incoming(5, 40)]);
        assert_eq!(bytes(&neighbours), [(2, 100.0), (5, 40.0)]);
        neighbours.observe(0.5, &[incoming(2, 200), incoming(9, 40)]);
        assert_eq!(bytes(&neighbours), [(2, 150.0), (5, 20.0), (9, 20.0)]);
        for _ in 0..60 {
            neighbours.observe(0.5, &[incoming(2, 200)]);
        }
        assert_eq!(bytes(&neighbours), [(2, 200.0)]);
        neighbours.observe(0.0, &[]);
        assert_eq!(bytes(&neighbours), []);
    }

    #[test]
    fn a_process_that_receives_from_all_reports_no_more_than_others() {
        let mut neighbours = Neighbours::default();
        for superstep in 0..20 {
            let mut all: Vec<_> = (0..10_000)
                .map(|from| incoming(from, u64::from(from + superstep)))
                .collect();
            Incoming::combine(&mut all);
            neighbours.observe(0.5, &all);
        }
        assert_eq!(neighbours.heaviest().len(), Neighbours::REPORTED);
        assert!(neighbours.0.len() <= KEPT);
    }

    #[test]
    fn numbers_of_a_peer_are_finite_and_not_negative() {
        let edge = Edge {
            from: Rank(1),
            messages: f32::NAN,
            bytes: f32::INFINITY,
            time: -1.0,
        };
        assert_eq!(edge.sound(), Edge::silent(Rank(1)));
    }
}
