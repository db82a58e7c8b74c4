//! A text of drawn words.

use bsp::numbers;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::parameters::whole;
use crate::state_kinds::rounds::Round;

/// The words of a text that are still to come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Text {
    round: Round,
    /// Words so far, and bytes left.
    words: u64,
    left: u64,
}

impl Text {
    /// A text of about `bytes` bytes, at least one.
    pub(super) fn new(round: Round, bytes: f64) -> Self {
        Self {
            round,
            words: 0,
            left: whole(bytes).clamp(1, BYTES_MAX),
        }
    }

    /// The next word, with the space after it; empty at the end.
    pub(super) fn word(&mut self) -> Vec<u8> {
        let drawn = Round {
            number: self
                .round
                .number
                .wrapping_mul(PRIME)
                .wrapping_add(self.words),
            ..self.round
        };
        let mut numbers = drawn.numbers(WORDS);
        // The smaller of two draws: some words are frequent, others are rare.
        let number = (numbers.next_u32() % VOCABULARY).min(numbers.next_u32() % VOCABULARY);
        let mut word = spelled(number);
        word.push(b' ');
        let length = usize::try_from(self.left).map_or(word.len(), |left| left.min(word.len()));
        word.truncate(length);
        self.words += 1;
        self.left -= numbers::length(length);
        word
    }

    /// The most bytes of its encoding.
    pub(super) const fn encoded(&self) -> usize {
        64
    }
}

/// A word of the vocabulary: syllables, by the digits of its number.
fn spelled(mut number: u32) -> Vec<u8> {
    let mut word = Vec::new();
    number = number.wrapping_mul(2_654_435_761) >> 18;
    while word.is_empty() || 0 < number {
        for (letters, count) in [(b"bdfgklmnprstvz".as_slice(), 14), (b"aeiou".as_slice(), 5)] {
            word.push(letters[usize::try_from(number % count).expect("a digit")]);
            number /= count;
        }
    }
    word
}

/// The stream of a text's words.
const WORDS: u8 = b'w';

/// Words of the language.
const VOCABULARY: u32 = 4096;

/// Texts are shorter than the numbers of their positions allow.
const BYTES_MAX: u64 = 4_000_000_000;

/// Tells the words of one round from those of the next.
const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
