//! The data of one round, drawn from the seed.

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::draws::{generator, unit};
use rand_chacha::rand_core::Rng;

/// A round of a process: what it computes with is drawn from these numbers alone, so that it can be drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Round {
    pub(super) seed: u64,
    pub(super) rank: u32,
    pub(super) number: u64,
}

impl Round {
    /// The random numbers of this round; `part` tells the streams of a round from each other.
    pub(super) fn numbers(self, part: u8) -> ChaCha8Rng {
        let mut purpose = *b"state kinds, round      ";
        purpose[18..22].copy_from_slice(&self.rank.to_le_bytes());
        purpose[23] = part;
        // The low half tells rounds apart, the high half is the seed's.
        let low = u32::try_from(self.number & u64::from(u32::MAX)).expect("32 bits");
        generator(self.seed ^ (self.number >> 32), &purpose, low)
    }

    /// The next round.
    pub(super) const fn next(self) -> Self {
        Self {
            number: self.number + 1,
            ..self
        }
    }

    /// A number of bytes from `least` to `most`, whose logarithm is uniform.
    pub(super) fn bytes(self, [least, most]: [f64; 2]) -> f64 {
        let mut power = most / least;
        let mut bytes = least;
        let bits = self.numbers(SIZE).next_u32();
        // `least · (most / least)^u` for a binary fraction `u`: square roots are the same on every machine.
        for bit in 0..BITS {
            power = power.sqrt();
            if bits >> bit & 1 == 1 {
                bytes *= power;
            }
        }
        bytes.min(most)
    }
}

/// A drawn number from -1 up to 1.
pub(super) fn signed(numbers: &mut ChaCha8Rng) -> f64 {
    2.0 * unit(numbers.next_u64()) - 1.0
}

/// The stream of the size of a round.
const SIZE: u8 = b's';

/// Binary digits of the drawn exponent.
const BITS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_their_range_and_evenly_spread_by_magnitude() {
        let size = |number| {
            let round = Round {
                seed: 3,
                rank: 1,
                number,
            };
            round.bytes([1e3, 1e6])
        };
        let sizes: Vec<f64> = (0..3000).map(size).collect();
        assert!(sizes.iter().all(|size| (1e3..=1e6).contains(size)));
        for decade in [1e3, 1e4, 1e5] {
            let within = sizes
                .iter()
                .filter(|size| (decade..10.0 * decade).contains(*size));
            let within = within.count();
            assert!((900..1100).contains(&within), "{within}");
        }
    }

    #[test]
    fn rounds_and_parts_have_numbers_of_their_own() {
        let round = Round {
            seed: 3,
            rank: 1,
            number: 7,
        };
        let first = |round: Round, part| round.numbers(part).next_u64();
        assert_eq!(first(round, 0), first(round, 0));
        assert_ne!(first(round, 0), first(round, 1));
        assert_ne!(first(round, 0), first(round.next(), 0));
        assert_ne!(first(round, 0), first(Round { rank: 2, ..round }, 0));
    }
}
