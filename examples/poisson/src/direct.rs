//! A direct solution, to compare with: the sine transform turns the matrix into a diagonal one.

use std::f64::consts::PI;

/// The solution of −Δu = f on a grid of `size` × `size` points, with u = 0 beyond; `right` has f by rows.
pub(crate) fn solution(size: usize, right: &[f64]) -> Vec<f64> {
    let angle = |one: usize, other: usize| {
        // The product is taken modulo the period: its sine is as exact as that of a small angle.
        let part = (one * other) % (2 * (size + 1));
        PI * part as f64 / (size + 1) as f64
    };
    let sines: Vec<f64> = (1..=size)
        .flat_map(|row| (1..=size).map(move |column| (row, column)))
        .map(|(row, column)| angle(row, column).sin())
        .collect();
    let eigenvalue = |index: usize| 2.0 - 2.0 * angle(1, index + 1).cos();
    let mut transformed = transform(size, &sines, right);
    for row in 0..size {
        for column in 0..size {
            transformed[row * size + column] /= eigenvalue(row) + eigenvalue(column);
        }
    }
    let scale = 4.0 / ((size + 1) * (size + 1)) as f64;
    let mut solution = transform(size, &sines, &transformed);
    solution.iter_mut().for_each(|value| *value *= scale);
    solution
}

/// Transforms the columns and the rows.
fn transform(size: usize, sines: &[f64], values: &[f64]) -> Vec<f64> {
    product(size, &product(size, sines, values), sines)
}

/// The product of two square matrices, by rows.
fn product(size: usize, one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; size * size];
    for (row, result) in one.chunks_exact(size).zip(product.chunks_exact_mut(size)) {
        for (factor, other) in row.iter().zip(other.chunks_exact(size)) {
            for (result, value) in result.iter_mut().zip(other) {
                *result += factor * value;
            }
        }
    }
    product
}
