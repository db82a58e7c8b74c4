//! The factors, and the parts of them that processes output.

use bsp::numbers::index;
use bsp::{Array, Rank};
use serde::{Deserialize, Serialize};

use crate::lu::Cyclic;
use crate::matrix::Matrix;

/// The output of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// How the matrix is dealt out.
    pub matrix: Cyclic,
    /// The process's elements of `L` below the diagonal and of `U` from the diagonal on, row after row.
    pub elements: Array<f64>,
    /// The row of the original matrix that is now in each row; the same in every block.
    pub permutation: Vec<u32>,
}

/// Why there are no factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", self.problem())]
pub struct Singular {
    /// The stage without a pivot, from 0.
    pub stage: u64,
    /// Whether all rows were searched for one.
    pub pivoting: bool,
}

/// Why parts are not put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfactored {
    /// There are no factors.
    #[error(transparent)]
    Singular(#[from] Singular),
    /// The machine has not enough memory for the whole.
    #[error("not enough memory for the factors of a matrix of order {order}: choose a smaller one")]
    Memory {
        /// Rows, and columns.
        order: usize,
    },
    /// An output is no block of the matrix.
    #[error("the output of {process} {problem}")]
    Misfit {
        /// Its process.
        process: Rank,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// A decomposition `P·A = L·U`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// Rows, and columns.
    order: usize,
    /// `L` below the diagonal, where its elements are 1, and `U` from the diagonal on; row after row.
    elements: Vec<f64>,
    /// Which row of `A` is row `i` of `P·A`.
    permutation: Vec<u32>,
}

/// How far the product of the factors is from the matrix, in Frobenius norms and in units of the
/// matrix's greatest element, so that no square overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// `‖P·A − L·U‖`
    pub difference: f64,
    /// `‖A‖`
    pub matrix: f64,
    /// The largest difference that rounding can cause: `n·ε·‖|L|·|U|‖`, half of it by the
    /// decomposition and half by multiplying the factors (Higham, Accuracy and Stability of Numerical
    /// Algorithms, 2002, Theorem 9.3).
    pub bound: f64,
}

impl Unfactored {
    fn misfit(index: usize, problem: &'static str) -> Self {
        let process = Rank::from_index(index);
        Self::Misfit { process, problem }
    }
}

impl Factors {
    /// Assembles the factors from the outputs of all processes, in rank order.
    ///
    /// # Errors
    ///
    /// If they reached a stage without a pivot, there is no memory for the whole, or an output is no block of the same matrix.
    pub fn assemble(outputs: &[Result<Block, Singular>]) -> Result<Self, Unfactored> {
        let blocks: Vec<&Block> = outputs
            .iter()
            .map(|output| output.as_ref().map_err(|singular| *singular))
            .collect::<Result<_, _>>()?;
        let Some(first) = blocks.first() else {
            return Err(Unfactored::misfit(0, "is not there"));
        };
        let (matrix, permutation) = (first.matrix, first.permutation.clone());
        let order = permutation.len();
        if !is_permutation(&permutation) || u64::try_from(order) != Ok(matrix.order()) {
            return Err(Unfactored::misfit(
                0,
                "has rows that are none of the matrix",
            ));
        }
        for (index, block) in blocks.iter().enumerate() {
            if block.matrix != matrix || block.permutation != permutation {
                return Err(Unfactored::misfit(index, "is a block of another matrix"));
            }
        }
        let mut elements = Vec::new();
        order
            .checked_mul(order)
            .and_then(|count| elements.try_reserve_exact(count).ok())
            .ok_or(Unfactored::Memory { order })?;
        let mut rests: Vec<_> = blocks.iter().map(|block| block.elements.iter()).collect();
        for i in 0..matrix.order() {
            for j in 0..matrix.order() {
                // Rows of a block are rows of the matrix in their order, and so are columns.
                let owner: Rank = matrix.owner(i, j);
                let rest = rests.get_mut(owner.index());
                let element = rest.and_then(Iterator::next);
                let missing = || Unfactored::misfit(owner.index(), "has too few elements");
                elements.push(*element.ok_or_else(missing)?);
            }
        }
        match rests.iter().position(|rest| rest.len() != 0) {
            Some(index) => Err(Unfactored::misfit(index, "has too many elements")),
            None => Ok(Self {
                order,
                elements,
                permutation,
            }),
        }
    }

    /// Rows, and columns, of the factors.
    #[must_use]
    pub const fn order(&self) -> usize {
        self.order
    }

    /// The element of `L` (below the diagonal) or `U` in a row and a column.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    #[must_use]
    pub fn element(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// Which row of the matrix each row of the product is.
    #[must_use]
    pub fn permutation(&self) -> &[u32] {
        &self.permutation
    }

    /// How well these are factors of `matrix`.
    ///
    /// # Panics
    ///
    /// If its order is another one.
    #[must_use]
    pub fn residual(&self, matrix: &Matrix) -> Residual {
        let unit = matrix.greatest();
        let (mut difference, mut whole, mut magnitude) = (0.0, 0.0, 0.0);
        for (i, original) in self.permutation.iter().enumerate() {
            let (product, magnitudes) = self.product(i);
            let row = matrix.row(index(*original));
            assert_eq!(row.len(), self.order, "the factors' order is the matrix's");
            for ((expected, found), size) in row.iter().zip(product).zip(magnitudes) {
                difference += ((expected - found) / unit).powi(2);
                whole += (expected / unit).powi(2);
                magnitude += (size / unit).powi(2);
            }
        }
        let [difference, matrix, magnitude] = [difference, whole, magnitude].map(f64::sqrt);
        Residual {
            difference,
            matrix,
            bound: self.order as f64 * f64::EPSILON * magnitude,
        }
    }

    /// Row `i` of `L·U` and of `|L|·|U|`.
    fn product(&self, i: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut product, mut magnitudes) = (vec![0.0; self.order], vec![0.0; self.order]);
        for k in 0..=i {
            let multiplier = if k == i { 1.0 } else { self.element(i, k) };
            for (j, element) in self.row(k).iter().enumerate().skip(k) {
                product[j] += multiplier * element;
                magnitudes[j] += (multiplier * element).abs();
            }
        }
        (product, magnitudes)
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.elements[i * self.order..(i + 1) * self.order]
    }
}

impl Residual {
    /// `‖P·A − L·U‖ / ‖A‖`
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.difference / self.matrix
    }

    /// Whether it is no more than what rounding can have caused.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.difference.is_finite() && self.difference <= self.bound
    }
}

impl Singular {
    fn problem(self) -> String {
        let stage = self.stage + 1;
        if self.pivoting {
            format!(
                "the matrix is singular: in stage {stage}, all elements of column {stage} from row \
                 {stage} on are 0"
            )
        } else {
            format!(
                "the pivot of stage {stage} is 0; with `pivoting`, another row takes its place \
                 unless the matrix is singular"
            )
        }
    }
}

/// Whether it has each number below its length once.
fn is_permutation(rows: &[u32]) -> bool {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq((0..).take(rows.len()))
}
