//! What the processes do in a superstep.

use std::ops::Range;

use bsp::numbers::index;
use bsp::units::{Bytes, Instructions};
use bsp::{Interaction, Rank};

/// What the processes did in a superstep, by rank: known before simulated time passes for it, because
/// when the first process starts a superstep, all inboxes are complete.
#[derive(Clone, Debug, Default)]
pub struct SuperstepPlan {
    /// Computation charged.
    pub work: Vec<Instructions>,
    /// Whether it was the last superstep of the process.
    pub halts: Vec<bool>,
    /// How many messages are addressed to the process.
    pub expected: Vec<u32>,
    /// The receivers of messages, in the order sent, by sender.
    pub receivers: Vec<Rank>,
    /// Their sizes.
    pub sizes: Vec<Bytes>,
    /// Their senders.
    pub senders: Vec<Rank>,
    /// Where the messages of each process begin among them, and where the last one's end.
    pub first_send: Vec<u32>,
    /// The interaction of a task farm that is complete.
    pub interaction: Option<Interaction>,
}

/// What repeats if a superstep does: a plan of a superstep in which no process halts.
#[derive(Debug, Default)]
pub struct RepeatedPlan {
    work: Vec<Instructions>,
    receivers: Vec<Rank>,
    sizes: Vec<Bytes>,
    first_send: Vec<u32>,
}

impl SuperstepPlan {
    /// Begins the plan of another superstep of `size` processes. The messages of the superstep before are kept until
    /// all programs have been executed.
    pub(super) fn begin(&mut self, size: usize) {
        self.work.clear();
        self.work.resize(size, Instructions::ZERO);
        self.halts.clear();
        self.halts.resize(size, false);
        self.first_send.clear();
        self.interaction = None;
    }

    /// Removes the messages of the superstep before, to add `count` others.
    pub(super) fn begin_messages(&mut self, count: usize) {
        self.expected.clear();
        self.expected.resize(self.work.len(), 0);
        self.receivers.clear();
        self.receivers.reserve_exact(count);
        self.sizes.clear();
        self.sizes.reserve_exact(count);
        self.senders.clear();
        self.senders.reserve_exact(count);
        for (from, end) in (0..self.work.len()).zip(&self.first_send[1..]) {
            self.senders.resize(index(*end), Rank::from_index(from));
        }
    }

    /// The numbers of the messages that `rank` sends.
    #[inline]
    pub fn sends_of(&self, rank: Rank) -> Range<u32> {
        self.first_send[rank.index()]..self.first_send[rank.index() + 1]
    }

    /// Sender, receiver and size of a message.
    #[inline]
    pub fn message(&self, number: u32) -> (Rank, Rank, Bytes) {
        let at = index(number);
        (self.senders[at], self.receivers[at], self.sizes[at])
    }

    /// Bytes of the messages that `rank` sends.
    pub fn bytes_sent(&self, rank: Rank) -> Bytes {
        let sends = self.sends_of(rank);
        let sizes = &self.sizes[index(sends.start)..index(sends.end)];
        sizes.iter().copied().sum()
    }

    /// Whether it is the last superstep of a process.
    pub fn has_halts(&self) -> bool {
        self.halts.contains(&true)
    }

    /// What repeats if the processes do the same again.
    ///
    /// # Panics
    ///
    /// If a process halts.
    pub fn repeated(&self) -> RepeatedPlan {
        assert!(!self.has_halts(), "a process halts once");
        RepeatedPlan {
            work: self.work.clone(),
            receivers: self.receivers.clone(),
            sizes: self.sizes.clone(),
            first_send: self.first_send.clone(),
        }
    }
}

impl RepeatedPlan {
    /// Whether the processes do in the superstep of `plan`, in which none halts, what they did in this one.
    pub fn equals(&self, plan: &SuperstepPlan) -> bool {
        self.work == plan.work
            && self.receivers == plan.receivers
            && self.sizes == plan.sizes
            && self.first_send == plan.first_send
    }

    /// The number of its processes and messages.
    pub fn size(&self) -> usize {
        self.work.len() + self.receivers.len()
    }
}
