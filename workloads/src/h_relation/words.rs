//! The words of an h-relation: how they are dealt to receivers, and their check.

use bsp::Rank;
use serde::{Deserialize, Serialize};

/// The words that a process sends another one in a superstep. They are encoded as eight bytes each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Words {
    #[serde(with = "crate::cells")]
    words: Vec<f64>,
}

impl Words {
    /// `count` words in which sender, superstep and position are encoded.
    pub(super) fn new(count: u64, sender: u32, superstep: u64) -> Self {
        let first = first(sender, superstep);
        let words = (0..count).map(|index| f64::from_bits(first + index));
        Self {
            words: words.collect(),
        }
    }

    /// Whether these are [`Words::new`] of the same arguments, as far as their number and their sum say.
    fn is(&self, count: u64, sender: u32, superstep: u64) -> bool {
        let bits = self.words.iter().map(|word| word.to_bits());
        let sum = bits.fold(0, u64::wrapping_add);
        // The sum of 0..count.
        let order = count * count.saturating_sub(1) / 2;
        let expected = first(sender, superstep)
            .wrapping_mul(count)
            .wrapping_add(order);
        u64::try_from(self.words.len()) == Ok(count) && sum == expected
    }
}

/// The bits of the first word: a number from 1 to 2.
fn first(sender: u32, superstep: u64) -> u64 {
    let tag = u64::from(sender)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(superstep.wrapping_mul(0xd1b5_4a32_d192_ed03));
    // 26 bits of the tag, above 24 for the order.
    ONE | (tag >> 38 << 24)
}

/// The receivers of the `h` words of process `own` of `processes`, and how many each of them gets. Word k goes to the
/// process k modulo (`processes` − 1) ranks after the next one.
pub(super) fn dealt(
    h: u64,
    [own, processes]: [u32; 2],
) -> impl Iterator<Item = (Rank, u64)> + use<> {
    let others = u64::from(processes - 1).max(1);
    // Of a process alone, the next one is itself.
    let receivers = (0..others.min(h)).map(move |turn| {
        let to = (u64::from(own) + 1 + turn) % u64::from(processes);
        let count = h / others + u64::from(turn < h % others);
        (u32::try_from(to).expect("a remainder of 32 bits"), count)
    });
    receivers.map(|(to, count)| (Rank(to), count))
}

/// Checks what process `own` of `processes` has received of superstep `superstep`, in which all sent `h` words.
/// Returns the number of words.
///
/// # Errors
///
/// If messages are missing or words are not as they were sent.
pub(super) fn check(
    h: u64,
    [own, processes]: [u32; 2],
    superstep: u64,
    received: &[(Rank, Words)],
) -> Result<u64, String> {
    let mut senders = received.iter();
    for sender in 0..processes {
        let Some(count) = sent(h, [sender, own], processes) else {
            continue;
        };
        let problem = match senders.next() {
            Some((from, words)) if from.0 == sender && words.is(count, sender, superstep) => {
                continue;
            }
            Some((from, words)) => format!("{} from {from} are there", words.words.len()),
            None => "none are there".to_owned(),
        };
        let sender = Rank(sender);
        return Err(format!(
            "the {count} words that {sender} sent in superstep {superstep} did not arrive as they were: {problem}"
        ));
    }
    match senders.next() {
        None => Ok(h),
        Some((from, _)) => Err(format!(
            "words of {from} arrived that it did not send in superstep {superstep}"
        )),
    }
}

/// How many of the `h` words of `from` go to `to`, if any.
fn sent(h: u64, [from, to]: [u32; 2], processes: u32) -> Option<u64> {
    let others = u64::from(processes - 1).max(1);
    let turn = (u64::from(to) + u64::from(processes) - u64::from(from) + u64::from(processes) - 1)
        % u64::from(processes);
    let count = h / others + u64::from(turn < h % others);
    (turn < others && 0 < count).then_some(count)
}

/// The bits of 1.0.
const ONE: u64 = 0x3ff0_0000_0000_0000;
