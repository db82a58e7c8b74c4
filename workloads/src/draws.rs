//! Random numbers that depend on seed, purpose and number alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::parameters::whole;

/// The random stream of one `number` and `purpose`, independent of all other streams.
pub(crate) fn generator(seed: u64, purpose: &[u8; 24], number: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(purpose);
    let mut generator = ChaCha8Rng::from_seed(key);
    generator.set_stream(u64::from(number));
    generator
}

/// `numbers` in a drawn order. Each has its own draw, so the order of two numbers does not depend on the
/// others.
pub(crate) fn by_lot(
    seed: u64,
    purpose: &[u8; 24],
    numbers: impl IntoIterator<Item = u32>,
) -> Vec<u32> {
    let lot = |number| (generator(seed, purpose, number).next_u64(), number);
    let mut lots: Vec<(u64, u32)> = numbers.into_iter().map(lot).collect();
    lots.sort_unstable();
    lots.into_iter().map(|(_, number)| number).collect()
}

/// The number of elements in a `share` of `count`: at least one, unless the share is zero.
pub(crate) fn part(share: f64, count: u32) -> u32 {
    if share <= 0.0 {
        return 0;
    }
    let part = whole(share * f64::from(count)).max(1);
    u32::try_from(part).map_or(count, |part| part.min(count))
}

/// `bits` as a number from 0 up to 1, which it does not reach: the upper 53 of them, exactly.
pub(crate) fn unit(bits: u64) -> f64 {
    const STEPS: f64 = 9_007_199_254_740_992.0;
    (bits >> 11) as f64 / STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: &[u8; 24] = b"the tests of this module";

    #[test]
    fn a_positive_share_has_at_least_one_element() {
        assert_eq!(part(0.0, 10), 0);
        assert_eq!(part(0.001, 10), 1);
        assert_eq!(part(0.25, 10), 3);
        assert_eq!(part(1.0, u32::MAX), u32::MAX);
    }

    #[test]
    fn the_order_of_two_does_not_depend_on_the_others() {
        let all = by_lot(3, PURPOSE, 0..100);
        let even = by_lot(3, PURPOSE, (0..100).step_by(2));
        let left: Vec<u32> = all
            .iter()
            .copied()
            .filter(|number| number % 2 == 0)
            .collect();
        assert_eq!(even, left);
        assert_ne!(by_lot(4, PURPOSE, 0..100), all);
        assert_ne!(by_lot(3, b"another, of equal length", 0..100), all);
    }

    #[test]
    fn unit_draws_are_in_a_half_open_interval() {
        assert_eq!(unit(0).to_bits(), 0.0_f64.to_bits());
        assert!(unit(u64::MAX) < 1.0);
        assert_eq!(unit(1 << 63).to_bits(), 0.5_f64.to_bits());
    }
}
