//! Vectors that are computed to measure the rate of a processor.

use std::hint::black_box;

/// `y := y + αx` and `z := z − βx`, over and over, as in `bspbench`.
pub(super) struct Daxpy {
    x: [f64; LENGTH],
    y: [f64; LENGTH],
    z: [f64; LENGTH],
}

impl Daxpy {
    /// All three vectors are 0, 1, 2, …
    pub(super) fn new() -> Self {
        let mut x = [0.0; LENGTH];
        for (index, element) in (0_u32..).zip(&mut x) {
            *element = f64::from(index);
        }
        Self { x, y: x, z: x }
    }

    /// The sum of all elements of `y` and `z` after this number of passes.
    pub(super) fn sum_after(mut self, passes: u64) -> f64 {
        for _ in 0..passes {
            // Every pass reads and writes memory, as a program does.
            let Self { x, y, z } = black_box(&mut self);
            for (y, x) in y.iter_mut().zip(x.iter()) {
                *y += ALPHA * x;
            }
            for (z, x) in z.iter_mut().zip(x.iter()) {
                *z -= BETA * x;
            }
        }
        self.y.iter().chain(&self.z).sum()
    }
}

/// Elements of a vector: all three fit the first cache of a processor.
const LENGTH: usize = 1024;

/// Floating-point operations of a pass: a multiplication and an addition for each element of `y` and of `z`.
pub const FLOPS: u64 = 4096;

const ALPHA: f64 = 1.0 / 3.0;
const BETA: f64 = 4.0 / 9.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_add_up() {
        // Elements are i·(1 + n·α) and i·(1 − n·β).
        let indices = 1023.0 * 1024.0 / 2.0;
        for passes in [0_u32, 1, 7, 100] {
            let expected = indices * (2.0 + f64::from(passes) * (ALPHA - BETA));
            let sum = Daxpy::new().sum_after(passes.into());
            assert!(
                (sum - expected).abs() < 1e-9 * indices,
                "{sum}, not {expected}"
            );
        }
    }

    #[test]
    fn a_pass_has_four_operations_for_each_index() {
        assert_eq!(u64::try_from(4 * LENGTH), Ok(FLOPS));
    }
}
