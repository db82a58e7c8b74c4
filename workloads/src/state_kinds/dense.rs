//! Dense matrices, their factorisations, column by column, and the programs that factor them.
//!
//! Libraries factor a matrix in one call. Here a process may move after any column, so the matrix, half factored, is a
//! value.

use bsp::Array;
use bsp::numbers::{index, length, position, real};
use serde::{Deserialize, Serialize};

use super::{Round, signed};
use crate::parameters::collected;

/// A square matrix, column after column, of which the first columns are factored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dense {
    order: usize,
    cells: Array<f64>,
    routine: Routine,
    /// Columns that are factored.
    done: usize,
    /// Of LU, the row that was exchanged with each; of QR, the length of each reflected column, with its sign.
    pivots: Vec<u32>,
    diagonal: Vec<f64>,
}

/// A factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Routine {
    /// `P A = L U` with partial pivoting, as LAPACK's `getrf`.
    Lu,
    /// `A = L Lᵀ` of a symmetric matrix, as `potrf`.
    Cholesky,
    /// `A = Q R` by Householder reflections, as `geqrf`.
    Qr,
}

impl Dense {
    /// The matrix of `part` of a round; `None` if there is no memory for it.
    ///
    /// Elements are drawn from -1 to 1. For Cholesky the matrix is symmetric, and dominated by its diagonal.
    pub(super) fn drawn(round: Round, part: u8, order: usize, routine: Routine) -> Option<Self> {
        let mut numbers = round.numbers(part);
        let count = order.checked_mul(order)?;
        let mut cells = collected(count, std::iter::repeat_with(|| signed(&mut numbers)))?;
        if routine == Routine::Cholesky {
            for column in 0..order {
                for row in 0..column {
                    cells[column * order + row] = cells[row * order + column];
                }
                cells[column * order + column] += real(length(order));
            }
        }
        Some(Self {
            order,
            cells: cells.into(),
            routine,
            done: 0,
            pivots: Vec::new(),
            diagonal: Vec::new(),
        })
    }

    /// Its cells, factored as far as they are.
    pub(super) fn cells(&self) -> impl Iterator<Item = u64> {
        self.cells.iter().map(|cell| cell.to_bits())
    }

    pub(super) const fn order(&self) -> usize {
        self.order
    }

    /// The most bytes of its encoding.
    pub(super) fn encoded(&self) -> usize {
        // Of the others, a number of 64 bits takes nine bytes, one of 32 five.
        8 * self.cells.len() + 9 * self.diagonal.len() + 5 * self.pivots.len() + 64
    }

    /// Whether all columns are factored.
    const fn is_factored(&self) -> bool {
        self.done == self.order
    }

    /// Factors the next column. Returns how many operations on elements that took.
    fn factor_column(&mut self) -> u64 {
        let k = self.done;
        match self.routine {
            Routine::Lu => self.lu_column(k),
            Routine::Cholesky => self.cholesky_column(k),
            Routine::Qr => self.qr_column(k),
        }
        self.done += 1;
        let rest = length(self.order - k);
        match self.routine {
            Routine::Lu | Routine::Cholesky => rest * rest + rest,
            Routine::Qr => 2 * rest * rest + rest,
        }
    }

    /// `A x`, by the factors. All columns must be factored.
    fn factors_times(&self, x: &[f64]) -> Vec<f64> {
        match self.routine {
            Routine::Lu => {
                let mut y = self.upper_times(x, |row| self.at(row, row));
                self.unit_lower_times(&mut y);
                for k in (0..self.order).rev() {
                    y.swap(k, self.pivot(k));
                }
                y
            }
            Routine::Cholesky => {
                let mut y = vec![0.0; self.order];
                for (row, y) in y.iter_mut().enumerate() {
                    *y = (row..self.order).map(|k| self.at(k, row) * x[k]).sum();
                }
                let times = |row: usize| (0..=row).map(|k| self.at(row, k) * y[k]).sum();
                (0..self.order).map(times).collect()
            }
            Routine::Qr => {
                let mut y = self.upper_times(x, |row| self.diagonal[row]);
                for k in (0..self.order).rev() {
                    self.reflect(k, &mut y);
                }
                y
            }
        }
    }

    /// The solution of `A x = b`, by the factors of LU. All columns must be factored.
    pub(super) fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        for k in 0..self.order {
            b.swap(k, self.pivot(k));
        }
        for k in 0..self.order {
            let x = b[k];
            for (b, cell) in b.iter_mut().zip(self.column(k)).skip(k + 1) {
                *b -= cell * x;
            }
        }
        for k in (0..self.order).rev() {
            b[k] /= self.at(k, k);
            let x = b[k];
            for (b, cell) in b.iter_mut().zip(self.column(k)).take(k) {
                *b -= cell * x;
            }
        }
        b
    }

    /// `A x` of a matrix that has not been factored, and the greatest sum of absolute values of a row.
    pub(super) fn times(&self, x: &[f64]) -> (Vec<f64>, f64) {
        let mut y = vec![0.0; self.order];
        let mut sums = vec![0.0; self.order];
        for (column, x) in self.cells.chunks(self.order).zip(x) {
            for (row, cell) in column.iter().enumerate() {
                y[row] += cell * x;
                sums[row] += cell.abs();
            }
        }
        (y, sums.into_iter().fold(0.0, f64::max))
    }

    fn lu_column(&mut self, k: usize) {
        let n = self.order;
        let column = &self.cells[k * n..(k + 1) * n];
        let largest = |best: usize, row: usize| {
            if column[best].abs() < column[row].abs() {
                row
            } else {
                best
            }
        };
        let pivot = (k + 1..n).fold(k, largest);
        self.pivots
            .push(u32::try_from(pivot).expect("orders fit 32 bits"));
        for column in self.cells.chunks_mut(n) {
            column.swap(k, pivot);
        }
        let (head, tail) = self.cells.split_at_mut((k + 1) * n);
        let column = &mut head[k * n..];
        let diagonal = column[k];
        for cell in &mut column[k + 1..] {
            *cell /= diagonal;
        }
        for other in tail.chunks_mut(n) {
            let factor = other[k];
            for (cell, left) in other[k + 1..].iter_mut().zip(&column[k + 1..]) {
                *cell -= factor * left;
            }
        }
    }

    fn cholesky_column(&mut self, k: usize) {
        let n = self.order;
        let (head, tail) = self.cells.split_at_mut((k + 1) * n);
        let column = &mut head[k * n..];
        let root = column[k].sqrt();
        column[k] = root;
        for cell in &mut column[k + 1..] {
            *cell /= root;
        }
        for (index, other) in tail.chunks_mut(n).enumerate() {
            let row = k + 1 + index;
            let factor = column[row];
            for (cell, left) in other[row..].iter_mut().zip(&column[row..]) {
                *cell -= factor * left;
            }
        }
    }

    fn qr_column(&mut self, k: usize) {
        let n = self.order;
        let column = &mut self.cells[k * n..(k + 1) * n];
        let length = column[k..]
            .iter()
            .map(|cell| cell * cell)
            .sum::<f64>()
            .sqrt();
        let length = if column[k] < 0.0 { length } else { -length };
        self.diagonal.push(length);
        column[k] -= length;
        let norm = column[k..]
            .iter()
            .map(|cell| cell * cell)
            .sum::<f64>()
            .sqrt();
        if 0.0 < norm {
            for cell in &mut column[k..] {
                *cell /= norm;
            }
        }
        let (head, tail) = self.cells.split_at_mut((k + 1) * n);
        let reflector = &head[k * n + k..];
        for other in tail.chunks_mut(n) {
            reflect(reflector, &mut other[k..]);
        }
    }

    fn reflect(&self, k: usize, y: &mut [f64]) {
        reflect(&self.column(k)[k..], &mut y[k..]);
    }

    /// `R x` or `U x`, with the `diagonal` of each row.
    fn upper_times(&self, x: &[f64], diagonal: impl Fn(usize) -> f64) -> Vec<f64> {
        let times = |row: usize| {
            let right = (row + 1..self.order).map(|k| self.at(row, k) * x[k]);
            diagonal(row) * x[row] + right.sum::<f64>()
        };
        (0..self.order).map(times).collect()
    }

    /// `L y` in place, with ones on the diagonal.
    fn unit_lower_times(&self, y: &mut [f64]) {
        for row in (0..self.order).rev() {
            let left = (0..row).map(|k| self.at(row, k) * y[k]);
            y[row] += left.sum::<f64>();
        }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[column * self.order + row]
    }

    fn column(&self, column: usize) -> &[f64] {
        &self.cells[column * self.order..(column + 1) * self.order]
    }

    fn pivot(&self, k: usize) -> usize {
        index(self.pivots[k])
    }
}

/// `y - 2 v (vᵀ y)`.
fn reflect(v: &[f64], y: &mut [f64]) {
    let dot: f64 = v.iter().zip(y.iter()).map(|(v, y)| v * y).sum();
    for (y, v) in y.iter_mut().zip(v) {
        *y -= 2.0 * dot * v;
    }
}

/// The greatest difference of two vectors, as a multiple of what rounding causes: `|y - z| / (|A| |x| n ε)`; infinite if
/// an element is no finite number.
pub(super) fn residual(y: &[f64], z: &[f64], norm: f64, x: &[f64]) -> f64 {
    let mut all = y.iter().chain(z).chain(x);
    if !all.all(|value| value.is_finite()) {
        return f64::INFINITY;
    }
    let greatest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let difference = greatest(&mut y.iter().zip(z).map(|(y, z)| (y - z).abs()));
    let size = greatest(&mut x.iter().map(|x| x.abs()));
    difference / (norm * size * real(length(x.len())) * f64::EPSILON)
}

/// The order of a matrix whose encoding takes `bytes`; at least two.
fn order_of(bytes: f64) -> usize {
    let order = (bytes / 8.0).sqrt();
    let order = crate::parameters::whole(order).max(2);
    position(order)
}

/// A system that is being solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Linpack {
    matrix: Dense,
}

impl Linpack {
    /// The system of a round; `None` if there is no memory for it.
    pub(super) fn new(round: Round, range: [f64; 2]) -> Option<Self> {
        let order = order_of(round.bytes(range));
        let matrix = Dense::drawn(round, MATRIX, order, Routine::Lu)?;
        Some(Self { matrix })
    }

    /// Factors columns with about `budget` operations. Returns how many it took.
    pub(super) fn advance(&mut self, budget: u64) -> u64 {
        let mut spent = 0;
        while spent < budget && !self.matrix.is_factored() {
            spent += self.matrix.factor_column();
        }
        spent
    }

    pub(super) const fn is_over(&self) -> bool {
        self.matrix.is_factored()
    }

    /// The solution, as numbers to be compared, if it solves the system that was drawn.
    pub(super) fn result(&self, round: Round) -> Result<Vec<u64>, String> {
        let order = self.matrix.order();
        let mut numbers = round.numbers(RIGHT);
        let b: Vec<f64> = (0..order).map(|_| signed(&mut numbers)).collect();
        let x = self.matrix.solve(b.clone());
        let drawn = Dense::drawn(round, MATRIX, order, Routine::Lu);
        let drawn = drawn.ok_or("not enough memory to check the solution")?;
        let (product, norm) = drawn.times(&x);
        let far = residual(&product, &b, norm, &x);
        if far < RESIDUAL_MAX {
            Ok(x.iter().map(|x| x.to_bits()).collect())
        } else {
            Err(format!(
                "the solution of {order} equations is off by {far} times what rounding causes"
            ))
        }
    }

    /// The state, as numbers to be compared.
    pub(super) fn state(&self) -> Vec<u64> {
        self.matrix.cells().collect()
    }

    /// The most bytes of its encoding.
    pub(super) fn encoded(&self) -> usize {
        self.matrix.encoded()
    }
}

/// The streams of a round: the matrix, and the right-hand side.
const MATRIX: u8 = b'm';
const RIGHT: u8 = b'r';

/// LINPACK's bound of a residual.
const RESIDUAL_MAX: f64 = 16.0;

/// Six matrices, of which the first are factored and kept until all are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Xlintims {
    /// Bytes of all six together.
    bytes: f64,
    matrices: Vec<Dense>,
    /// The residual of each factorisation.
    residuals: Vec<f64>,
}

impl Xlintims {
    /// The matrices of a round; `None` if there is no memory for the first.
    pub(super) fn new(round: Round, range: [f64; 2]) -> Option<Self> {
        let mut xlintims = Self {
            bytes: round.bytes(range),
            matrices: Vec::new(),
            residuals: Vec::new(),
        };
        xlintims.matrices.push(xlintims.drawn(round, 0)?);
        Some(xlintims)
    }

    /// Factors columns with about `budget` operations, and begins the next matrix when one is done. Returns how many it
    /// took.
    pub(super) fn advance(&mut self, round: Round, budget: u64) -> Result<u64, String> {
        let mut spent = 0;
        while spent < budget && !self.is_over() {
            let number = self.residuals.len();
            let matrix = &mut self.matrices[number];
            if !matrix.is_factored() {
                spent += matrix.factor_column();
                continue;
            }
            let order = matrix.order();
            self.residuals.push(self.check(round, number)?);
            let products = length(order * order);
            spent += 2 * products;
            if self.residuals.len() < ORDERS.len() {
                let next = self.drawn(round, number + 1);
                self.matrices
                    .push(next.ok_or("not enough memory for the next matrix")?);
            }
        }
        Ok(spent)
    }

    pub(super) const fn is_over(&self) -> bool {
        self.residuals.len() == ORDERS.len()
    }

    /// The residuals, as numbers to be compared.
    pub(super) fn result(&self) -> Vec<u64> {
        self.residuals.iter().map(|one| one.to_bits()).collect()
    }

    /// The state, as numbers to be compared.
    pub(super) fn state(&self) -> Vec<u64> {
        self.matrices.iter().flat_map(Dense::cells).collect()
    }

    /// The most bytes of its encoding.
    pub(super) fn encoded(&self) -> usize {
        self.matrices.iter().map(Dense::encoded).sum::<usize>() + 9 * ORDERS.len() + 64
    }

    /// The residual of the factors of a matrix, if it is what rounding may cause.
    fn check(&self, round: Round, number: usize) -> Result<f64, String> {
        let drawn = self.drawn(round, number);
        let drawn = drawn.ok_or("not enough memory to check the factors")?;
        let order = drawn.order();
        let x: Vec<f64> = (0..order)
            .map(|row| 1.0 + 1.0 / (1.0 + real(length(row))))
            .collect();
        let (product, norm) = drawn.times(&x);
        let far = residual(&self.matrices[number].factors_times(&x), &product, norm, &x);
        if far < LAPACK_RESIDUAL_MAX {
            Ok(far)
        } else {
            Err(format!(
                "the factors of a matrix of order {order} are off by {far} times what rounding causes"
            ))
        }
    }

    fn drawn(&self, round: Round, number: usize) -> Option<Dense> {
        let (part, routine) = ORDERS[number];
        let stream = u8::try_from(number).expect("there are six");
        Dense::drawn(round, stream, order_of(part * self.bytes), routine)
    }
}

/// The part of all bytes that each matrix has, and its factorisation.
const ORDERS: [(f64, Routine); 6] = [
    (0.05, Routine::Lu),
    (0.25, Routine::Cholesky),
    (0.1, Routine::Qr),
    (0.3, Routine::Lu),
    (0.15, Routine::Cholesky),
    (0.15, Routine::Qr),
];

/// LAPACK's bound of a residual.
const LAPACK_RESIDUAL_MAX: f64 = 30.0;

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;

    const ROUND: Round = Round {
        seed: 5,
        rank: 0,
        number: 1,
    };

    fn factored(order: usize, routine: Routine) -> (DMatrix<f64>, Dense) {
        let mut dense = Dense::drawn(ROUND, 0, order, routine).unwrap();
        let matrix = DMatrix::from_column_slice(order, order, &dense.cells);
        while !dense.is_factored() {
            assert!(0 < dense.factor_column());
        }
        (matrix, dense)
    }

    #[test]
    fn factors_multiply_to_the_matrix_as_nalgebra_has_it() {
        for routine in [Routine::Lu, Routine::Cholesky, Routine::Qr] {
            for order in [1, 2, 7, 60] {
                let (matrix, dense) = factored(order, routine);
                let x: Vec<f64> = (0..order).map(|row| 1.0 + real(length(row))).collect();
                let expected = &matrix * DVector::from_column_slice(&x);
                let product = dense.factors_times(&x);
                let far = residual(&product, expected.as_slice(), matrix.abs().max(), &x);
                assert!(far < 30.0, "{routine:?} of {order}: {far}");
            }
        }
    }

    #[test]
    fn solutions_are_those_of_nalgebra() {
        for order in [1, 3, 80] {
            let (matrix, dense) = factored(order, Routine::Lu);
            let b: Vec<f64> = (0..order).map(|row| 0.5 - real(length(row))).collect();
            let expected = matrix.lu().solve(&DVector::from_column_slice(&b)).unwrap();
            for (x, expected) in dense.solve(b).iter().zip(expected.iter()) {
                assert!((x - expected).abs() < 1e-9 * expected.abs().max(1.0));
            }
        }
    }

    #[test]
    fn the_diagonal_of_r_has_the_lengths_that_nalgebra_finds() {
        let (matrix, dense) = factored(20, Routine::Qr);
        let r = matrix.qr().r();
        for (k, length) in dense.diagonal.iter().enumerate() {
            assert!((length.abs() - r[(k, k)].abs()).abs() < 1e-12);
        }
    }

    #[test]
    fn results_that_are_no_numbers_are_no_results() {
        let one = [1.0, 2.0];
        assert!(residual(&one, &one, 1.0, &one) < 1.0);
        for wrong in [f64::NAN, f64::INFINITY] {
            let wrong = [1.0, wrong];
            assert!(residual(&wrong, &one, 1.0, &one).is_infinite());
            assert!(residual(&one, &wrong, 1.0, &one).is_infinite());
            assert!(residual(&one, &one, 1.0, &wrong).is_infinite());
        }
    }

    #[test]
    fn declared_bytes_are_enough_and_not_many_more() {
        let (_, dense) = factored(50, Routine::Qr);
        let encoded = rmp_serde::to_vec(&dense).unwrap().len();
        assert!(encoded <= dense.encoded() && dense.encoded() < encoded + 1000);
        assert_eq!(order_of(8.0 * 100.0 * 100.0), 100);
        assert_eq!(
            rmp_serde::from_slice::<Dense>(&rmp_serde::to_vec(&dense).unwrap()).unwrap(),
            dense
        );
        assert_eq!(order_of(1.0), 2);
    }
}
