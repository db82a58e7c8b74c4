//! Random numbers of a fault simulation, by purpose: a change of one part leaves the draws of the others alone.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random numbers for one purpose.
pub(super) struct Random(ChaCha8Rng);

/// What random numbers are drawn for.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Job = 1,
    Faults = 2,
    Network = 3,
    Computation = 4,
    Checkpoints = 5,
    Disk = 6,
    Overtaking = 7,
    Views = 8,
    Attaching = 9,
    Following = 10,
}

impl Random {
    /// The numbers of `seed` for `purpose`.
    pub(super) fn new(seed: u64, purpose: Purpose) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(purpose as u64);
        Self(random)
    }

    /// Any number.
    pub(super) fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from `least` to `most`.
    pub(super) fn between(&mut self, least: u64, most: u64) -> u64 {
        // The ranges are small, so some numbers are not noticeably more frequent.
        least + self.any() % (most - least + 1)
    }

    /// The same, as an index.
    pub(super) fn index(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).expect("counts fit 64 bits");
        usize::try_from(self.between(0, count - 1)).expect("it is smaller than the count")
    }

    /// Whether an event of this probability, in percent, occurs.
    pub(super) fn percent(&mut self, probability: u64) -> bool {
        self.between(0, 99) < probability
    }

    /// One of `all`.
    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.index(all.len())]
    }

    /// A duration from `least` to `most`, in nanoseconds; each power of two is as likely as any other.
    pub(super) fn duration(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = (u64::from(least.max(1).ilog2()), u64::from(most.ilog2()));
        let power = 1 << self.between(low, high);
        self.between(power, 2 * power).clamp(least, most)
    }
}
