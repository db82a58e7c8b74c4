use std::iter;

use bsp::units::{Instant, Seconds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::level::Level;

/// Which level a link has when.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelSchedule {
    /// One level.
    Constant(Level),
    /// Levels drawn from a seed.
    Drawn {
        /// The least level.
        least: Level,
        /// The greatest level.
        greatest: Level,
        /// The mean time for which a level is held.
        dwell: Seconds,
        /// Equal seeds draw equal levels and times.
        seed: u64,
    },
    /// These changes, at ascending times. Before the first, the level is 1; the last one stays.
    Listed(Vec<Change>),
}

/// A level, and when it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The time since the link began.
    pub at: Instant,
    /// The level from then on.
    pub level: Level,
}

impl LevelSchedule {
    /// The changes, by time; drawn ones do not end.
    #[must_use]
    pub fn changes(&self) -> Box<dyn Iterator<Item = Change> + Send + '_> {
        match self {
            Self::Constant(level) => Box::new(iter::once(Change {
                at: Instant::START,
                level: *level,
            })),
            Self::Drawn {
                least,
                greatest,
                dwell,
                seed,
            } => Box::new(drawn((*least, *greatest), *dwell, *seed)),
            Self::Listed(changes) => Box::new(changes.iter().copied()),
        }
    }
}

/// Levels uniform in the range, each for a time that is exponential with mean `dwell`.
fn drawn(
    (least, greatest): (Level, Level),
    dwell: Seconds,
    seed: u64,
) -> impl Iterator<Item = Change> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(PURPOSE);
    let mut rng = ChaCha8Rng::from_seed(key);
    let mut at = 0.0;
    iter::from_fn(move || {
        let begins = Instant::new(at).ok()?;
        let width = greatest.get() - least.get();
        // Rounding must not leave the range.
        let level = (least.get() + rng.random::<f64>() * width).min(greatest.get());
        at -= dwell.get() * libm::log(1.0 - rng.random::<f64>());
        Some(Change {
            at: begins,
            level: Level::new(level)?,
        })
    })
}

const PURPOSE: &[u8; 24] = b"levels of the relay link";

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(seed: u64) -> LevelSchedule {
        LevelSchedule::Drawn {
            least: Level::new(0.2).unwrap(),
            greatest: Level::new(0.8).unwrap(),
            dwell: Seconds::new(3.0).unwrap(),
            seed,
        }
    }

    #[test]
    fn equal_seeds_draw_equal_levels_and_times() {
        let first = |seed| schedule(seed).changes().take(100).collect::<Vec<_>>();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        // The draws of a seed are the same in all versions and on all machines.
        let [one, two] = [first(7)[0], first(7)[1]];
        assert_eq!(one.at, Instant::START);
        let bits = [one.level.get(), two.at.get(), two.level.get()].map(f64::to_bits);
        assert_eq!(bits, PINNED, "{one:?} {two:?}");
    }

    /// What the seed 7 draws: a level, the time of the second one, and the second one.
    const PINNED: [u64; 3] = [
        4603131979278208483,
        4605539822720110192,
        4603545855527608842,
    ];

    #[test]
    fn levels_are_uniform_in_the_range_and_times_exponential() {
        let count = 20_000;
        let drawn = schedule(1);
        let changes: Vec<Change> = drawn.changes().take(count + 1).collect();
        let levels = || changes.iter().map(|change| change.level.get());
        assert!(levels().all(|level| (0.2..=0.8).contains(&level)));
        let number = f64::from(u32::try_from(count).unwrap());
        let mean = |sum: f64| sum / number;
        // Four standard errors of a uniform variable of width 0.6, and of its share below a quarter.
        assert!((mean(levels().sum()) - 0.5).abs() < 4.0 * 0.6 / 12_f64.sqrt() / number.sqrt());
        let low = levels().filter(|level| *level < 0.35).count();
        let low = f64::from(u32::try_from(low).unwrap());
        assert!((low / number - 0.25).abs() < 4.0 * (0.25 * 0.75 / number).sqrt());
        let held: Vec<f64> = changes
            .windows(2)
            .map(|pair| (pair[1].at - pair[0].at).get())
            .collect();
        assert!((mean(held.iter().sum()) - 3.0).abs() < 4.0 * 3.0 / number.sqrt());
        // Of an exponential variable, 1/e of the values is above the mean.
        let long = held.iter().filter(|held| 3.0 < **held).count();
        let long = f64::from(u32::try_from(long).unwrap()) / number;
        let share = (-1_f64).exp();
        assert!((long - share).abs() < 4.0 * (share * (1.0 - share) / number).sqrt());
    }

    #[test]
    fn constant_and_listed_levels_are_what_they_say() {
        let level = Level::new(0.3).unwrap();
        let at = Instant::START;
        let constant = LevelSchedule::Constant(level);
        assert_eq!(
            constant.changes().collect::<Vec<_>>(),
            [Change { at, level }]
        );
        let changes = vec![Change { at, level }; 2];
        let listed = LevelSchedule::Listed(changes.clone());
        assert_eq!(listed.changes().collect::<Vec<_>>(), changes);
    }
}
