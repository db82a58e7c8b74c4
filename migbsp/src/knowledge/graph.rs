//! The communication graph: which process sends how much to which other.

use bsp::SetId;

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
