//! Repetitions in a text, found by chains of positions with the same beginning.

use bsp::numbers::index;
use serde::{Deserialize, Serialize};

use super::bits::Found;

/// The part of a text that copies may come from and the part that is not compressed yet, with the positions of
/// beginnings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Matches {
    bytes: Vec<u8>,
    /// The position in `bytes` that is next.
    next: usize,
    /// The position in the text of the first of `bytes`.
    offset: u32,
    /// The last position in the text of each beginning, by its hash, and the one before of each position, modulo the
    /// window; one more than the position, or zero.
    last: Vec<u32>,
    before: Vec<u32>,
}

impl Default for Matches {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            next: 0,
            offset: 0,
            last: vec![0; HASHES],
            before: vec![0; WINDOW],
        }
    }
}

impl Matches {
    /// The number of bytes that are not compressed yet.
    pub(super) const fn ahead(&self) -> usize {
        self.bytes.len() - self.next
    }

    /// Goes on with the text. Bytes that no copy can come from any more are dropped.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if 2 * WINDOW < self.next {
            let dropped = self.next - WINDOW;
            self.bytes.drain(..dropped);
            self.next -= dropped;
            self.offset += position(dropped);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What the text goes on with: the longest copy among the last positions with the same beginning, or a byte. Also
    /// returns how many bytes were compared. There must be a byte.
    pub(super) fn next(&mut self) -> (Found, u64) {
        let (mut best, mut compared) = ((0, 0), 1);
        let mut candidate = self.hash(self.next).map_or(0, |hash| self.last[hash]);
        for _ in 0..CHAIN {
            let Some(start) = self.start(candidate) else {
                break;
            };
            let length = self.common(start);
            compared += position(length) + 1;
            if best.0 < length {
                best = (length, self.next - start);
            }
            let earlier = self.before[slot(candidate)];
            if candidate <= earlier {
                break;
            }
            candidate = earlier;
        }
        let (length, distance) = best;
        let found = if length < LEAST {
            Found::Literal(self.bytes[self.next])
        } else {
            Found::Copy {
                length: position(length),
                distance: position(distance),
            }
        };
        for _ in 0..length.max(1).min(if length < LEAST { 1 } else { length }) {
            self.remember();
        }
        (found, compared.into())
    }

    /// The bytes of its encoding, about: a number takes the more, the larger it is.
    pub(super) fn encoded(&self) -> usize {
        let of = |number: u32| match number {
            0..=0x7f => 1,
            0x80..=0xff => 2,
            0x100..=0xffff => 3,
            _ => 5,
        };
        let bytes: usize = self.bytes.iter().map(|byte| of((*byte).into())).sum();
        let positions = self.last.iter().chain(&self.before);
        bytes + positions.map(|position| of(*position)).sum::<usize>() + 64
    }

    /// Where in `bytes` a remembered position is, if a copy may come from there.
    fn start(&self, remembered: u32) -> Option<usize> {
        let start = remembered.checked_sub(1)?.checked_sub(self.offset)?;
        let start = usize::try_from(start).ok()?;
        (start < self.next && self.next - start <= WINDOW).then_some(start)
    }

    /// How many bytes are the same from `start` on as those that are next.
    fn common(&self, start: usize) -> usize {
        let ahead = &self.bytes[self.next..];
        let pairs = self.bytes[start..].iter().zip(ahead.iter().take(LONGEST));
        pairs.take_while(|(one, other)| one == other).count()
    }

    /// Remembers the position that is next, and goes on.
    fn remember(&mut self) {
        if let Some(hash) = self.hash(self.next) {
            let remembered = self.offset + position(self.next) + 1;
            self.before[slot(remembered)] = self.last[hash];
            self.last[hash] = remembered;
        }
        self.next += 1;
    }

    /// The hash of three bytes.
    fn hash(&self, at: usize) -> Option<usize> {
        let [a, b, c] = *self.bytes.get(at..at + LEAST)?.first_chunk()?;
        let number = u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1);
        usize::try_from(number >> (32 - HASH_BITS)).ok()
    }
}

/// The place of a remembered position among those before.
fn slot(remembered: u32) -> usize {
    index(remembered) % WINDOW
}

fn position(number: usize) -> u32 {
    u32::try_from(number).expect("a text is shorter than 4 GB")
}

/// The farthest that a copy may come from.
const WINDOW: usize = 1 << 15;

/// The shortest and the longest copy.
const LEAST: usize = 3;
const LONGEST: usize = 258;

/// Bytes that are ahead, unless the text ends.
pub(super) const LOOKAHEAD: usize = LONGEST + LEAST;

/// Positions that are compared.
const CHAIN: usize = 32;

const HASH_BITS: u32 = 13;
const HASHES: usize = 1 << HASH_BITS;
