//! The jobs of a host's owner.

use bsp::units::Seconds;

/// Jobs that arrive at a host at random (Poisson), are served in turn, and interrupt the task.
///
/// Equation `OWNERS` of `docs/model.md`.
///
/// | symbol | method | unit |
/// |---|---|---|
/// | `ρ` | [`utilisation`](Self::utilisation) | 1 |
/// | `1 / μ_s` | [`mean`](Self::mean) | s |
/// | `σ` | [`deviation`](Self::deviation) | s |
/// | `λ = ρ μ_s` | [`arrivals`](Self::arrivals) | 1/s |
/// | `θ = σ μ_s` | [`variation`](Self::variation) | 1 |
/// | `E[X²] = σ² + 1 / μ_s²` | [`second_moment`](Self::second_moment) | s² |
///
/// Invariant: `0 ≤ ρ < 1`, the mean is from 10⁻³⁰ to 10³⁰ s and the deviation from zero to 10³⁰ s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnerJobs {
    utilisation: f64,
    mean: Seconds,
    deviation: Seconds,
}

/// Why numbers describe no jobs.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum OwnerJobsError {
    /// The host never becomes idle, or the share is no share.
    #[error("invalid utilisation `{0}`: must be at least 0 and below 1")]
    Utilisation(f64),
    /// Jobs take no time.
    #[error("invalid mean service time `{0}`: must be above 0 s")]
    Mean(Seconds),
    /// A negative spread of service times.
    #[error("invalid deviation of service times `{0}`: must be at least 0 s")]
    Deviation(Seconds),
}

impl OwnerJobs {
    /// Jobs that use the share `utilisation` of the host, in `[0, 1)`, with service times of the given `mean` and
    /// standard `deviation`. Times outside the invariant's bounds count as the nearest bound.
    ///
    /// # Errors
    ///
    /// If the utilisation is not in `[0, 1)`, the mean not above zero or the deviation negative.
    pub fn new(
        utilisation: f64,
        mean: Seconds,
        deviation: Seconds,
    ) -> Result<Self, OwnerJobsError> {
        if !(0.0..1.0).contains(&utilisation) {
            return Err(OwnerJobsError::Utilisation(utilisation));
        }
        if mean <= Seconds::ZERO {
            return Err(OwnerJobsError::Mean(mean));
        }
        if deviation < Seconds::ZERO {
            return Err(OwnerJobsError::Deviation(deviation));
        }
        Ok(Self {
            // Adding zero turns -0.0 into 0.0.
            utilisation: utilisation + 0.0,
            mean: Seconds::bounded(mean.get().max(MEAN_MIN)),
            deviation: Seconds::bounded(deviation.get()),
        })
    }

    /// Share of the host's time that the jobs use, in `[0, 1)`.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Mean service time of a job.
    #[must_use]
    pub fn mean(&self) -> Seconds {
        self.mean
    }

    /// Standard deviation of the service times.
    #[must_use]
    pub fn deviation(&self) -> Seconds {
        self.deviation
    }

    /// Jobs that arrive per second.
    #[must_use]
    pub fn arrivals(&self) -> f64 {
        self.utilisation / self.mean.get()
    }

    /// Coefficient of variation of the service times, at least 0.
    #[must_use]
    pub fn variation(&self) -> f64 {
        self.deviation.get() / self.mean.get()
    }

    /// Mean of the squared service time, in s².
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        let (mean, deviation) = (self.mean.get(), self.deviation.get());
        deviation * deviation + mean * mean
    }

    /// Share of the host's time that is left to the task, in `(0, 1]`.
    pub(super) fn rest(&self) -> f64 {
        1.0 - self.utilisation
    }
}

/// Seconds; keeps rates and their products finite.
const MEAN_MIN: f64 = 1e-30;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn rates_and_moments_follow_from_the_three_numbers() {
        let jobs = OwnerJobs::new(0.5, seconds(4.0), seconds(3.0)).unwrap();
        assert_eq!(jobs.arrivals().to_bits(), 0.125_f64.to_bits());
        assert_eq!(jobs.second_moment().to_bits(), 25.0_f64.to_bits());
        assert_eq!(jobs.variation().to_bits(), 0.75_f64.to_bits());
    }

    #[test]
    fn impossible_jobs_are_refused() {
        let check = |utilisation, mean, deviation, expected: &str| {
            let error = OwnerJobs::new(utilisation, seconds(mean), seconds(deviation)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        let range = "must be at least 0 and below 1";
        for utilisation in [1.0, 7.0, -1e-9, f64::NAN, f64::INFINITY] {
            let expected = format!("invalid utilisation `{utilisation}`: {range}");
            check(utilisation, 1.0, 1.0, &expected);
        }
        let mean = "invalid mean service time";
        check(0.5, 0.0, 1.0, &format!("{mean} `0 s`: must be above 0 s"));
        check(0.5, -1.0, 1.0, &format!("{mean} `-1 s`: must be above 0 s"));
        check(
            0.5,
            1.0,
            -1.0,
            "invalid deviation of service times `-1 s`: must be at least 0 s",
        );
    }

    #[test]
    fn extreme_jobs_have_finite_rates() {
        for (mean, deviation) in [(5e-324, 0.0), (f64::MAX, 0.0), (5e-324, f64::MAX)] {
            let jobs = OwnerJobs::new(0.999, seconds(mean), seconds(deviation)).unwrap();
            assert!(jobs.arrivals().is_finite() && 0.0 < jobs.arrivals());
            assert!(jobs.second_moment().is_finite());
        }
    }
}
