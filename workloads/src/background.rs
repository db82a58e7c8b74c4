//! Background load on hosts and links: traces drawn from the run's seed.
//!
//! A trace is the fraction of a host or link that is taken over time, or a list of jobs. It is computed with integers,
//! the four basic operations and the functions of `libm`, so it is the same on every machine. It depends on the seed,
//! the number of the host or link, and the parameters, not on which others are loaded.

mod levels;
mod owners;
mod pattern;

use std::ops::RangeInclusive;

use bsp::units::Seconds;
use rand_chacha::rand_core::Rng;

use crate::draws::{by_lot, generator, part};
use crate::parameters::whole;

pub use self::levels::Levels;
pub use self::owners::{Lifetimes, OwnerJob, OwnerJobs, OwnerLoad};
pub use self::pattern::Pattern;

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

#[cfg(test)]
mod tests;
