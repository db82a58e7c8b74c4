//! A farm with the rates and costs of a record, under any rule.

use bsp::farm::{Dealer, Dealing};
use bsp::units::Seconds;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};

use super::costs::Costs;
use super::interactions::TimedInteraction;
use super::parts::{Parts, Place};

/// A farm with the rates and costs of a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    /// All tasks.
    pub(super) tasks: u64,
    /// Tasks per second, by worker.
    pub(super) rates: Vec<f64>,
    /// The time from which on each worker is present; zero for all that did not join.
    pub(super) present_from: Vec<f64>,
    /// The relative standard deviation of the time of a task.
    pub(super) noise_of_task: f64,
    /// What the supersteps take in addition.
    pub(super) costs: Costs,
    /// The time before the first interaction.
    pub(super) sharing: f64,
    /// The time that belongs to no interaction.
    pub(super) rest: f64,
}

impl Model {
    /// The parts of the makespan with the rule `dealing`; with noise, the means over some draws, the same for all rules.
    pub(super) fn replay(&self, dealing: &Dealing) -> Parts {
        let draws = if 0.0 < self.noise_of_task { DRAWS } else { 1 };
        let all = (0..draws).map(|draw| self.once(dealing, draw));
        let sum = all.fold(Parts::default(), |sum, parts| sum.plus(&parts));
        sum.times(1.0 / draws as f64)
    }

    fn once(&self, dealing: &Dealing, draw: u64) -> Parts {
        let number = u32::try_from(self.rates.len()).unwrap_or(u32::MAX);
        let mut dealer = Dealer::new(dealing.clone(), self.tasks, number);
        let rate: f64 = self.rates.iter().sum();
        let mut parts = Parts {
            sharing: self.sharing,
            rest: self.rest,
            ..Parts::default()
        };
        let mut clock = self.sharing;
        let mut interaction = 0;
        loop {
            let is_present: Vec<bool> = self.present_from.iter().map(|at| *at <= clock).collect();
            let dealt = dealer.deal(interaction, &is_present);
            if dealt.iter().all(|dealt| *dealt == 0) {
                return parts;
            }
            let took: Vec<f64> = (0..)
                .zip(dealt.iter().zip(&self.rates))
                .map(|(worker, (dealt, rate))| {
                    let seconds = *dealt as f64 / rate;
                    seconds * self.factor(*dealt, [draw, interaction, worker])
                })
                .collect();
            for (worker, (dealt, took)) in dealt.iter().zip(&took).enumerate() {
                if 0 < *dealt {
                    dealer.observe(worker, Seconds::new(*took).unwrap_or(Seconds::ZERO));
                }
            }
            let one = TimedInteraction {
                superstep: interaction,
                began: clock,
                deal: self.costs.deal.at(dealt.iter().sum()),
                execute: self.costs.execute(&dealt, &took),
                tell: self.costs.tell,
                dealt,
                took,
            };
            clock += one.deal + one.execute + one.tell;
            let place = match (interaction, dealer.left()) {
                (_, 0) => Place::Last,
                (0, _) => Place::First,
                _ => Place::Middle,
            };
            parts.add(place, &one, rate);
            interaction += 1;
        }
    }

    /// How much longer than at its rate a worker takes for `dealt` tasks that vary independently.
    fn factor(&self, dealt: u64, place: [u64; 3]) -> f64 {
        if dealt == 0 {
            return 1.0;
        }
        // Times of equal tasks differ by rounding, which matters to thresholds without width.
        let deviation = self.noise_of_task / (dealt as f64).sqrt() + ROUNDING;
        (1.0 + deviation * normal(place)).max(LEAST_FACTOR)
    }
}

/// A number of the standard normal distribution; always the same for the same place.
fn normal(place: [u64; 3]) -> f64 {
    let mut seed = [0; 32];
    for (bytes, part) in seed.chunks_mut(8).zip(place) {
        bytes.copy_from_slice(&part.to_le_bytes());
    }
    let drawn = ChaCha8Rng::from_seed(seed).next_u32();
    // In the middle of its part of the numbers from 0 to 1, so it is neither.
    let uniform = (f64::from(drawn) + 0.5) / (f64::from(u32::MAX) + 1.0);
    Normal::standard().inverse_cdf(uniform)
}

/// The relative standard deviation of times that differ by rounding alone.
const ROUNDING: f64 = 1e-12;

/// How often a farm with noise is replayed.
const DRAWS: u64 = 8;

/// No worker is more than ten times as fast as at its rate.
const LEAST_FACTOR: f64 = 0.1;
