//! Background load on hosts and links: traces drawn from the run's seed.
//!
//! A trace is the fraction of a host or link that is taken over time. Time is counted in steps, and only
//! integers and the four basic operations are used, so a trace is the same on every machine. It depends
//! on the seed, the number of the host or link, and the parameters, not on which others are loaded.

mod pattern;

use std::ops::RangeInclusive;

use bsp::units::Seconds;
use rand_chacha::rand_core::Rng;

use crate::draws::{by_lot, generator, part};
use crate::parameters::whole;

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
    /// The number's name: `share`, `step`, `period`, `level`, `busy` or `idle`.
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
        let fraction = "a number from 0 to 1";
        within("share", share, 0.0..=1.0, fraction)?;
        let (step, period) = (step.get(), period.get());
        within("step", step, STEP_MIN..=f64::MAX, "a time of at least 1 us")?;
        let expected = "a time of one `step` to a million of them, 1e12 s at most";
        let longest = (step * STEPS_MAX).min(PERIOD_MAX);
        within("period", period, step..=longest, expected)?;
        let (Pattern::OnOff { level, .. } | Pattern::Walk { level } | Pattern::Wave { level }) =
            pattern;
        within("level", level, 0.0..=1.0, fraction)?;
        if let Pattern::OnOff { busy, idle, .. } = pattern {
            for (key, mean) in [("busy", busy.get()), ("idle", idle.get())] {
                within(key, mean, step..=f64::MAX, "a time of at least one `step`")?;
            }
        }
        Ok(Self {
            pattern,
            share,
            step,
            steps: whole(period / step),
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
    ) -> impl Iterator<Item = (u32, Trace)> {
        let count = u32::try_from(numbers.len()).expect("hosts and links are numbered in 32 bits");
        let mut chosen = by_lot(seed, target.choice(), numbers.iter().copied());
        let chosen_count =
            usize::try_from(part(self.share, count)).expect("no more than there are");
        chosen.truncate(chosen_count);
        chosen.sort_unstable();
        let background = *self;
        chosen
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
        let mut points: Vec<(Seconds, f64)> = Vec::new();
        for (step, fraction) in (0_u32..).zip(fractions) {
            if points
                .last()
                .is_none_or(|(_, last)| last.to_bits() != fraction.to_bits())
            {
                points.push((self.after(f64::from(step)), fraction));
            }
        }
        Trace {
            points,
            period: self.after(self.steps as f64),
        }
    }

    fn after(&self, steps: f64) -> Seconds {
        Seconds::new(self.step * steps).expect("a period was checked to be finite")
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

/// Traces with more steps are mistakes, and take too much memory.
const STEPS_MAX: f64 = 1e6;
/// Seconds; longer than any run, and far from where dates overflow.
const PERIOD_MAX: f64 = 1e12;
/// Seconds; shorter steps get lost in the last digits of dates.
const STEP_MIN: f64 = 1e-6;

#[cfg(test)]
mod tests;
