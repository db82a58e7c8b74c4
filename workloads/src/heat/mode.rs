//! The modes of a plate: what keeps its shape, and how fast it decays.

use std::fmt;

use super::{Parameters, diffusion};
use crate::parameters::{Error, at_least_one};

/// A mode of the plate of cells: an eigenvector of the scheme.
///
/// `u(x, y) = sin(j π x / (w + 1)) sin(k π y / (h + 1))` for the cell in column `x` from 1 to `w` and row
/// `y` from 1 to `h`. A time step multiplies it by `λ = 1 − 4 r (sin²(j π / (2 (w + 1))) +
/// sin²(k π / (2 (h + 1))))`, exactly.
///
/// Around a pipe it is `u(x, y) = sin(j π x / (w + 1)) cos(2 k π y / h)`, and the second sine of `λ` is
/// `sin(k π / h)`.
///
/// | symbol | argument |
/// |---|---|
/// | `w`, `h` | [`Parameters::width`], [`Parameters::height`] |
/// | `j`, `k` | [`Parameters::mode`] |
/// | `r` | [`Parameters::diffusion`] |
#[derive(Clone, Debug, PartialEq)]
pub struct Mode {
    /// The factor of each column, the border's not included.
    across: Vec<f64>,
    waves: u64,
    height: u64,
    periodic: bool,
    decay: f64,
}

/// How far a plate is from the exact solution. The plate began with a height of at most one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The greatest difference of a cell.
    pub greatest: f64,
    /// What rounding can cause.
    pub bound: f64,
    /// The part of its height that the exact solution has left.
    pub left: f64,
}

impl Mode {
    /// The mode that a plate begins with.
    ///
    /// # Errors
    ///
    /// If the plate has no such mode or no cell, or the scheme is unstable.
    pub fn new(parameters: &Parameters) -> Result<Self, Error> {
        let Parameters {
            width,
            height,
            periodic,
            ..
        } = *parameters;
        let [across, down] = parameters.mode;
        at_least_one("width", width.into())?;
        at_least_one("height", height.into())?;
        for (key, waves, (of, cells)) in [
            ("mode[0]", across, ("width", width)),
            ("mode[1]", down, ("height", height)),
        ] {
            at_least_one(key, waves.into())?;
            if cells < waves {
                let (value, most) = (waves.into(), cells.into());
                return Err(Error::MoreThan {
                    key,
                    value,
                    of,
                    most,
                });
            }
        }
        check_memory(width, height)?;
        let [width, height, across, down] = [width, height, across, down].map(u64::from);
        let square = |sine: f64| sine * sine;
        let down_sine = if periodic {
            sine_of_pi(down, height)
        } else {
            sine_of_pi(down, 2 * (height + 1))
        };
        let squares = square(sine_of_pi(across, 2 * (width + 1))) + square(down_sine);
        let decay = 1.0 - 4.0 * diffusion(parameters)? * squares;
        let factors = (1..=width).map(|x| sine_of_pi(across * x, width + 1));
        Ok(Self {
            across: factors.collect(),
            waves: down,
            height,
            periodic,
            decay,
        })
    }

    /// Compares `plate`, all its rows from the top, with this mode after `steps` time steps.
    ///
    /// # Panics
    ///
    /// If the plate is of another size.
    #[must_use]
    pub fn deviation(&self, plate: &[f64], steps: u64) -> Deviation {
        let height = usize::try_from(self.height).expect("a plate in memory");
        assert_eq!(plate.len(), self.width() * height, "cells of the plate");
        // By multiplications alone, which are the same on every machine.
        let (mut left, mut sum) = (1.0_f64, 1.0);
        for _ in 0..steps {
            left *= self.decay;
            sum += left.abs();
        }
        let mut greatest = 0.0_f64;
        for (row, y) in plate.chunks(self.width()).zip(1..) {
            for (cell, mode) in row.iter().zip(self.row(y)) {
                let difference = (cell - mode * left).abs();
                // Not a number is no difference, and greater than any.
                greatest = if difference.is_nan() {
                    f64::INFINITY
                } else {
                    greatest.max(difference)
                };
            }
        }
        Deviation {
            greatest,
            // No step increases an error, and each adds the rounding of some ten operations.
            bound: 10.0 * f64::EPSILON * sum,
            left,
        }
    }

    /// What a time step multiplies it by.
    #[must_use]
    pub const fn decay(&self) -> f64 {
        self.decay
    }

    pub(super) const fn width(&self) -> usize {
        self.across.len()
    }

    /// The cells of row `y`, counted from 0, the border; of a pipe, from 0, the lowest row.
    pub(super) fn row(&self, y: u64) -> impl Iterator<Item = f64> + '_ {
        let factor = if self.periodic {
            // A cosine is a sine a quarter of a turn later.
            sine_of_pi(4 * self.waves * y + self.height, 2 * self.height)
        } else {
            sine_of_pi(self.waves * y, self.height + 1)
        };
        self.across.iter().map(move |across| across * factor)
    }
}

impl Deviation {
    /// Whether the plate is the exact solution up to rounding.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.greatest <= self.bound
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { greatest, left, .. } = self;
        write!(
            formatter,
            "the mode decayed to {left:.6} of its height, as it should: no cell is off by more than {greatest:.1e}"
        )
    }
}

/// Checks that there is memory for the cells.
///
/// # Errors
///
/// [`Error::TooManyCells`].
fn check_memory(width: u32, height: u32) -> Result<(), Error> {
    usize::try_from(u64::from(width) * u64::from(height))
        .ok()
        .and_then(|cells| Vec::<f64>::new().try_reserve_exact(cells).ok())
        .ok_or(Error::TooManyCells { width, height })
}

/// `sin(π n / d)`, by operations that are the same on every machine, as those of its libraries are not.
///
/// Exact where the sine is 0, 1 or −1, and symmetric.
fn sine_of_pi(numerator: u64, denominator: u64) -> f64 {
    let turn = numerator % (2 * denominator);
    if denominator <= turn {
        return -sine_of_pi(turn - denominator, denominator);
    }
    let acute = turn.min(denominator - turn);
    let twice = 2 * acute;
    if twice == denominator {
        return 1.0;
    }
    #[expect(
        clippy::as_conversions,
        reason = "counts of cells and waves: below 2^53"
    )]
    let angle = std::f64::consts::PI * (acute as f64 / denominator as f64);
    // From the smallest term on: at most a quarter of a turn, where the next would be 1e-18.
    let square = angle * angle;
    let mut sum = 1.0;
    for term in (1..=11).rev() {
        let factor = f64::from(2 * term * (2 * term + 1));
        sum = 1.0 - square / factor * sum;
    }
    angle * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_is_that_of_the_library() {
        for denominator in [1_u64, 2, 3, 7, 256, 1001] {
            for numerator in 0..4 * denominator {
                let angle = numerator as f64 / denominator as f64 * std::f64::consts::PI;
                let sine = sine_of_pi(numerator, denominator);
                assert!(
                    (sine - angle.sin()).abs() < 1e-14,
                    "{numerator}/{denominator}: {sine}"
                );
            }
            assert!(sine_of_pi(denominator, denominator).abs() <= 0.0);
        }
        assert_eq!(sine_of_pi(1, 2).to_bits(), 1.0_f64.to_bits());
    }
}
