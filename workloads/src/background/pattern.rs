//! How a load goes up and down.

use bsp::units::Seconds;

use crate::draws::unit;

/// How the fraction that is taken away goes up and down. `level` is the most of it, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// `level` or nothing, in turns that last geometrically distributed numbers of steps.
    ///
    /// A trace begins busy with the probability that it has at any other time, so that its mean is
    /// `level` · `busy` / (`busy` + `idle`).
    OnOff {
        /// What is taken while somebody is there.
        level: f64,
        /// Mean time for which somebody is there.
        busy: Seconds,
        /// Mean time between.
        idle: Seconds,
    },
    /// A slow random walk around half of `level`: eight others want an eighth of it each, and in every
    /// step one of them, whichever it is, thinks again whether to be there, as probably as not.
    ///
    /// The mean is `level` / 2, the standard deviation `level` / √32, and the correlation of two values
    /// falls by an eighth with every step between them.
    Walk {
        /// What the eight take together.
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
    pub(super) fn fractions(
        self,
        step: f64,
        steps: u64,
        draw: &mut impl FnMut() -> u64,
    ) -> Vec<f64> {
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

/// `level` / 8 for each of eight others that is there.
fn walk(level: f64, steps: u64, draw: &mut impl FnMut() -> u64) -> Vec<f64> {
    // A bit for each of them.
    let mut present = draw() & 0xff;
    let mut next = |_| {
        let fraction = level * f64::from(present.count_ones()) / 8.0;
        let bits = draw();
        let (who, comes) = (bits & 7, bits >> 3 & 1);
        present = present & !(1 << who) | comes << who;
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
