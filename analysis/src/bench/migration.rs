//! `migbsp bench migration`: what moving a process costs on a cluster, and how well that is predicted.

mod chart;
mod estimators;
mod platform;
mod report;
mod score;
mod text;
mod timeline;

pub use platform::Place;
pub use report::{KindReport, Report, Settings};
pub use timeline::Timeline;

/// The numbers of complete supersteps after which `moves` moves are made: three to eight supersteps apart, drawn from
/// `seed`.
#[must_use]
pub fn superstep_numbers(seed: u64, moves: u32) -> Vec<u64> {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    let mut superstep = 0;
    let mut next = || {
        superstep += 3 + u64::from(numbers.next_u32() % 6);
        superstep
    };
    (0..moves).map(|_| next()).collect()
}
