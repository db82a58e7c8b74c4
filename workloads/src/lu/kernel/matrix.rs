//! Square matrices: out of a CSV file, or drawn.

use rand_chacha::rand_core::Rng;

use crate::draws::{generator, unit};
use crate::memory::collected;

/// A square matrix.
///
/// Invariant: there is at least one element, and each is finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    order: u32,
    /// Row after row.
    elements: Vec<f64>,
}

/// Why there is no matrix in what should be CSV.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing but empty lines.
    #[error("holds no row, expected numbers between commas, one row of the matrix a line")]
    Empty,
    /// Something else than a number, or none that can be computed with.
    #[error("has {met:?} as element {element} of line {line}, expected a finite number")]
    Element {
        /// The line, from 1.
        line: u64,
        /// Which element of the row, from 1.
        element: usize,
        /// What was met.
        met: String,
    },
    /// A row as long as none may be.
    #[error("has a row of {met} in line {line}, expected {expected} elements, as in the first row")]
    Row {
        /// The line, from 1.
        line: u64,
        /// How many elements there are.
        met: usize,
        /// How many there should be.
        expected: usize,
    },
    /// More or fewer rows than columns.
    #[error("has {rows} rows of {columns} elements, expected as many of the ones as of the others")]
    NotSquare {
        /// How many rows.
        rows: usize,
        /// How many columns.
        columns: usize,
    },
}

impl Matrix {
    /// The matrix in a CSV file that `text` is the content of: one row a line, no header. Lines that
    /// begin with `#` are comments.
    ///
    /// # Errors
    ///
    /// If it is not square, or an element is no finite number.
    pub fn from_csv(text: &[u8]) -> Result<Self, Error> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text);
        let (mut elements, mut rows, mut columns) = (Vec::new(), 0, None);
        for record in reader.byte_records() {
            let Ok(record) = record else {
                unreachable!("bytes from memory are records of some length");
            };
            let line = record.position().map_or(0, csv::Position::line);
            let expected = *columns.get_or_insert(record.len());
            if record.len() != expected {
                let met = record.len();
                return Err(Error::Row {
                    line,
                    met,
                    expected,
                });
            }
            for (index, field) in record.iter().enumerate() {
                let met = String::from_utf8_lossy(field).into_owned();
                let number = met.parse().ok().filter(|number: &f64| number.is_finite());
                let element = index + 1;
                elements.push(number.ok_or(Error::Element { line, element, met })?);
            }
            rows += 1;
        }
        let columns = columns.ok_or(Error::Empty)?;
        match u32::try_from(rows) {
            Ok(order) if rows == columns => Ok(Self { order, elements }),
            _ => Err(Error::NotSquare { rows, columns }),
        }
    }

    /// A matrix of `order` rows with elements from −1 to 1, each as likely as any other, and
    /// `diagonal` added on the diagonal; `None` if there is no memory for it. Each row has a stream of random
    /// numbers of its own.
    pub(super) fn drawn(order: u32, diagonal: f64, seed: u64) -> Option<Self> {
        let row = |i: u32| {
            let mut generator = generator(seed, b"rows of a random matrix ", i);
            (0..order).map(move |j| {
                let element = 2.0 * unit(generator.next_u64()) - 1.0;
                if i == j { element + diagonal } else { element }
            })
        };
        let width = usize::try_from(order).ok()?;
        let elements = collected(width.checked_mul(width)?, (0..order).flat_map(row))?;
        Some(Self { order, elements })
    }

    /// How many rows, and columns, there are.
    #[must_use]
    pub const fn order(&self) -> u32 {
        self.order
    }

    /// The element in a row and a column, from 0.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    #[must_use]
    pub fn element(&self, row: usize, column: usize) -> f64 {
        self.row(row)[column]
    }

    /// The greatest magnitude of an element.
    pub(super) fn greatest(&self) -> f64 {
        let magnitudes = self.elements.iter().map(|element| element.abs());
        magnitudes.fold(0.0, f64::max)
    }

    /// A row, from 0.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        let width = usize::try_from(self.order).expect("32 bits fit a usize");
        &self.elements[row * width..(row + 1) * width]
    }
}
