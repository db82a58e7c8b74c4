//! Levels of links that are drawn once and vary around that.

use bsp::units::Seconds;

use super::{FRACTION, OutOfRange, Target, Trace, chosen, in_steps, ordered, within};
use crate::draws::{generator, unit};

use rand_chacha::rand_core::Rng;

/// The part of the bandwidth of links that is available: a level that is drawn for each link, and variation around it
/// that forgets.
///
/// The level is log-uniform in a range: its logarithm is uniform. The variation is an autoregressive process of first
/// order, normally distributed, with a standard deviation that is a part of the level; its correlation falls by the
/// factor e in the time of its memory. The available part is at least a tenth of the level and at most 1.
///
/// Invariant: the range lies in `(0, 1]`; the variation lies between 0 and 1; the memory is above zero; share, step and
/// period are as in [`Background`](super::Background).
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
