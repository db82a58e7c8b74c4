//! Events at one instant.

use std::collections::VecDeque;

use agents::Delivery;
use bsp::Rank;

use super::barrier_message::BarrierMessage;

/// Events at this instant, in the order in which they came.
///
/// There may be two for each process at a time. The world can make most of them from what it knows, so these take a few
/// bytes each.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    entries: VecDeque<Entry>,
    /// The events of the entries that say nothing.
    others: VecDeque<Delivery>,
}

/// An event that an agent handles next.
#[derive(Debug)]
pub(super) enum Due {
    /// A process has computed.
    Computed(Rank),
    /// A process has exchanged its messages.
    Exchanged(Rank),
    /// A message of a barrier is received.
    Barrier(BarrierMessage),
    /// Any other event.
    Other(Delivery),
}

#[derive(Debug)]
enum Entry {
    Computed(Rank),
    Exchanged(Rank),
    Barrier(BarrierMessage),
    /// The first of the others.
    Other,
}

impl Deliveries {
    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, due: Due) {
        self.entries.push_back(match due {
            Due::Computed(rank) => Entry::Computed(rank),
            Due::Exchanged(rank) => Entry::Exchanged(rank),
            Due::Barrier(message) => Entry::Barrier(message),
            Due::Other(delivery) => {
                self.others.push_back(delivery);
                Entry::Other
            }
        });
    }

    /// Removes the first event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Due> {
        Some(match self.entries.pop_front()? {
            Entry::Computed(rank) => Due::Computed(rank),
            Entry::Exchanged(rank) => Due::Exchanged(rank),
            Entry::Barrier(message) => Due::Barrier(message),
            Entry::Other => {
                let delivery = self.others.pop_front();
                Due::Other(delivery.expect("each such entry has an event"))
            }
        })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
