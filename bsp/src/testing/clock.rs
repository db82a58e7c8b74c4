//! Computation times, and processes on standby, drawn at random.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::ids::Rank;
use crate::program::Program;
use crate::reference::Computation;
use crate::units::Seconds;

/// Draws how long processes computed, and how long they are on standby.
#[derive(Debug)]
pub(super) struct Clock(ChaCha8Rng);

impl Clock {
    /// The same times for the same `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Puts each process on standby with a probability of a half.
    pub(super) fn put_on_standby<P: Program>(&mut self, computation: &mut Computation<P>) {
        let ranks = (0..computation.processes.len()).map(Rank::from_index);
        computation.standby = ranks.filter(|_| self.0.next_u32() & 1 == 0).collect();
    }

    /// Each process on standby leaves it with a probability of an eighth.
    pub(super) fn join(&mut self, standby: &mut Vec<Rank>) {
        standby.retain(|_| !self.0.next_u32().is_multiple_of(8));
    }

    /// Replaces `elapsed`, each by zero or by a power of two between 2⁻³² s and 2³² s.
    pub(super) fn draw(&mut self, elapsed: &mut [Seconds]) {
        for elapsed in elapsed {
            let drawn = self.0.next_u32();
            let exponent = i32::try_from(drawn % 65).expect("below 65") - 32;
            let time = if drawn < ZERO {
                0.0
            } else {
                2.0_f64.powi(exponent)
            };
            *elapsed = Seconds::new(time).expect("finite");
        }
    }
}

/// Of 2³², how many times are zero.
const ZERO: u32 = u32::MAX / 8;
