//! Systems of linear equations, one after the other: the state is one large array.

use serde::{Deserialize, Serialize};

use super::dense::{Dense, Routine, order_of, residual};
use super::rounds::{Round, signed};

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
