//! Imbalance that has come up since the last call.

use bsp::units::Seconds;

use crate::when::timing::Elapsed;

/// Imbalance that has come up since the last call, and was not there in the first supersteps after it.
///
/// Equation `CHANGE` of `docs/model.md`. A budget of calls says nothing of what supersteps lose without one. A change that
/// has cost as much as a call pays for one, twice as much after one that moved nothing, and so on.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Supersteps since the last call.
    number: u32,
    /// The mean imbalance of the first ones, in seconds.
    former: f64,
    /// The sum of what later ones exceed it by.
    excess: f64,
    /// The imbalance of the last one, and the sum of the squares of differences between neighbours.
    last: f64,
    squares: f64,
    /// What a call takes; zero: that is not known.
    cost: f64,
    /// Calls since a process moved.
    fruitless: i32,
}

impl Change {
    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        let imbalance = elapsed.imbalance();
        if 0 < self.number {
            self.squares += (imbalance - self.last).powi(2);
        }
        self.last = imbalance;
        self.number = self.number.saturating_add(1);
        if self.number <= FORMER {
            self.former += (imbalance - self.former) / f64::from(self.number);
        } else {
            self.excess += imbalance - self.former;
        }
    }

    /// Whether the change pays for a call, and is more than noise.
    pub(super) fn pays(&self) -> bool {
        if self.number < 2 * FORMER || self.cost <= 0.0 {
            return false;
        }
        let later = f64::from(self.number - FORMER);
        let deviation = (self.squares / f64::from(2 * (self.number - 1))).sqrt();
        deviation * later < self.excess && self.cost * 2_f64.powi(self.fruitless) <= self.excess
    }

    /// A call is over in which processes `moved` or not; one without moves takes `cost`.
    pub(super) fn begin(&mut self, moved: bool, cost: Seconds) {
        let fruitless = if moved {
            0
        } else {
            self.fruitless.saturating_add(1)
        };
        *self = Self {
            cost: cost.get(),
            fruitless,
            ..Self::default()
        };
    }
}

/// Supersteps after a call that show what it has left.
const FORMER: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many supersteps with these imbalances a change pays for a call that takes three seconds, the first after
    /// `fruitless` calls.
    fn pays_after(fruitless: u32, imbalances: &[f64]) -> Option<usize> {
        let mut change = Change::default();
        let cost = Seconds::new(3.0).unwrap();
        change.begin(true, cost);
        for _ in 0..fruitless {
            change.begin(false, cost);
        }
        let paid = imbalances.iter().position(|imbalance| {
            change.observe(&Elapsed {
                completed: 1,
                slowest: Seconds::new(1.0 + imbalance).unwrap(),
                mean: Seconds::new(1.0).unwrap(),
                took: Seconds::ZERO,
            });
            change.pays()
        });
        paid.map(|supersteps| supersteps + 1)
    }

    #[test]
    fn a_change_pays_for_a_call_when_it_has_cost_one() {
        let changed = [vec![0.5; 10], vec![1.0; 20]].concat();
        // Half a second in each of six supersteps, and of twelve.
        assert_eq!(pays_after(0, &changed), Some(16));
        assert_eq!(pays_after(1, &changed), Some(22));
        assert_eq!(pays_after(2, &changed), None);
    }

    #[test]
    fn what_was_there_and_noise_pay_for_nothing() {
        assert_eq!(pays_after(0, &[5.0; 500]), None);
        let noisy = [0.0, 5.0, 0.0, 5.0, 5.0, 0.0].repeat(50);
        assert_eq!(pays_after(0, &noisy), None);
        // Less imbalance than before is none that has come up.
        assert_eq!(pays_after(0, &[vec![5.0; 9], vec![1.0; 99]].concat()), None);
    }
}
