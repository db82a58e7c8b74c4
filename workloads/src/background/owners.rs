//! Jobs that owners run on their hosts.

use bsp::units::Seconds;
use rand_chacha::rand_core::Rng;

use super::{FRACTION, OutOfRange, PERIOD_MAX, Target, chosen, ordered, within};
use crate::draws::{generator, unit};

/// Jobs of the owners of hosts: they arrive at random, a Poisson process, and their lifetimes are drawn.
///
/// After the simulation of Du, Sun and Wu (2007, section 5): lifetimes of 2 s / x with x uniform in (0, 1]. They have no
/// mean, so no utilisation either; here lifetimes end at a multiple of the shortest one.
///
/// A job with which those of a period would need more than 0.99 of a host is left out: jobs that need more than the host
/// has would pile up period after period.
///
/// Invariant: utilisations lie in `[0, 1)`, in a range that is not turned round, as that of `spread`, which is above
/// zero; the lifetime is above zero; a period has at most a million jobs per core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnerLoad {
    utilisation: [f64; 2],
    lifetimes: Lifetimes,
    spread: [f64; 2],
    share: f64,
    /// Seconds.
    period: f64,
}

/// How the lifetimes of jobs are distributed: seconds of a core, before the factor of the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lifetimes {
    /// `shortest` / x, where x is uniform between 1 / `longest` and 1: the age of a job predicts its rest.
    Pareto {
        /// The shortest lifetime.
        shortest: Seconds,
        /// The longest lifetime as a multiple of the shortest, above 1.
        longest: f64,
    },
    /// Exponential: the age of a job says nothing about its rest.
    Exponential {
        /// The mean.
        mean: Seconds,
    },
}

/// The jobs of one owner.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerJobs {
    /// The part of the host that its jobs need in the mean, as it was drawn.
    pub utilisation: f64,
    /// In the order of arrival.
    pub jobs: Vec<OwnerJob>,
    /// Time after which they arrive again.
    pub period: Seconds,
}

/// A job of an owner, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnerJob {
    /// When it arrives.
    pub arrival: f64,
    /// How long it occupies a core.
    pub lifetime: f64,
}

impl OwnerLoad {
    /// Owners of a `share` of the hosts. The utilisation of each host is drawn in the range `utilisation`, and the
    /// factor of its lifetimes in the range `spread`. Jobs arrive again after `period`.
    ///
    /// # Errors
    ///
    /// The first number that is out of range.
    pub fn new(
        utilisation: [f64; 2],
        lifetimes: Lifetimes,
        spread: [f64; 2],
        share: f64,
        period: Seconds,
    ) -> Result<Self, OutOfRange> {
        within("share", share, 0.0..=1.0, FRACTION)?;
        for bound in utilisation {
            let expected = "a number from 0 to 0.99: a host is never fully used";
            within("utilisation", bound, 0.0..=UTILISATION_MAX, expected)?;
        }
        ordered("utilisation", utilisation)?;
        for bound in spread {
            let expected = "a factor from 0.001 to 1000";
            within("spread", bound, SPREAD_MIN..=SPREAD_MAX, expected)?;
        }
        ordered("spread", spread)?;
        let (Lifetimes::Pareto {
            shortest: lifetime, ..
        }
        | Lifetimes::Exponential { mean: lifetime }) = lifetimes;
        let expected = "a time of at least 1 ms";
        within(
            "lifetime",
            lifetime.get(),
            LIFETIME_MIN..=f64::MAX,
            expected,
        )?;
        if let Lifetimes::Pareto { longest, .. } = lifetimes {
            let expected = "a number above 1, at most 1e9";
            within("longest", longest, 1.0 + f64::EPSILON..=1e9, expected)?;
        }
        let load = Self {
            utilisation,
            lifetimes,
            spread,
            share,
            period: period.get(),
        };
        let least = f64::MIN_POSITIVE;
        within(
            "period",
            load.period,
            least..=PERIOD_MAX,
            "a time above 0 s, 1e12 s at most",
        )?;
        let jobs = load.expected_jobs(1);
        let expected = "short enough for at most a million jobs of a core";
        within(
            "period",
            load.period,
            least..=load.period * (JOBS_MAX / jobs),
            expected,
        )?;
        Ok(load)
    }

    /// The owners among those of the hosts called `numbers`, ascending; `cores` has the cores of a host by its number.
    /// A host whose utilisation is 0 has none.
    pub fn jobs(
        &self,
        seed: u64,
        numbers: &[u32],
        cores: impl Fn(u32) -> u32,
    ) -> impl Iterator<Item = (u32, OwnerJobs)> {
        let load = *self;
        let drawn = chosen(self.share, seed, Target::Hosts, numbers).into_iter();
        drawn
            .map(move |number| (number, load.draw(seed, number, cores(number))))
            .filter(|(_, owner)| !owner.jobs.is_empty())
    }

    /// The most jobs that arrive in a period on a host with that many `cores`, in the mean.
    #[must_use]
    pub fn expected_jobs(&self, cores: u32) -> f64 {
        let mean = self.lifetimes.mean() * self.spread[0];
        self.period * self.utilisation[1] * f64::from(cores) / mean
    }

    fn draw(&self, seed: u64, number: u32, cores: u32) -> OwnerJobs {
        let mut draws = generator(seed, PURPOSE, number);
        let mut uniform = || unit(draws.next_u64());
        let mut between = |[low, high]: [f64; 2]| low + uniform() * (high - low);
        let utilisation = between(self.utilisation);
        let factor = between(self.spread);
        let mut jobs = Vec::new();
        let gap = self.lifetimes.mean() * factor / (utilisation * f64::from(cores));
        let most = UTILISATION_MAX * self.period * f64::from(cores);
        let (mut arrival, mut work) = (0.0, 0.0);
        loop {
            arrival += gap * exponential(&mut uniform);
            // A gap may be infinite.
            if !arrival.is_finite() || self.period <= arrival {
                break;
            }
            let lifetime = factor * self.lifetimes.draw(&mut uniform);
            if work + lifetime <= most {
                work += lifetime;
                jobs.push(OwnerJob { arrival, lifetime });
            }
        }
        OwnerJobs {
            utilisation,
            jobs,
            period: Seconds::new(self.period).expect("it was checked"),
        }
    }
}

impl Lifetimes {
    /// The mean, in seconds.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Pareto { shortest, longest } => {
                shortest.get() * libm::log(*longest) / (1.0 - 1.0 / longest)
            }
            Self::Exponential { mean } => mean.get(),
        }
    }

    /// The standard deviation, in seconds.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        match self {
            Self::Pareto { shortest, longest } => {
                let mean = self.mean();
                (shortest.get() * shortest.get() * longest - mean * mean)
                    .max(0.0)
                    .sqrt()
            }
            Self::Exponential { mean } => mean.get(),
        }
    }

    /// A lifetime, in seconds.
    fn draw(&self, uniform: &mut impl FnMut() -> f64) -> f64 {
        match self {
            Self::Pareto { shortest, longest } => {
                // From 1 down to the inverse of the longest.
                let x = 1.0 - uniform() * (1.0 - 1.0 / longest);
                shortest.get() / x
            }
            Self::Exponential { mean } => mean.get() * exponential(uniform).max(f64::EPSILON),
        }
    }
}

/// A draw from the exponential distribution with mean 1, by comparisons alone (von Neumann, 1951): the length of a
/// descending run of uniform draws is odd with the probability that its first draw is to be accepted with.
fn exponential(uniform: &mut impl FnMut() -> f64) -> f64 {
    let mut whole = 0.0;
    loop {
        let first = uniform();
        let (mut last, mut length) = (first, 1_u32);
        loop {
            let next = uniform();
            if last < next {
                break;
            }
            last = next;
            length += 1;
        }
        if length % 2 == 1 {
            return whole + first;
        }
        whole += 1.0;
    }
}

const PURPOSE: &[u8; 24] = b"jobs of owners of hosts ";
const UTILISATION_MAX: f64 = 0.99;
const SPREAD_MIN: f64 = 0.001;
const SPREAD_MAX: f64 = 1000.0;
/// Seconds.
const LIFETIME_MIN: f64 = 0.001;
/// Jobs per core and period.
const JOBS_MAX: f64 = 1e6;
