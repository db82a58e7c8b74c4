//! The temperatures of an annealing, from prices that may differ by orders of magnitude.

use crate::rebalance::noise::geometric;

/// From hot to cold, in steps that take equal shares of the budget.
///
/// A migration of price `p` is decided while the temperature falls from `hot p` to `COLD p`: above, it is made
/// and unmade at random, and below, nothing changes any more. With equal prices the temperature falls
/// by equal factors over that range. With others, each price asks for time on its own range, as much as is
/// its share: half of the budget is divided among prices by what they add to the cost, and half equally.
/// So a price that is far above the others takes no time from them, and none is passed over while the
/// temperature falls through a gap between prices.
#[derive(Debug)]
pub(super) struct Cooling {
    temperatures: Vec<f64>,
}

impl Cooling {
    /// For `prices`, of which those that are 0 do not count; `hot` is above [`COLD`].
    pub(super) fn of(mut prices: Vec<f64>, hot: f64) -> Self {
        prices.retain(|price| 0.0 < *price);
        if prices.is_empty() {
            prices.push(1.0);
        }
        // Logarithms of ratios: the unit of cost does not matter.
        let unit = prices.iter().copied().fold(0.0, f64::max);
        let (mut count, mut all) = (0.0, 0.0);
        for price in &mut prices {
            *price /= unit;
            count += 1.0;
            all += *price;
        }
        let width = libm::log(hot / COLD);
        let mut events = Vec::with_capacity(2 * prices.len());
        for price in prices {
            let demand = 0.5 * (1.0 / count + price / all) / width;
            let hottest = libm::log(hot * price);
            events.push((hottest, demand));
            events.push((hottest - width, -demand));
        }
        events.sort_by(|a, b| b.0.total_cmp(&a.0));
        let temperatures = falling(&events);
        let temperatures = temperatures.map(|logarithm| unit * libm::exp(logarithm));
        Self {
            temperatures: temperatures.collect(),
        }
    }

    /// The temperature when `share` of the budget is spent: from 0 to 1.
    pub(super) fn at(&self, share: f64) -> f64 {
        let mut left = share.clamp(0.0, 1.0) / STRETCH;
        let mut temperature = self.temperatures[0];
        for &next in &self.temperatures[1..] {
            if left < 1.0 {
                return geometric(temperature, next, left);
            }
            left -= 1.0;
            temperature = next;
        }
        temperature
    }
}

/// Logarithms of temperatures at equal shares of the demand, of which `events` say by how much it changes where;
/// the hottest first.
fn falling(events: &[(f64, f64)]) -> impl Iterator<Item = f64> {
    let mut points = Vec::new();
    let (mut spent, mut demand) = (0.0, 0.0);
    let mut next = 0.0;
    for pair in events.windows(2) {
        demand += pair[0].1;
        let all = demand * (pair[0].0 - pair[1].0);
        while next < spent + all {
            points.push(pair[0].0 - (next - spent) / demand);
            next += STRETCH;
        }
        spent += all;
    }
    let coldest = events[events.len() - 1].0;
    points.truncate(POINTS);
    let missing = POINTS + 1 - points.len();
    let rest = std::iter::repeat_n(coldest, missing);
    points.into_iter().chain(rest)
}

/// The lowest temperature for a price, as a share of it.
pub(super) const COLD: f64 = 0.02;

/// Temperatures but the last, and the share of the budget from each to the next.
const POINTS: usize = 64;
const STRETCH: f64 = 1.0 / 64.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prices: &[f64], expected: &[(f64, f64)]) {
        let cooling = Cooling::of(prices.to_vec(), 1.0);
        for &(share, expected) in expected {
            let met = cooling.at(share);
            assert!((met / expected - 1.0).abs() < 1e-6, "{share}: {met}");
        }
    }

    #[test]
    fn equal_prices_cool_by_equal_factors() {
        let middle = (0.02_f64).sqrt();
        check(&[3.0; 7], &[(0.0, 3.0), (0.5, 3.0 * middle), (1.0, 0.06)]);
        check(&[0.0; 3], &[(0.0, 1.0), (0.5, middle), (1.0, 0.02)]);
    }

    #[test]
    fn a_gap_between_prices_takes_no_time() {
        // Nearly half of the time for the giant, and the rest for the others.
        let mut prices = [1e-3; 1000];
        prices[0] = 1e9;
        let close = (0.02_f64).powf(0.49 / 0.5005);
        check(&prices, &[(0.0, 1e9), (1.0, 2e-5)]);
        let cooling = Cooling::of(prices.to_vec(), 1.0);
        assert!((cooling.at(0.49) / (1e9 * close) - 1.0).abs() < 0.1);
        assert!((1e-4..1e-3).contains(&cooling.at(0.55)));
    }

    #[test]
    fn temperatures_fall() {
        let prices: Vec<f64> = (0..60).map(|power| 2.0_f64.powi(power)).collect();
        let cooling = Cooling::of(prices, 0.5);
        let all: Vec<f64> = (0..=1000)
            .map(|at| cooling.at(f64::from(at) / 1e3))
            .collect();
        assert!(all.is_sorted_by(|a, b| a >= b));
        assert_eq!(cooling.temperatures.len(), POINTS + 1);
    }
}
