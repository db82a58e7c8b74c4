//! When the messages of a central barrier may start.

use std::collections::VecDeque;
use std::sync::Arc;

use bsp::Rank;
use smallvec::SmallVec;

use super::barrier_message::BarrierMessage;
use crate::setup::{Collection, Rules, Shape, TransferStart};

/// When the messages of a central barrier may start.
///
/// Reports of processes wait until the first Manager listens, if it receives by rendezvous or by rank. If it answers by
/// rank, each answer starts when the one before has arrived.
pub(super) struct Rendezvous {
    start: TransferStart,
    rules: Arc<Rules>,
    /// The first Manager listens for supersteps below this one, to this process or to all.
    listening: (u64, Option<Rank>),
    /// The numbers of waiting messages plus one, by rank; 0 for none: at most one of each process. Empty until one
    /// waits.
    waiting: Vec<u32>,
    count: usize,
    /// The answers that are still to be sent; the one on the network is in front.
    releases: VecDeque<u32>,
}

impl Rendezvous {
    /// No message waits.
    pub(super) fn new(start: TransferStart, rules: Arc<Rules>) -> Self {
        Self {
            start,
            rules,
            listening: (0, None),
            waiting: Vec::new(),
            count: 0,
            releases: VecDeque::new(),
        }
    }

    /// Whether a message is an answer of a Manager that answers by rank.
    pub(super) fn is_release(&self, message: BarrierMessage) -> bool {
        self.rules.barrier.collection == Collection::ByRank
            && self.rules.barrier.shape == Shape::Central
            && matches!(
                message,
                BarrierMessage::Start(_) | BarrierMessage::Finish(_)
            )
    }

    /// Queues an answer; whether it may start immediately.
    pub(super) fn release(&mut self, number: u32) -> bool {
        self.releases.push_back(number);
        self.releases.len() == 1
    }

    /// An answer has arrived; the next one, which may start.
    pub(super) fn released(&mut self) -> Option<u32> {
        self.releases.pop_front();
        self.releases.front().copied()
    }

    /// Whether a message of the barrier that ends superstep `ending` may start now.
    pub(super) fn may_start(&self, message: BarrierMessage, ending: u64) -> bool {
        let BarrierMessage::Arrived(from) = message else {
            return true;
        };
        let waits = self.start == TransferStart::Rendezvous
            || self.rules.barrier.collection == Collection::ByRank;
        if !waits || self.rules.barrier.shape != Shape::Central {
            return true;
        }
        let (superstep, to) = self.listening;
        ending < superstep && to.is_none_or(|rank| from == rank)
    }

    /// Keeps the message of `rank` until the first Manager listens.
    pub(super) fn hold(&mut self, rank: Rank, number: u32) {
        if self.waiting.is_empty() {
            self.waiting.resize(self.rules.placement.len(), 0);
        }
        let kept = std::mem::replace(&mut self.waiting[rank.index()], number + 1);
        assert_eq!(kept, 0, "{rank} has arrived once");
        self.count += 1;
    }

    /// The first Manager listens to the messages of `superstep`, to that of one process or to all; the held messages
    /// of these processes, by rank, are to be tried again.
    pub(super) fn listen(&mut self, superstep: u64, to: Option<Rank>) -> SmallVec<[u32; 1]> {
        self.listening = (superstep + 1, to);
        match to {
            Some(rank) => self.remove(rank).into_iter().collect(),
            None if self.count == 0 => SmallVec::new(),
            None => {
                let ranks = (0..self.waiting.len()).map(Rank::from_index);
                ranks.filter_map(|rank| self.remove(rank)).collect()
            }
        }
    }

    fn remove(&mut self, rank: Rank) -> Option<u32> {
        let kept = std::mem::take(self.waiting.get_mut(rank.index())?);
        let number = kept.checked_sub(1)?;
        self.count -= 1;
        Some(number)
    }
}
