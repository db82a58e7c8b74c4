//! Jobs that the owner of a host runs on it.

use std::sync::Arc;

use bsp::units::Seconds;

/// Jobs that the owner of a host runs on it, beside the computations of [`Engine`](crate::Engine).
///
/// A job occupies one core. Jobs share the cores of their host equally among themselves. With a period, all of them
/// arrive again after every multiple of it, and the host begins as after a period of them: it may be busy at zero.
///
/// Invariant: at least one job; arrivals are finite, not negative and do not decrease; the work of each is finite and
/// above zero; the period, if any, exceeds the last arrival.
#[derive(Clone, Debug, PartialEq)]
pub struct Jobs {
    jobs: Arc<[Job]>,
    period: Option<f64>,
    discipline: Discipline,
}

/// A job of an owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// When it arrives, in seconds since the run began.
    pub arrival: f64,
    /// How long it occupies a core that it has for itself, in seconds.
    pub work: f64,
}

/// What our computations leave to jobs, and jobs to our computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Jobs come first: computations have the cores that jobs leave.
    Preemptive,
    /// An operating system shares the cores: a job counts as one computation more.
    Shared,
}

/// Why a list of jobs is not valid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum JobsError {
    /// No job.
    #[error("there must be at least one job")]
    Empty,
    /// An arrival that is negative, not finite, or before the one listed before it.
    #[error("invalid arrival `{arrival}` of a job: must be finite and not before {earliest} s")]
    Arrival {
        /// The arrival.
        arrival: f64,
        /// The arrival before it, or zero.
        earliest: f64,
    },
    /// Work that is not above zero and finite.
    #[error("invalid work `{0}` of a job: must be above 0 s and finite")]
    Work(f64),
    /// A period that is not longer than the last arrival.
    #[error("invalid period `{period}`: must be longer than the {last} s until the last arrival")]
    Period {
        /// The period.
        period: f64,
        /// The last arrival.
        last: f64,
    },
}

impl Jobs {
    /// These jobs, in the order of their arrival, repeated every `period` if one is given.
    ///
    /// # Errors
    ///
    /// Names the job, or the period, that breaks the invariant.
    pub fn new(
        jobs: Vec<Job>,
        period: Option<Seconds>,
        discipline: Discipline,
    ) -> Result<Self, JobsError> {
        let mut earliest = 0.0;
        for Job { arrival, work } in &jobs {
            if !(arrival.is_finite() && earliest <= *arrival) {
                let arrival = *arrival;
                return Err(JobsError::Arrival { arrival, earliest });
            }
            if !(work.is_finite() && 0.0 < *work) {
                return Err(JobsError::Work(*work));
            }
            earliest = *arrival;
        }
        let period = period.map(Seconds::get);
        match (jobs.is_empty(), period) {
            (true, _) => Err(JobsError::Empty),
            (false, Some(period)) if period <= earliest => Err(JobsError::Period {
                period,
                last: earliest,
            }),
            (false, period) => Ok(Self {
                jobs: jobs.into(),
                period,
                discipline,
            }),
        }
    }

    /// The jobs of the first period.
    #[must_use]
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Time after which they are repeated.
    #[must_use]
    pub fn period(&self) -> Option<Seconds> {
        self.period.and_then(|period| Seconds::new(period).ok())
    }

    /// What computations leave to jobs.
    #[must_use]
    pub const fn discipline(&self) -> Discipline {
        self.discipline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(jobs: &[(f64, f64)], period: Option<f64>) -> Result<Jobs, JobsError> {
        let jobs = jobs.iter();
        let jobs = jobs.map(|(arrival, work)| Job {
            arrival: *arrival,
            work: *work,
        });
        let period = period.map(|period| Seconds::new(period).unwrap());
        Jobs::new(jobs.collect(), period, Discipline::Shared)
    }

    #[test]
    fn invalid_jobs_are_refused() {
        assert!(jobs(&[(0.0, 1.0), (0.0, 2.0), (3.0, 0.5)], Some(3.5)).is_ok());
        assert_eq!(jobs(&[], None), Err(JobsError::Empty));
        let arrival = |arrival, earliest| Err(JobsError::Arrival { arrival, earliest });
        assert_eq!(jobs(&[(-1.0, 1.0)], None), arrival(-1.0, 0.0));
        assert_eq!(jobs(&[(2.0, 1.0), (1.0, 1.0)], None), arrival(1.0, 2.0));
        assert!(jobs(&[(f64::NAN, 1.0)], None).is_err());
        assert_eq!(jobs(&[(0.0, 0.0)], None), Err(JobsError::Work(0.0)));
        assert!(jobs(&[(0.0, f64::INFINITY)], None).is_err());
        let period = Err(JobsError::Period {
            period: 2.0,
            last: 2.0,
        });
        assert_eq!(jobs(&[(2.0, 1.0)], Some(2.0)), period);
    }
}
