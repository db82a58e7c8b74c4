//! The way to the highest value of a relaxation.

use crate::bound::Relaxation;

/// The volume algorithm (Barahona, Anbil 2000): from the best prices on, along the excess that the solutions of
/// all iterations have in the mean, the later ones more than the earlier.
pub(super) struct Ascent {
    /// The best value, and its prices.
    pub(super) value: f64,
    prices: Vec<f64>,
    direction: Vec<f64>,
    /// A value that is thought to be in reach.
    aim: f64,
    /// The share of the way to the aim that a step would go, were all linear.
    pace: f64,
    fruitless: u32,
}

impl Ascent {
    /// At the prices and the solution of `relaxation`.
    pub(super) fn new(relaxation: &Relaxation<'_>) -> Self {
        Self {
            value: relaxation.value,
            prices: relaxation.prices.clone(),
            direction: relaxation.excess.clone(),
            aim: AIM * relaxation.value,
            pace: 0.1,
            fruitless: 0,
        }
    }

    /// Whether there is anywhere to go.
    pub(super) fn step(&mut self, relaxation: &mut Relaxation<'_>) -> bool {
        let is_free = |(price, excess): &(&f64, &f64)| 0.0 < **price || 0.0 < **excess;
        let free = self.prices.iter().zip(&self.direction).filter(is_free);
        let square: f64 = free.map(|(_, excess)| excess * excess).sum();
        if square <= 0.0 {
            return false;
        }
        let step = self.pace * (self.aim - self.value) / square;
        let changes = self.prices.iter().zip(&self.direction);
        for (price, (center, excess)) in relaxation.prices.iter_mut().zip(changes) {
            *price = (center + step * excess).max(0.0);
        }
        let value = relaxation.solve();
        let pairs = self.direction.iter().zip(&relaxation.excess);
        let agreement: f64 = pairs.map(|(mean, excess)| mean * excess).sum();
        for (mean, excess) in self.direction.iter_mut().zip(&relaxation.excess) {
            *mean += RECENT * (excess - *mean);
        }
        if self.value < value {
            self.value = value;
            self.prices.clone_from(&relaxation.prices);
            self.fruitless = 0;
            if 0.0 <= agreement {
                self.pace = (self.pace * FASTER).min(2.0);
            }
        } else {
            self.fruitless += 1;
            if self.fruitless == PATIENCE {
                self.fruitless = 0;
                self.pace *= SLOWER;
            }
        }
        if self.aim < NEAR * self.value {
            self.aim = AIM * self.value;
        }
        true
    }
}

/// How far the aim is above the best value, and how near that may come before there is a new one.
const AIM: f64 = 1.2;
const NEAR: f64 = 1.05;

/// The share of the last solution in the mean.
const RECENT: f64 = 0.03;

const FASTER: f64 = 1.1;
const SLOWER: f64 = 0.66;
const PATIENCE: u32 = 20;
