//! Whether a matrix is the product of two others.

use rand_chacha::rand_core::Rng;

use crate::draws::generator;
use crate::matrix::Matrix;

/// How far a product agrees with its factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of drawn vectors for which it does.
    pub vectors: u32,
    /// The greatest difference, as a part of what rounding can cause.
    pub greatest: f64,
}

/// Where a product does not agree with its factors.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Disagreement {
    /// It has not as many elements as the product.
    #[error("{found} elements have come out, not {expected}")]
    Elements {
        /// Those that it has.
        found: usize,
        /// Those of the product.
        expected: usize,
    },
    /// A row that is not the row of the factors.
    #[error(
        "row {row} of the product is {difference:.1e} off for a drawn vector, which is more than rounding can cause, \
         {bound:.1e}"
    )]
    Row {
        /// The row, from 1.
        row: usize,
        /// The difference.
        difference: f64,
        /// What rounding can cause.
        bound: f64,
    },
}

/// Checks `C = A·B`, given the elements of `product`, row after row: Freivalds' check.
///
/// For vectors `x` with drawn elements of 1 and −1, `A·(B·x)` has to be `C·x` within what rounding can cause. A wrong row
/// passes with a probability of at most 2⁻⁴⁰, if its error exceeds twice that.
///
/// # Errors
///
/// The first row that disagrees.
pub fn check(
    (a, b): (&Matrix, &Matrix),
    product: &[f64],
    seed: u64,
) -> Result<Agreement, Disagreement> {
    let columns = b.columns();
    let expected = a.rows() * columns;
    if product.len() != expected {
        let found = product.len();
        return Err(Disagreement::Elements { found, expected });
    }
    let magnitudes: Vec<f64> = b
        .lines()
        .map(|row| row.iter().map(|element| element.abs()).sum())
        .collect();
    // Sums of `b.rows()` products in C and in A·(B·x), and of `columns` terms in B·x and in C·x.
    let terms = (b.rows() + columns + 4) as f64;
    let mut greatest = 0.0_f64;
    for number in 0..VECTORS {
        let mut generator = generator(seed, b"vectors of a check      ", number);
        let signs: Vec<f64> = (0..columns)
            .map(|_| {
                if generator.next_u32() & 1 == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect();
        let image: Vec<f64> = b.lines().map(|row| dot(row, &signs)).collect();
        for (index, (row, found)) in a.lines().zip(product.chunks(columns)).enumerate() {
            let difference = (dot(row, &image) - dot(found, &signs)).abs();
            let magnitude: f64 = row
                .iter()
                .zip(&magnitudes)
                .map(|(element, other)| element.abs() * other)
                .sum();
            let bound = terms * f64::EPSILON * magnitude;
            if !(difference <= bound && bound.is_finite()) {
                let row = index + 1;
                return Err(Disagreement::Row {
                    row,
                    difference,
                    bound,
                });
            }
            if 0.0 < bound {
                greatest = greatest.max(difference / bound);
            }
        }
    }
    Ok(Agreement {
        vectors: VECTORS,
        greatest,
    })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The number of drawn vectors.
const VECTORS: u32 = 40;
