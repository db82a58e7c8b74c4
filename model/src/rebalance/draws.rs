//! Random numbers that depend on seed and purpose alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of random numbers; made by basic arithmetic, so that they are the same everywhere.
#[derive(Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream for one `purpose`: what is drawn from it shifts no other stream.
    pub fn new(seed: u64, purpose: &[u8; 24]) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(purpose);
        Self(ChaCha8Rng::from_seed(key))
    }

    /// One of `0..count`, which is not empty and at most 2³² long, each as likely as any other but for 1 in 2³².
    ///
    /// # Panics
    ///
    /// If `count` is above 2³² on a machine whose addresses have fewer bits.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).expect("a count fits 64 bits");
        let product = u64::from(self.0.next_u32()) * count;
        usize::try_from(product >> 32).expect("below a count that fits")
    }

    /// From 0 up to 1, which it does not reach.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        let (upper, lower) = (self.0.next_u32() >> 5, self.0.next_u32() >> 6);
        (f64::from(upper) * 67_108_864.0 + f64::from(lower)) / 9_007_199_254_740_992.0
    }

    /// From `low` up to `high`.
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Puts `list` into an order in which each is as likely as any other.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_purpose_alone_decide() {
        let first = |seed, purpose| Draws::new(seed, purpose).unit().to_bits();
        let purpose = b"the tests of this module";
        assert_eq!(first(1, purpose), first(1, purpose));
        assert_ne!(first(1, purpose), first(2, purpose));
        assert_ne!(first(1, purpose), first(1, b"other tests of something"));
    }

    #[test]
    fn draws_stay_where_they_are_told_to() {
        let mut draws = Draws::new(7, b"the tests of this module");
        let mut found = [0; 5];
        for _ in 0..1000 {
            found[draws.below(5)] += 1;
            assert!((0.0..1.0).contains(&draws.unit()));
            assert!((3.0..4.0).contains(&draws.between(3.0, 4.0)));
        }
        assert!(
            found.iter().all(|found| (100..300).contains(found)),
            "{found:?}"
        );
        let mut list: Vec<usize> = (0..50).collect();
        draws.shuffle(&mut list);
        assert_ne!(list, (0..50).collect::<Vec<_>>());
        list.sort_unstable();
        assert_eq!(list, (0..50).collect::<Vec<_>>());
    }
}
