//! Numbers drawn for an experiment, the same on every machine.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The numbers of one experiment.
#[derive(Debug)]
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    /// Those of the experiment `seed` of a kind, which `purpose` names.
    pub(crate) fn new(seed: u64, purpose: &[u8; 24]) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(purpose);
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number between both, each as probable as any other.
    pub(crate) fn uniform(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.0.random::<f64>()
    }

    /// A number between both, each order of magnitude as probable as any other.
    pub(crate) fn log_uniform(&mut self, least: f64, most: f64) -> f64 {
        least * libm::exp(libm::log(most / least) * self.0.random::<f64>())
    }

    /// A whole number, both ends included.
    pub(crate) fn whole(&mut self, least: u32, most: u32) -> u32 {
        let count = u64::from(most - least) + 1;
        least + u32::try_from(self.0.next_u64() % count).expect("a remainder of 32 bits")
    }

    /// True in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.whole(0, 99) < percent
    }
}
