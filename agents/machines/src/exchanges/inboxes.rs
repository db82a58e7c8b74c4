//! The messages that processes receive in the next superstep.

use std::collections::BTreeMap;

use agents::Incoming;
use bsp::Rank;

/// The messages that processes of a node receive in the next superstep, ordered by sender.
#[derive(Debug, Default)]
pub(super) struct Inboxes(BTreeMap<Rank, Vec<Incoming>>);

impl Inboxes {
    /// Removes the messages for `rank`, which executes its superstep or leaves.
    pub(super) fn remove(&mut self, rank: Rank) -> Vec<Incoming> {
        self.0.remove(&rank).unwrap_or_default()
    }

    /// The messages that a process brings along.
    pub(super) fn insert(&mut self, rank: Rank, inbox: Vec<Incoming>) {
        self.0.insert(rank, inbox);
    }

    /// Adds the messages of a complete superstep, each with its receiver; those of one sender are in the order sent.
    pub(super) fn extend(&mut self, mut incoming: Vec<(Rank, Incoming)>) {
        // Stable: the messages of one sender keep their order.
        incoming.sort_by_key(|(to, incoming)| (*to, incoming.from));
        for (to, incoming) in incoming {
            self.0.entry(to).or_default().push(incoming);
        }
    }

    /// Adds a message that arrived after its superstep was complete.
    pub(super) fn insert_late(&mut self, to: Rank, incoming: Incoming) {
        let inbox = self.0.entry(to).or_default();
        // The messages of one sender stay together: those of higher ranks follow.
        let place = inbox.partition_point(|other| other.from <= incoming.from);
        inbox.insert(place, incoming);
    }

    /// The messages for `rank`.
    pub(super) fn get(&self, rank: Rank) -> &[Incoming] {
        self.0.get(&rank).map_or(&[], Vec::as_slice)
    }

    /// The processes that have messages.
    pub(super) fn ranks(&self) -> impl Iterator<Item = Rank> {
        self.0.keys().copied()
    }
}
