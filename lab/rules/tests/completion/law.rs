//! Distributions of the service times of owner's jobs, all with a mean of 1 s.

use bsp::units::Seconds;
use lab_rules::completion::{Completion, OwnerJobs};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    Deterministic,
    /// The sum of four exponential numbers.
    Erlang,
    Exponential,
    /// One of two exponential numbers, each with half of the mean; the squared coefficient of variation is 4.
    Hyperexponential,
    /// `2 / x` with `x` even from 1/100 to 1, scaled to the mean.
    Pareto,
}

/// Random numbers of a test.
#[derive(Debug)]
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Above 0, at most 1.
    pub(crate) fn unit(&mut self) -> f64 {
        1.0 - (self.0.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

impl Law {
    pub(crate) const ALL: [Self; 5] = [
        Self::Deterministic,
        Self::Erlang,
        Self::Exponential,
        Self::Hyperexponential,
        Self::Pareto,
    ];

    pub(crate) fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Deterministic => 1.0,
            Self::Erlang => (0..4).map(|_| draws.exponential(0.25)).sum(),
            Self::Exponential => draws.exponential(1.0),
            Self::Hyperexponential => {
                let share = Self::share();
                let frequent = draws.unit() <= share;
                let half = if frequent { share } else { 1.0 - share };
                draws.exponential(0.5 / half)
            }
            Self::Pareto => {
                let x = 1.0 / RANGE + (1.0 - 1.0 / RANGE) * draws.unit();
                2.0 / x / Self::pareto_mean()
            }
        }
    }

    pub(crate) fn deviation(self) -> f64 {
        match self {
            Self::Deterministic => 0.0,
            Self::Erlang => 0.5,
            Self::Exponential => 1.0,
            Self::Hyperexponential => 2.0,
            // E[(2 / x)²] = 4 RANGE.
            Self::Pareto => (4.0 * RANGE / Self::pareto_mean().powi(2) - 1.0).sqrt(),
        }
    }

    /// A task of the time `dedicated` among such jobs, on an idle host.
    pub(crate) fn task(self, dedicated: f64, utilisation: f64) -> Completion {
        let seconds = |value| Seconds::new(value).unwrap();
        let jobs = OwnerJobs::new(utilisation, seconds(1.0), seconds(self.deviation())).unwrap();
        Completion::new(seconds(dedicated), &jobs)
    }

    /// How many of the hyperexponential jobs are of the frequent kind.
    fn share() -> f64 {
        (1.0 + (3.0_f64 / 5.0).sqrt()) / 2.0
    }

    fn pareto_mean() -> f64 {
        2.0 * RANGE.ln() / (1.0 - 1.0 / RANGE)
    }
}

/// Tasks on hosts with utilisations in equal steps from 0.05 to 0.65: each of the time `dedicated`, or each of a
/// time that makes their means equal, with this mean.
pub(crate) fn several(
    law: Law,
    dedicated: f64,
    count: u32,
    has_equal_ends: bool,
) -> Vec<Completion> {
    let task = |number: u32| {
        let (dedicated, utilisation) = share(dedicated, number, count, has_equal_ends);
        law.task(dedicated, utilisation)
    };
    (0..count).map(task).collect()
}

/// Dedicated time and utilisation of one of [`several`] tasks.
pub(crate) fn share(dedicated: f64, number: u32, count: u32, has_equal_ends: bool) -> (f64, f64) {
    let utilisation = 0.05 + 0.6 * f64::from(number) / f64::from(count - 1);
    let factor = if has_equal_ends {
        (1.0 - utilisation) / 0.65
    } else {
        1.0
    };
    (dedicated * factor, utilisation)
}

const RANGE: f64 = 100.0;
