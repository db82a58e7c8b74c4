//! How the load of one process changes: what a configuration means for one rank.

use std::num::{NonZeroU32, NonZeroU64};

use bsp::Rank;
use bsp::units::Instructions;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::dynamics::{Change, Choice};
use crate::draws::{by_lot, generator, part, unit};
use crate::parameters::{Common, whole};
use crate::synthetic::dynamics::Dynamics;

/// How the load of one process changes: a pure function of the superstep.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Variation {
    course: Course,
    noise: Option<Noise>,
}

/// The factor of one process over time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Course {
    /// 1 for ever.
    Level,
    /// 1 until `start`, `factor` from `end`, and a line between.
    Ramp { start: u64, end: u64, factor: f64 },
    /// 1 until `start`, then `factor`; with `every`, in turns.
    Steps {
        start: u64,
        every: Option<NonZeroU64>,
        factor: f64,
    },
    /// `factor` where a window of `width` places covers `place`, which moves by `step` of `size` places
    /// every `every` supersteps.
    Window {
        place: u32,
        size: NonZeroU32,
        width: u32,
        step: u32,
        every: NonZeroU64,
        factor: f64,
    },
}

/// Random factors around 1, one for each superstep.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Noise {
    seed: u64,
    rank: Rank,
    jitter: f64,
    /// The generator at the position of superstep `next`; rebuilt after a migration.
    #[serde(skip)]
    generator: Option<(u64, ChaCha8Rng)>,
}

/// For every rank its place in the order in which ranks take part in the changes of `dynamics`; `None`:
/// each has that of its own number.
///
/// The ranks with the lowest places form the share; a hotspot moves from place to place.
pub(super) fn places(dynamics: &Dynamics, common: Common) -> Option<Vec<u32>> {
    let size = common.processes;
    let order = match dynamics.choice {
        Choice::First => return None,
        Choice::Drawn => by_lot(common.seed, CHOICE, 0..size),
    };
    if let Change::Hotspot { .. } = dynamics.change {
        // Neighbours stay neighbours; only where the window begins is drawn.
        let first = order.first().copied().unwrap_or(0);
        let place = |rank| {
            if rank < first {
                rank + (size - first)
            } else {
                rank - first
            }
        };
        return Some((0..size).map(place).collect());
    }
    let mut places = vec![0; order.len()];
    for (place, rank) in (0..).zip(order) {
        places[Rank(rank).index()] = place;
    }
    Some(places)
}

impl Variation {
    /// What `dynamics` means for `rank`, which takes part in it at `place`; `None`: its load never
    /// changes.
    ///
    /// Assumes that `dynamics` has been checked.
    pub(super) fn new(
        dynamics: &Dynamics,
        work: Instructions,
        (rank, place): (Rank, u32),
        common: Common,
    ) -> Option<Self> {
        let course = Course::new(&dynamics.change, place, common);
        let noise = (0.0 < dynamics.jitter).then_some(Noise {
            seed: common.seed,
            rank,
            jitter: dynamics.jitter,
            generator: None,
        });
        let changes = course != Course::Level || noise.is_some();
        (changes && work != Instructions::ZERO).then_some(Self { course, noise })
    }

    /// The changed `work` in `superstep`.
    pub(super) fn work(&mut self, work: Instructions, superstep: u64) -> Instructions {
        let mut factor = self.course.factor(superstep);
        if let Some(noise) = &mut self.noise {
            factor *= noise.factor(superstep);
        }
        Instructions(whole(work.as_f64() * factor))
    }
}

impl Course {
    fn new(change: &Change, place: u32, common: Common) -> Self {
        let covers = |share| place < part(share, common.processes);
        match *change {
            Change::Drift {
                share,
                factor,
                start,
                end,
            } if covers(share) => Self::Ramp {
                start,
                end: end
                    .unwrap_or_else(|| common.supersteps.expect("checked before") - 1)
                    .max(start.saturating_add(1)),
                factor,
            },
            Change::Jump {
                share,
                factor,
                start,
                every,
            } if covers(share) => Self::Steps {
                start,
                every: every.map(|every| NonZeroU64::new(every).expect("checked before")),
                factor,
            },
            Change::Hotspot {
                share,
                factor,
                step,
                every,
            } if 0.0 < share => {
                let size = NonZeroU32::new(common.processes).expect("there is this process");
                let step = step % u64::from(common.processes);
                Self::Window {
                    place,
                    size,
                    width: part(share, common.processes),
                    step: u32::try_from(step).expect("less than the number of processes"),
                    every: NonZeroU64::new(every).expect("checked before"),
                    factor,
                }
            }
            _ => Self::Level,
        }
    }

    fn factor(&self, superstep: u64) -> f64 {
        match *self {
            Self::Level => 1.0,
            Self::Ramp { start, end, factor } => ramp(superstep, start, end, factor),
            Self::Steps {
                start,
                every,
                factor,
            } => {
                let is_on = start <= superstep
                    && every.is_none_or(|every| ((superstep - start) / every).is_multiple_of(2));
                if is_on { factor } else { 1.0 }
            }
            Self::Window {
                place,
                size,
                width,
                step,
                every,
                factor,
            } => {
                let size = NonZeroU64::from(size);
                let first = superstep / every % size * u64::from(step) % size;
                // Counted from the window's first place, around the end.
                let offset = (u64::from(place) + size.get() - first) % size;
                if offset < u64::from(width) {
                    factor
                } else {
                    1.0
                }
            }
        }
    }
}

impl Noise {
    /// From `1 - jitter` to `1 + jitter`.
    fn factor(&mut self, superstep: u64) -> f64 {
        let is_in_place = self
            .generator
            .as_ref()
            .is_some_and(|(next, _)| *next == superstep);
        if !is_in_place {
            self.generator = Some((superstep, self.generator_at(superstep)));
        }
        let (next, generator) = self.generator.as_mut().expect("put there just above");
        *next = superstep.wrapping_add(1);
        1.0 + self.jitter * (2.0 * unit(generator.next_u64()) - 1.0)
    }

    /// The generator of this process, where `superstep` draws from it.
    fn generator_at(&self, superstep: u64) -> ChaCha8Rng {
        let mut generator = generator(self.seed, NOISE, self.rank.0);
        generator.set_word_pos(u128::from(superstep) * 2);
        generator
    }
}

/// The line from 1 at `start` to `factor` at `end`, and level before and after.
fn ramp(superstep: u64, start: u64, end: u64, factor: f64) -> f64 {
    if superstep <= start {
        1.0
    } else if end <= superstep {
        factor
    } else {
        1.0 + (factor - 1.0) * ((superstep - start) as f64 / (end - start) as f64)
    }
}

const NOISE: &[u8; 24] = b"workloads::synthetic    ";
const CHOICE: &[u8; 24] = b"workloads::synth::choice";

#[cfg(test)]
mod tests {
    use super::*;

    const COMMON: Common = Common {
        processes: 10,
        supersteps: Some(101),
        seed: 7,
    };

    fn factors(change: Change, rank: u32, supersteps: &[u64]) -> Vec<f64> {
        let course = Course::new(&change, rank, COMMON);
        supersteps
            .iter()
            .map(|&superstep| course.factor(superstep))
            .collect()
    }

    fn noise(rank: u32, seed: u64) -> Noise {
        Noise {
            seed,
            rank: Rank(rank),
            jitter: 0.5,
            generator: None,
        }
    }

    #[test]
    fn a_drift_is_linear_up_to_the_last_superstep() {
        let change = Change::Drift {
            share: 0.5,
            factor: 3.0,
            start: 0,
            end: None,
        };
        assert_eq!(factors(change, 4, &[0, 25, 50, 100]), [1.0, 1.5, 2.0, 3.0]);
        assert_eq!(factors(change, 5, &[0, 100]), [1.0, 1.0]);
        let change = Change::Drift {
            share: 1.0,
            factor: 0.0,
            start: 10,
            end: Some(20),
        };
        assert_eq!(
            factors(change, 9, &[0, 10, 15, 20, 90]),
            [1.0, 1.0, 0.5, 0.0, 0.0]
        );
        // A run that is over before the drift begins.
        let change = Change::Drift {
            share: 1.0,
            factor: 2.0,
            start: u64::MAX,
            end: None,
        };
        assert_eq!(factors(change, 0, &[0, 100]), [1.0, 1.0]);
    }

    #[test]
    fn a_jump_stays_or_alternates() {
        let change = Change::Jump {
            share: 0.2,
            factor: 4.0,
            start: 5,
            every: None,
        };
        assert_eq!(factors(change, 1, &[4, 5, 90]), [1.0, 4.0, 4.0]);
        assert_eq!(factors(change, 2, &[4, 5, 90]), [1.0, 1.0, 1.0]);
        let change = Change::Jump {
            share: 0.2,
            factor: 4.0,
            start: 5,
            every: Some(3),
        };
        let expected = [1.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0, 4.0];
        assert_eq!(factors(change, 0, &[4, 5, 6, 7, 8, 9, 10, 11]), expected);
    }

    #[test]
    fn a_hotspot_wraps_around_and_keeps_its_width() {
        let change = Change::Hotspot {
            share: 0.3,
            factor: 2.0,
            step: 4,
            every: 5,
        };
        let hot = |superstep| {
            let is_hot = |rank: &u32| 1.0 < factors(change, *rank, &[superstep])[0];
            (0..10).filter(is_hot).collect::<Vec<u32>>()
        };
        assert_eq!(hot(0), [0, 1, 2]);
        assert_eq!(hot(4), [0, 1, 2]);
        assert_eq!(hot(5), [4, 5, 6]);
        assert_eq!(hot(10), [0, 8, 9]);
        assert_eq!(hot(15), [2, 3, 4]);
        assert_eq!(hot(u64::MAX).len(), 3);
    }

    #[test]
    fn drawn_places_are_a_permutation_that_depends_on_the_seed() {
        let places = |change, choice, seed| {
            let dynamics = Dynamics {
                change,
                choice,
                jitter: 0.0,
            };
            places(&dynamics, Common { seed, ..COMMON })
        };
        let jump = Change::Jump {
            share: 0.2,
            factor: 4.0,
            start: 5,
            every: None,
        };
        let hotspot = Change::Hotspot {
            share: 0.2,
            factor: 4.0,
            step: 1,
            every: 5,
        };
        let in_order: Vec<u32> = (0..10).collect();
        assert_eq!(places(jump, Choice::First, 7), None);
        for change in [jump, hotspot] {
            let drawn = places(change, Choice::Drawn, 7);
            assert_eq!(places(change, Choice::Drawn, 7), drawn);
            assert_ne!(places(change, Choice::Drawn, 8), drawn);
            let mut sorted = drawn.unwrap();
            sorted.sort_unstable();
            assert_eq!(sorted, in_order);
        }
        let drawn = places(hotspot, Choice::Drawn, 7).unwrap();
        assert!(drawn.windows(2).all(|pair| (pair[0] + 1) % 10 == pair[1]));
    }

    #[test]
    fn noise_is_a_function_of_seed_rank_and_superstep_alone() {
        let mut forward = noise(3, 7);
        let drawn: Vec<f64> = (0..200)
            .map(|superstep| forward.factor(superstep))
            .collect();
        for superstep in (0..200_u64).rev() {
            let alone = noise(3, 7).factor(superstep);
            assert_eq!(
                alone.to_bits(),
                drawn[usize::try_from(superstep).unwrap()].to_bits()
            );
        }
        // Jumping back and forth finds the same numbers.
        assert_eq!(forward.factor(17).to_bits(), drawn[17].to_bits());
        assert_eq!(forward.factor(3).to_bits(), drawn[3].to_bits());
        assert_ne!(noise(4, 7).factor(0).to_bits(), drawn[0].to_bits());
        assert_ne!(noise(3, 8).factor(0).to_bits(), drawn[0].to_bits());
        assert!(noise(3, 7).factor(u64::MAX).is_finite());
    }

    #[test]
    fn noise_is_the_same_in_every_version() {
        let mut noise = noise(3, 7);
        let drawn = [0, 1, 1_000_000].map(|superstep| noise.factor(superstep));
        let expected: [f64; 3] = [0.8095196271751843, 1.405259221414831, 1.442848620170293];
        assert_eq!(drawn.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn noise_is_even_around_one() {
        let mut noise = noise(0, 1);
        let drawn: Vec<f64> = (0..10_000)
            .map(|superstep| noise.factor(superstep))
            .collect();
        let mean = drawn.iter().sum::<f64>() / 10_000.0;
        // Three standard deviations of the mean of 10 000 draws: 3 · 0.5 / √3 / 100.
        assert!((mean - 1.0).abs() < 0.0087, "{mean}");
        assert!(drawn.iter().all(|factor| (0.5..1.5).contains(factor)));
        let low = drawn.iter().filter(|factor| **factor < 0.75).count();
        assert!((2_350..2_650).contains(&low), "{low}");
    }
}
