//! A superstep in progress.

use std::collections::{BTreeMap, BTreeSet};

use agents::mutant::Mutant;
use agents::{Content, Exchange, Incoming, mutant};
use bsp::units::{Bytes, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::Reception;
use protocol::MessageHeader;

/// A superstep in progress on a node.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) superstep: u64,
    /// Processes here that take part.
    pub(super) residents: BTreeSet<Rank>,
    /// The messages sent by each process that has computed, and their bytes.
    pub(super) sent: BTreeMap<Rank, (u32, Bytes)>,
    /// Whether the batches for other nodes have been sent.
    pub(super) has_left: bool,
    /// Nodes whose last batch is still to arrive.
    pub(super) awaited: BTreeSet<HostId>,
    /// Nodes that have a batch to acknowledge.
    pub(super) unacknowledged: BTreeSet<HostId>,
    /// Messages for processes here, with their receivers.
    pub(super) incoming: Vec<(Rank, Incoming)>,
    /// Messages for processes elsewhere, by host.
    pub(super) outgoing: BTreeMap<HostId, Vec<(MessageHeader, Content)>>,
    received: BTreeMap<Rank, Received>,
}

/// The messages that a process received, counted.
#[derive(Debug, Default)]
struct Received {
    count: u32,
    longest: Seconds,
    /// Bytes and times in transfer, by Set of the sender.
    by_set: BTreeMap<SetId, (u64, f64)>,
    /// By sender.
    by_sender: Vec<migbsp::Incoming>,
}

impl Round {
    /// `superstep`, in which `residents` take part here and batches of `awaited` are expected.
    pub(super) const fn new(
        superstep: u64,
        residents: BTreeSet<Rank>,
        awaited: BTreeSet<HostId>,
    ) -> Self {
        Self {
            superstep,
            residents,
            sent: BTreeMap::new(),
            has_left: false,
            awaited,
            unacknowledged: BTreeSet::new(),
            incoming: Vec::new(),
            outgoing: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    /// Counts a message of `bytes` bytes from the process `from`, which counts for `set`, to `to`. Of the time of its batch,
    /// which `arrival` is, `part` counts for this message.
    pub(super) fn count(
        &mut self,
        (from, set): (Rank, SetId),
        to: Rank,
        bytes: u64,
        (part, arrival): (Seconds, Seconds),
    ) {
        let received = self.received.entry(to).or_default();
        received.count = received.count.saturating_add(1);
        let (all, time) = received.by_set.entry(set).or_default();
        // A message without a value may be of any length.
        *all = all.saturating_add(bytes);
        *time += part.get();
        if received.by_sender.len() == migbsp::Incoming::COMBINED_AT {
            migbsp::Incoming::combine(&mut received.by_sender);
        }
        received.by_sender.push(migbsp::Incoming {
            from,
            messages: 1,
            bytes: Bytes(bytes),
            time: arrival,
        });
    }

    /// Notes the time that a batch with a message to `to` took.
    pub(super) fn lengthen(&mut self, to: Rank, took: Seconds) {
        let received = self.received.entry(to).or_default();
        received.longest = received.longest.max(took);
    }

    /// Whether all processes here have computed.
    pub(super) fn has_computed(&self) -> bool {
        self.sent.len() == self.residents.len()
    }

    /// Whether the processes here may pass the barrier.
    pub(super) fn is_complete(&self) -> bool {
        let is_acknowledged =
            self.unacknowledged.is_empty() || mutant::is(Mutant::ArriveUnacknowledged);
        self.awaited.is_empty() && is_acknowledged && self.has_computed()
    }

    /// What each process here exchanged, by rank.
    pub(super) fn exchanges(self) -> Vec<(Rank, Exchange)> {
        let mut received = self.received;
        let exchanged = self.sent.into_iter().map(|(rank, (sent, bytes_sent))| {
            let mut received = received.remove(&rank).unwrap_or_default();
            migbsp::Incoming::combine(&mut received.by_sender);
            let exchange = Exchange {
                sent,
                received: received.count,
                bytes_sent,
                bytes_received: received.bytes(),
                longest: received.longest,
                receptions: received.receptions().collect(),
                incoming: received.by_sender,
            };
            (rank, exchange)
        });
        exchanged.collect()
    }
}

impl Received {
    fn bytes(&self) -> Bytes {
        self.by_set.values().map(|(bytes, _)| Bytes(*bytes)).sum()
    }

    fn receptions(&self) -> impl Iterator<Item = Reception> + '_ {
        self.by_set.iter().map(|(set, (bytes, time))| Reception {
            set: *set,
            bytes: Bytes(*bytes),
            time: Seconds::new(*time).expect("a sum of times"),
        })
    }
}
