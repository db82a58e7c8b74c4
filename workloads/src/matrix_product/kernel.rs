//! The product of some rows and a matrix.

/// The product of `rows`, one after the other, and the matrix `factor` of `columns` columns, row after row.
///
/// A block of rows of `factor` is used for all `rows` while it is in a cache. Each element is the sum of its products in the
/// order of the rows of `factor`.
pub(super) fn product(rows: &[f64], factor: &[f64], columns: usize) -> Vec<f64> {
    let inner = factor.len() / columns;
    let mut product = vec![0.0; rows.len() / inner * columns];
    for first in (0..inner).step_by(BLOCK) {
        let block = first..inner.min(first + BLOCK);
        let both = rows.chunks(inner).zip(product.chunks_mut(columns));
        for (row, sums) in both {
            let elements = row[block.clone()].iter();
            let lines = factor[block.start * columns..].chunks(columns);
            for (element, line) in elements.zip(lines) {
                for (sum, other) in sums.iter_mut().zip(line) {
                    *sum += element * other;
                }
            }
        }
    }
    product
}

/// Rows of the matrix that are used together.
const BLOCK: usize = 32;
