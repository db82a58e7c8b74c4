//! Means, ratios and shares over seeds.

use serde::Serialize;

use super::strategy::Strategy;
use super::trial::Completions;
use analysis::compare::statistics::Estimate;
use bsp::numbers::{length, real};

/// A number with half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) margin: Option<f64>,
}

/// A strategy on one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Cell {
    pub(super) strategy: Strategy,
    /// The mean of the seconds from the decision to the end.
    pub(super) seconds: Figure,
    /// The geometric mean of the ratios to DSA with the same seed, and the ends of its 95 % interval.
    pub(super) to_dsa: f64,
    pub(super) to_dsa_range: Option<[f64; 2]>,
    /// The mean of the ratios to the best strategy of the paper with the same seed.
    pub(super) to_best: f64,
    /// Shares of the trials that are at most 5 %, 20 % and 50 % above that, and more.
    pub(super) bands: [f64; 4],
    /// What the paper prints.
    pub(super) paper: Option<f64>,
}

impl Cell {
    pub(super) fn new(strategy: Strategy, trials: &[Completions], paper: Option<f64>) -> Self {
        let index = strategy.index();
        let of = |figure: &dyn Fn(&Completions) -> f64| -> Vec<f64> {
            trials.iter().map(figure).collect()
        };
        let seconds = Estimate::of(&of(&|trial| trial[index]));
        let logarithms = of(&|trial| (trial[index] / trial[Strategy::Dsa.index()]).ln());
        let ratio = Estimate::of(&logarithms);
        let above = of(&|trial| {
            let best = Strategy::PAPER.map(|strategy| trial[strategy.index()]);
            trial[index] / best.into_iter().fold(f64::INFINITY, f64::min)
        });
        Self {
            strategy,
            seconds: Figure {
                value: seconds.mean,
                margin: seconds.margin,
            },
            to_dsa: ratio.mean.exp(),
            to_dsa_range: ratio
                .margin
                .map(|margin| [-1.0, 1.0].map(|side| (ratio.mean + side * margin).exp())),
            to_best: above.iter().sum::<f64>() / real(length(above.len())),
            bands: bands(&above),
            paper,
        }
    }
}

/// The shares of `above` in each band.
fn bands(above: &[f64]) -> [f64; 4] {
    let mut bands = [0.0; 4];
    for ratio in above {
        let band = BANDS.iter().position(|most| *ratio <= 1.0 + most);
        bands[band.unwrap_or(BANDS.len())] += 1.0 / real(length(above.len()));
    }
    bands
}

/// The paper's bands: how far above the best.
const BANDS: [f64; 3] = [0.05, 0.2, 0.5];

#[cfg(test)]
mod tests {
    use super::*;

    fn close(bands: [f64; 4], expected: [f64; 4]) {
        let differ = |(met, expected): (f64, f64)| 1e-12 < (met - expected).abs();
        assert!(!bands.into_iter().zip(expected).any(differ), "{bands:?}");
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        let trials = [
            [1.0, 2.0, 1.0, 4.0, 1.0, 1.0],
            [10.0, 10.0, 9.0, 40.0, 9.0, 8.0],
        ];
        let cell = Cell::new(Strategy::Mcm, &trials, Some(3.0));
        assert!((cell.seconds.value - 6.0).abs() < 1e-12);
        assert!((cell.to_dsa - 2.0_f64.sqrt()).abs() < 1e-12);
        assert!((cell.to_best - f64::midpoint(2.0, 10.0 / 9.0)).abs() < 1e-12);
        close(cell.bands, [0.0, 0.5, 0.0, 0.5]);
        // A choice of ours may be better than the best of the paper.
        let beyond = Cell::new(Strategy::Clairvoyant, &trials, None);
        close(beyond.bands, [1.0, 0.0, 0.0, 0.0]);
    }
}
