//! The time that messages occupy the hosts at their two ends.

use bsp::SetId;
use bsp::units::Seconds;

/// Time that one message occupies the hosts at its two ends (`o` of `LogGP`); each host processes one
/// message at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// Time the sending host is occupied.
    pub send: Seconds,
    /// Time the receiving host is occupied.
    pub receive: Seconds,
}

/// Overheads by Set, and of the pairs of Sets that have their own.
#[derive(Debug, Default)]
pub(super) struct Overheads {
    /// The overhead of each Set's hosts; empty if no host has any.
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
