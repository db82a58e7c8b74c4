//! The output of a process of a model.

use bsp::units::{Bytes, Instructions};
use bsp::{Rank, Step, Superstep};
use serde::{Deserialize, Serialize};

/// What one process did and received, all supersteps together.
///
/// Messages of the last superstep are not received and not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Supersteps executed.
    pub supersteps: u64,
    /// Computation charged.
    pub work: Instructions,
    /// Data received.
    pub received: Bytes,
    /// Messages received.
    pub messages: u64,
    /// Fingerprint of (superstep, sender, bytes) of every message in the order received.
    ///
    /// Each message changes it by a bijection that depends on the message, so one that is lost,
    /// doubled, delayed or exchanged with another leaves a different value, but for chance (2⁻⁶⁴).
    pub digest: u64,
}

impl Tally {
    /// Charges `work` and counts it, together with what this superstep received.
    pub(crate) fn superstep(&mut self, ctx: &mut Superstep<'_, ()>, work: Instructions) {
        let index = ctx.index();
        for &(sender, bytes) in ctx.receive_sized() {
            self.receive(index, sender, bytes);
        }
        ctx.charge(work);
        self.work += work;
        self.supersteps += 1;
    }

    /// The end of a superstep of a process that halts after `supersteps`.
    pub(crate) const fn step(self, supersteps: u64) -> Step<Self> {
        if self.supersteps < supersteps {
            Step::Continue
        } else {
            Step::Halt(self)
        }
    }

    fn receive(&mut self, superstep: u64, sender: Rank, bytes: Bytes) {
        self.received += bytes;
        self.messages += 1;
        for word in [superstep, u64::from(sender.0), bytes.0] {
            self.digest = (self.digest.rotate_left(29) ^ word).wrapping_mul(PRIME);
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            supersteps: 0,
            work: Instructions::ZERO,
            received: Bytes::ZERO,
            messages: 0,
            digest: BASIS,
        }
    }
}

/// Offset basis of the 64-bit FNV hash.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Odd, so that multiplying by it loses nothing; 2⁶⁴ over the golden ratio, to spread every bit.
const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(messages: &[(u64, u32, u64)]) -> u64 {
        let mut tally = Tally::default();
        for &(superstep, sender, bytes) in messages {
            tally.receive(superstep, Rank(sender), Bytes(bytes));
        }
        tally.digest
    }

    #[test]
    fn a_lost_doubled_delayed_altered_or_reordered_message_changes_the_digest() {
        let [a, b, c] = [(1, 3, 100), (1, 4, 100), (2, 3, 100)];
        let all = [
            digest(&[a, b, c]),
            digest(&[]),
            digest(&[a, b]),
            digest(&[b, c]),
            digest(&[a, a, b, c]),
            digest(&[b, a, c]),
            digest(&[a, b, (3, 3, 100)]),
            digest(&[a, b, (2, 3, 101)]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "case {index} collides");
        }
    }
}
