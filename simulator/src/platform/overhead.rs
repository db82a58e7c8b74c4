//! The time that messages occupy the hosts at their two ends.

use bsp::SetId;
use bsp::units::Seconds;

/// What one message costs the hosts at its two ends, one message at a time (`o` of `LogGP`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Time the sending host is occupied.
    pub send: Seconds,
    /// Time the receiving host is occupied.
    pub receive: Seconds,
}

/// Overheads by Set, and of pairs of Sets that differ.
#[derive(Debug, Default)]
pub(super) struct Overheads {
    /// What each Set's hosts spend; empty if nobody spends anything.
    pub(super) sets: Vec<Overhead>,
    /// Ascending by pair, sender first.
    pub(super) pairs: Vec<((SetId, SetId), Overhead)>,
}

impl Overheads {
    /// The overhead of a message from a host of one Set to a host of another.
    pub(super) fn between(&self, from: SetId, to: SetId) -> Overhead {
        if self.sets.is_empty() {
            return Overhead::default();
        }
        match self
            .pairs
            .binary_search_by_key(&(from, to), |(pair, _)| *pair)
        {
            Ok(pair) => self.pairs[pair].1,
            Err(_) => Overhead {
                send: self.sets[from.index()].send,
                receive: self.sets[to.index()].receive,
            },
        }
    }
}
