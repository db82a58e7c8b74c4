//! Which nodes expect a batch of which, and which batches are to be acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use bsp::HostId;
use protocol::Batch;

/// Which nodes expect a batch of this one, of which nodes this one expects a batch, and the batches that it has not
/// acknowledged yet.
#[derive(Debug)]
pub(super) struct Expectations {
    /// Nodes that expect a batch of this one in every superstep, and the number of the last ones in a row that were
    /// empty.
    by_others: BTreeMap<HostId, u32>,
    /// Nodes of which this one expects a batch in every superstep in which processes run there.
    of_others: BTreeSet<HostId>,
    /// Received batches whose senders wait for an acknowledgement.
    unacknowledged: Vec<Unacknowledged>,
}

/// A received batch whose sender waits for an acknowledgement.
#[derive(Debug)]
struct Unacknowledged {
    host: HostId,
    superstep: u64,
    /// Whether it announces halted processes: this node sends them its own messages first.
    has_halted: bool,
}

/// The attributes of a batch that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Whether the receiver is to acknowledge it.
    pub(super) is_acknowledged: bool,
    /// Whether the receiver is to expect one in the next superstep.
    pub(super) is_followed: bool,
}

impl Expectations {
    /// At the start, every node of `others` expects a batch, and one is expected of it.
    pub(super) fn new(others: impl Iterator<Item = HostId> + Clone) -> Self {
        Self {
            by_others: others.clone().map(|host| (host, 0)).collect(),
            of_others: others.collect(),
            unacknowledged: Vec::new(),
        }
    }

    /// Decides whether a batch is sent to `host`: it has messages, announces halted processes, or is expected there.
    pub(super) fn send(
        &mut self,
        host: HostId,
        has_messages: bool,
        has_halted: bool,
    ) -> Option<Sending> {
        let empty = self.by_others.remove(&host);
        if !has_messages && !has_halted && empty.is_none() {
            return None;
        }
        // A host without processes waits for no batch, but must know the halted processes before processes arrive.
        let is_acknowledged = empty.is_none() || has_halted;
        let empty = match empty {
            _ if has_messages => Some(0),
            None => None,
            Some(before) => Some(before + 1).filter(|empty| *empty < PATIENCE),
        };
        self.by_others.extend(empty.map(|empty| (host, empty)));
        Some(Sending {
            is_acknowledged,
            is_followed: empty.is_some(),
        })
    }

    /// Notes the last batch of a superstep from `host`.
    pub(super) fn receive(&mut self, host: HostId, batch: &Batch) {
        let was_expected = self.of_others.remove(&host);
        let has_halted = !batch.halted.is_empty();
        if !was_expected || has_halted {
            self.unacknowledged.push(Unacknowledged {
                host,
                superstep: batch.superstep,
                has_halted,
            });
        }
        if batch.is_followed {
            self.of_others.insert(host);
        }
    }

    /// Removes the batches that can be acknowledged: those that announce halted processes only if `has_left` says that
    /// what this node sends in their superstep has left.
    pub(super) fn acknowledge(&mut self, has_left: impl Fn(u64) -> bool) -> Vec<(HostId, u64)> {
        let is_due = |batch: &mut Unacknowledged| !batch.has_halted || has_left(batch.superstep);
        let due = self.unacknowledged.extract_if(.., is_due);
        due.map(|batch| (batch.host, batch.superstep)).collect()
    }

    /// Whether a batch of `host` is expected in every superstep.
    pub(super) fn expects(&self, host: HostId) -> bool {
        self.of_others.contains(&host)
    }
}

/// Empty batches in a row after which none is expected: the next one that is sent costs an acknowledgement.
pub(super) const PATIENCE: u32 = 8;
