//! The factorisations that LAPACK's timing program measures, of six matrices: the size of the state changes.

use bsp::numbers::length;
use serde::{Deserialize, Serialize};

use super::dense::{Dense, Routine, order_of, real, residual};
use super::rounds::Round;

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
            .map(|row| 1.0 + 1.0 / (1.0 + real(row)))
            .collect();
        let (product, norm) = drawn.times(&x);
        let far = residual(&self.matrices[number].factors_times(&x), &product, norm, &x);
        if far < RESIDUAL_MAX {
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
const RESIDUAL_MAX: f64 = 30.0;
