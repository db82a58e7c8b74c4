//! Background load on hosts and links: traces drawn from the run's seed.
//!
//! A trace is the fraction of a host or link that is taken over time, or a list of jobs. It is computed with integers,
//! the four basic operations and the functions of `libm`, so it is the same on every machine. It depends on the seed,
//! the number of the host or link, and the parameters, not on which others are loaded.

mod owners;

use std::ops::RangeInclusive;

use bsp::units::Seconds;
use rand_chacha::rand_core::Rng;

use crate::draws::{by_lot, generator, part, unit};
use crate::parameters::whole;

pub use owners::{Lifetimes, OwnerJob, OwnerJobs, OwnerLoad};

/// Background load of some hosts or links.
///
/// Invariant: `share` and the level lie between 0 and 1; `step` is above zero; the period is `steps`
/// of them, one at least and a million at most; busy and idle times last a step at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    pattern: Pattern,
    share: f64,
    /// Seconds.
    step: f64,
    steps: u64,
}

/// What is loaded. Hosts and links of equal number have different traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Hosts.
    Hosts,
    /// Links.
    Links,
}

/// A number that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("invalid value `{value:?}` for `{key}`: must be {expected}")]
pub struct OutOfRange {
    /// The name of the number, as in a configuration: `share`, `step`, `utilisation`.
    pub key: &'static str,
    /// The number found; times in seconds.
    pub value: f64,
    /// What is expected instead.
    pub expected: &'static str,
}

/// The fraction of one host or link that is taken over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// From each date on, the fraction that is taken; the first date is zero, dates increase, and
    /// neighbouring fractions differ.
    pub points: Vec<(Seconds, f64)>,
    /// Time after which it is repeated.
    pub period: Seconds,
}

impl Background {
    /// The load of a `share` of the hosts or links, in steps of length `step`, repeated after `period`,
    /// rounded to whole steps.
    ///
    /// # Errors
    ///
    /// The first number that is out of range.
    pub fn new(
        pattern: Pattern,
        share: f64,
        step: Seconds,
        period: Seconds,
    ) -> Result<Self, OutOfRange> {
        let (step, steps) = (step.get(), in_steps(share, step.get(), period)?);
        let (Pattern::OnOff { level, .. } | Pattern::Walk { level } | Pattern::Wave { level }) =
            pattern;
        within("level", level, 0.0..=1.0, FRACTION)?;
        if let Pattern::OnOff { busy, idle, .. } = pattern {
            for (key, mean) in [("busy", busy.get()), ("idle", idle.get())] {
                within(key, mean, step..=f64::MAX, "a time of at least one `step`")?;
            }
        }
        Ok(Self {
            pattern,
            share,
            step,
            steps,
        })
    }

    /// The loaded ones of `numbers`, ascending, with their traces.
    ///
    /// # Panics
    ///
    /// If there are more numbers than 32 bits count.
    pub fn traces(
        &self,
        seed: u64,
        target: Target,
        numbers: &[u32],
    ) -> impl Iterator<Item = (u32, Trace)> + use<> {
        let background = *self;
        chosen(self.share, seed, target, numbers)
            .into_iter()
            .map(move |number| (number, background.trace(seed, target, number)))
    }

    /// Number of steps of a period, which is the cost of drawing a trace.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    fn trace(&self, seed: u64, target: Target, number: u32) -> Trace {
        let mut draws = generator(seed, target.purpose(), number);
        let mut draw = || draws.next_u64();
        let fractions = self.pattern.fractions(self.step, self.steps, &mut draw);
        Trace::of_steps(fractions, self.step)
    }
}

impl Trace {
    /// The trace of these `fractions`, one in each step, repeated after the last.
    fn of_steps(fractions: Vec<f64>, step: f64) -> Self {
        let after = |steps: f64| Seconds::new(step * steps).expect("a period was checked");
        let period = after(fractions.len() as f64);
        let mut points: Vec<(Seconds, f64)> = Vec::new();
        for (number, fraction) in (0_u32..).zip(fractions) {
            if points
                .last()
                .is_none_or(|(_, last)| last.to_bits() != fraction.to_bits())
            {
                points.push((after(f64::from(number)), fraction));
            }
        }
        Self { points, period }
    }
}

impl Target {
    const fn purpose(self) -> &'static [u8; 24] {
        match self {
            Self::Hosts => b"background load of hosts",
            Self::Links => b"background load of links",
        }
    }

    const fn choice(self) -> &'static [u8; 24] {
        match self {
            Self::Hosts => b"hosts loaded by others  ",
            Self::Links => b"links loaded by others  ",
        }
    }
}

/// The `share` of `numbers` that is loaded, ascending.
fn chosen(share: f64, seed: u64, target: Target, numbers: &[u32]) -> Vec<u32> {
    let count = u32::try_from(numbers.len()).expect("hosts and links are numbered in 32 bits");
    let mut chosen = by_lot(seed, target.choice(), numbers.iter().copied());
    let number = usize::try_from(part(share, count)).expect("no more than there are");
    chosen.truncate(number);
    chosen.sort_unstable();
    chosen
}

/// The number of steps in a period, if `share`, `step` (in seconds) and `period` are in range.
fn in_steps(share: f64, step: f64, period: Seconds) -> Result<u64, OutOfRange> {
    within("share", share, 0.0..=1.0, FRACTION)?;
    within("step", step, STEP_MIN..=f64::MAX, "a time of at least 1 us")?;
    let expected = "a time of one `step` to a million of them, 1e12 s at most";
    let longest = (step * STEPS_MAX).min(PERIOD_MAX);
    within("period", period.get(), step..=longest, expected)?;
    Ok(whole(period.get() / step))
}

/// Checks a range.
fn ordered(key: &'static str, range: [f64; 2]) -> Result<(), OutOfRange> {
    let expected = "a range from a lower number to a higher one";
    within(key, range[0], f64::NEG_INFINITY..=range[1], expected)
}

fn within(
    key: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    expected: &'static str,
) -> Result<(), OutOfRange> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(OutOfRange {
            key,
            value,
            expected,
        })
    }
}

const FRACTION: &str = "a number from 0 to 1";
/// Traces with more steps are mistakes, and take too much memory.
const STEPS_MAX: f64 = 1e6;
/// Seconds; longer than any run, and far from where dates overflow.
const PERIOD_MAX: f64 = 1e12;
/// Seconds; shorter steps get lost in the last digits of dates.
const STEP_MIN: f64 = 1e-6;

/// How the fraction that is taken goes up and down. `level` is the most of it, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// `level` or nothing, in turns that last geometrically distributed numbers of steps.
    ///
    /// A trace begins busy with the probability that it has at any other time, so that its mean is
    /// `level` · `busy` / (`busy` + `idle`).
    OnOff {
        /// The fraction that is taken during busy times.
        level: f64,
        /// Mean length of busy times.
        busy: Seconds,
        /// Mean length of idle times.
        idle: Seconds,
    },
    /// A slow random walk around half of `level`: eight users take an eighth of it each while they are
    /// present, and in every step one of them, drawn at random, is redrawn as present or absent with equal
    /// probability.
    ///
    /// The mean is `level` / 2, the standard deviation `level` / √32, and the correlation of two values
    /// falls by an eighth with every step between them.
    Walk {
        /// The fraction that all eight take together.
        level: f64,
    },
    /// Up and down once in every period, in two arcs of a parabola, from a drawn phase on. The mean is
    /// `level` / 2.
    Wave {
        /// The crest.
        level: f64,
    },
}

impl Pattern {
    /// The fraction in each of `steps` steps of length `step`, in seconds.
    fn fractions(self, step: f64, steps: u64, draw: &mut impl FnMut() -> u64) -> Vec<f64> {
        match self {
            Self::OnOff { level, busy, idle } => {
                on_off(level, step / busy.get(), step / idle.get(), steps, draw)
            }
            Self::Walk { level } => walk(level, steps, draw),
            Self::Wave { level } => wave(level, steps, unit(draw())),
        }
    }
}

/// `level` or nothing in each step; a busy time ends after each of its steps with the probability
/// `ends`, an idle one with `begins`.
fn on_off(
    level: f64,
    ends: f64,
    begins: f64,
    steps: u64,
    draw: &mut impl FnMut() -> u64,
) -> Vec<f64> {
    let mut is_busy = unit(draw()) * (begins + ends) < begins;
    let mut next = |_| {
        let fraction = if is_busy { level } else { 0.0 };
        is_busy ^= unit(draw()) < if is_busy { ends } else { begins };
        fraction
    };
    (0..steps).map(&mut next).collect()
}

/// `level` / 8 for each of eight users that is present.
fn walk(level: f64, steps: u64, draw: &mut impl FnMut() -> u64) -> Vec<f64> {
    // A bit for each user.
    let mut present = draw() & 0xff;
    let mut next = |_| {
        let fraction = level * f64::from(present.count_ones()) / 8.0;
        let bits = draw();
        let (user, comes) = (bits & 7, bits >> 3 & 1);
        present = present & !(1 << user) | comes << user;
        fraction
    };
    (0..steps).map(&mut next).collect()
}

/// From 0 to `level` and back, the mean on the way up first at `phase` 0.
fn wave(level: f64, steps: u64, phase: f64) -> Vec<f64> {
    let arc = |x: f64| 4.0 * x * (1.0 - x);
    let fraction = |step: u64| {
        let position = step as f64 / steps as f64 + phase;
        let position = position - position.floor();
        let height = if position < 0.5 {
            arc(2.0 * position)
        } else {
            -arc(2.0 * position - 1.0)
        };
        level * (1.0 + height) / 2.0
    };
    (0..steps).map(fraction).collect()
}

/// The part of the bandwidth of links that is available: a level that is drawn for each link, and variation around it
/// that forgets.
///
/// The level is log-uniform in a range: its logarithm is uniform. The variation is an autoregressive process of first
/// order, normally distributed, with a standard deviation that is a part of the level; its correlation falls by the
/// factor e in the time of its memory. The available part is at least a tenth of the level and at most 1.
///
/// Invariant: the range lies in `(0, 1]`; the variation lies between 0 and 1; the memory is above zero; share, step and
/// period are as in [`Background`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    available: [f64; 2],
    variation: f64,
    /// Seconds.
    memory: f64,
    share: f64,
    /// Seconds.
    step: f64,
    steps: u64,
}

impl Levels {
    /// Levels in the range `available`, with a standard deviation of `variation`, a part of the level, and a `memory`.
    ///
    /// # Errors
    ///
    /// The first number that is out of range.
    pub fn new(
        available: [f64; 2],
        (variation, memory): (f64, Seconds),
        share: f64,
        (step, period): (Seconds, Seconds),
    ) -> Result<Self, OutOfRange> {
        let expected = "a part of the bandwidth from 0.001 to 1";
        for bound in available {
            within("available", bound, AVAILABLE_MIN..=1.0, expected)?;
        }
        ordered("available", available)?;
        within("variation", variation, 0.0..=1.0, FRACTION)?;
        let steps = in_steps(share, step.get(), period)?;
        let expected = "a time of at least one `step`";
        within("memory", memory.get(), step.get()..=f64::MAX, expected)?;
        Ok(Self {
            available,
            variation,
            memory: memory.get(),
            share,
            step: step.get(),
            steps,
        })
    }

    /// The changing ones of `numbers`, ascending, with the traces of the part that is taken.
    pub fn traces(&self, seed: u64, numbers: &[u32]) -> impl Iterator<Item = (u32, Trace)> + use<> {
        let levels = *self;
        chosen(self.share, seed, Target::Links, numbers)
            .into_iter()
            .map(move |number| (number, levels.trace(seed, number)))
    }

    /// Number of steps of a period, which is the cost of drawing a trace.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    fn trace(&self, seed: u64, number: u32) -> Trace {
        let mut draws = generator(seed, PURPOSE, number);
        let mut uniform = || unit(draws.next_u64());
        let [low, high] = self.available.map(libm::log);
        let level = libm::exp(low + uniform() * (high - low));
        let remembered = libm::exp(-self.step / self.memory);
        let renewed = (1.0 - remembered * remembered).max(0.0).sqrt();
        let mut state = normal(&mut uniform);
        let taken = (0..self.steps).map(|_| {
            let available = level * (1.0 + self.variation * state);
            state = remembered * state + renewed * normal(&mut uniform);
            1.0 - available.clamp(level * LEAST, 1.0)
        });
        Trace::of_steps(taken.collect(), self.step)
    }
}

/// A draw with mean 0 and standard deviation 1, nearly normally distributed: the sum of twelve uniform draws, which are
/// not added to others by any function of the machine.
fn normal(uniform: &mut impl FnMut() -> f64) -> f64 {
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

const PURPOSE: &[u8; 24] = b"levels of shared links  ";

/// The least part of a bandwidth that a range may name: with less, a link is of no use.
const AVAILABLE_MIN: f64 = 0.001;

/// The least part of its level that is available on a link.
const LEAST: f64 = 0.1;

#[cfg(test)]
mod tests;
