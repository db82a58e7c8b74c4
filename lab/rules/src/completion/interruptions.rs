//! How long owner's jobs interrupt a task altogether.

use super::incomplete_gamma;
use super::owner_jobs::OwnerJobs;

/// The distribution of the time `U` that a task of the dedicated time `d` is interrupted.
///
/// Equation `COMPLETION` of `docs/model.md`: `U` is zero with probability `e^{−λd}`; else it is fitted, by its exact
/// mean and variance, by a gamma distribution if jobs vary at most as exponential ones (`θ ≤ 1`), and by a lognormal
/// one if they vary more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interruptions {
    /// Probability of at least one interruption, in `[0, 1]`.
    any: f64,
    fit: Fit,
}

#[derive(Clone, Copy, Debug)]
enum Fit {
    Gamma { shape: f64, scale: f64 },
    LogNormal { location: f64, spread: f64 },
}

impl Interruptions {
    /// `None` without owner's jobs or without work. `dedicated` is from zero to 10³⁰ s.
    pub(super) fn new(dedicated: f64, jobs: &OwnerJobs) -> Option<Self> {
        let number = jobs.arrivals() * dedicated;
        if number <= 0.0 {
            return None;
        }
        let any = -libm::expm1(-number);
        let (mean, relative) = moments(number, any, jobs);
        let fit = if jobs.variation() <= 1.0 {
            Fit::Gamma {
                shape: 1.0 / relative,
                scale: mean * relative,
            }
        } else {
            let square = libm::log1p(relative);
            Fit::LogNormal {
                location: libm::log(mean) - square / 2.0,
                spread: libm::sqrt(square),
            }
        };
        Some(Self { any, fit })
    }

    /// Probability that interruptions take more than `time` seconds.
    pub(super) fn survival(&self, time: f64) -> f64 {
        if time < 0.0 {
            return 1.0;
        }
        let survival = match self.fit {
            Fit::Gamma { shape, scale } => incomplete_gamma::survival(shape, time / scale),
            Fit::LogNormal { location, spread } => {
                let normal = (libm::log(time) - location) / spread;
                0.5 * libm::erfc(normal * std::f64::consts::FRAC_1_SQRT_2)
            }
        };
        self.any * survival
    }

    /// Natural logarithm of the seconds beyond which interruptions add less than 10⁻¹² of their mean to it.
    pub(super) fn longest_log(&self) -> f64 {
        match self.fit {
            Fit::Gamma { shape, scale } => {
                libm::log(scale) + libm::log(shape + 12.0 * libm::sqrt(shape) + 60.0)
            }
            // The mean comes from lengths around e^(location + spread²).
            Fit::LogNormal { location, spread } => location + spread * (spread + 8.0),
        }
    }
}

/// Mean of `U` in seconds if it is above zero, and its variance by the square of the mean.
///
/// `U` is a sum of busy periods, of which a Poisson number comes, one or more. Written without differences of nearly
/// equal numbers.
fn moments(number: f64, any: f64, jobs: &OwnerJobs) -> (f64, f64) {
    let (utilisation, rest) = (jobs.utilisation(), jobs.rest());
    let periods = number / any;
    let period = jobs.mean().get() / rest;
    let variation = jobs.variation();
    let within = (variation * variation + utilisation) / rest;
    let between = (1.0 + number - periods).max(0.0);
    let relative = (within + between) / periods;
    (periods * period, relative.clamp(RELATIVE_MIN, RELATIVE_MAX))
}

/// Bounds of the relative variance within which the fits can be computed.
const RELATIVE_MIN: f64 = 1e-12;
const RELATIVE_MAX: f64 = 1e200;
