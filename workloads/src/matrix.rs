//! Matrices: out of a CSV file, or drawn.

use rand_chacha::rand_core::Rng;

use crate::draws::{generator, unit};
use crate::parameters::{Error as Invalid, collected, megabytes, within};

/// A matrix.
///
/// Invariant: there is at least one element, and each is finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    columns: usize,
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
    #[error("has {found:?} as element {element} of line {line}, expected a finite number")]
    Element {
        /// The line, from 1.
        line: u64,
        /// Which element of the row, from 1.
        element: usize,
        /// What was found.
        found: String,
    },
    /// A row as long as none may be.
    #[error(
        "has a row of {found} in line {line}, expected {expected} elements, as in the first row"
    )]
    Row {
        /// The line, from 1.
        line: u64,
        /// How many elements there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// More or fewer rows than columns, where a square matrix is needed.
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
    /// begin with `#` are comments, and a byte order mark before the first line is nothing.
    ///
    /// # Errors
    ///
    /// If rows differ in their length, or an element is no finite number.
    pub fn from_csv(text: &[u8]) -> Result<Self, Error> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text);
        let (mut elements, mut columns) = (Vec::new(), None);
        for record in reader.byte_records() {
            let Ok(record) = record else {
                unreachable!("bytes from memory are records of some length");
            };
            // A line of blanks.
            if record.len() == 1 && record[0].is_empty() {
                continue;
            }
            let line = record.position().map_or(0, csv::Position::line);
            let expected = *columns.get_or_insert(record.len());
            if record.len() != expected {
                let found = record.len();
                return Err(Error::Row {
                    line,
                    found,
                    expected,
                });
            }
            for (index, field) in record.iter().enumerate() {
                let found = String::from_utf8_lossy(field).into_owned();
                let number = found.parse().ok().filter(|number: &f64| number.is_finite());
                let element = index + 1;
                elements.push(number.ok_or(Error::Element {
                    line,
                    element,
                    found,
                })?);
            }
        }
        let columns = columns.ok_or(Error::Empty)?;
        Ok(Self { columns, elements })
    }

    /// The same matrix.
    ///
    /// # Errors
    ///
    /// If it is not square.
    pub fn square(self) -> Result<Self, Error> {
        let (rows, columns) = (self.rows(), self.columns);
        if rows == columns && u32::try_from(rows).is_ok() {
            return Ok(self);
        }
        Err(Error::NotSquare { rows, columns })
    }

    /// A square matrix of `order` rows with elements from −1 to 1, each as likely as any other, and
    /// `diagonal` added on the diagonal. Each row has a stream of random numbers of its own, for the `purpose`.
    ///
    /// # Errors
    ///
    /// If the order, of the parameter `order`, is 0 or too large, or there is no memory for the matrix.
    pub(crate) fn drawn(
        order: u32,
        diagonal: f64,
        (seed, purpose): (u64, &[u8; 24]),
    ) -> Result<Self, Invalid> {
        let rows = ("order", f64::from(order));
        within(rows, 1.0, 16_384.0, "a number from 1 to 16384")?;
        let row = |i: u32| {
            let mut generator = generator(seed, purpose, i);
            (0..order).map(move |j| {
                let element = 2.0 * unit(generator.next_u64()) - 1.0;
                if i == j { element + diagonal } else { element }
            })
        };
        let columns = usize::try_from(order).unwrap_or(usize::MAX);
        let elements = collected(columns.saturating_mul(columns), (0..order).flat_map(row));
        let elements = elements.ok_or_else(|| Invalid::Memory {
            what: format!("a matrix of order {order}"),
            megabytes: megabytes(element_bytes(order.into())),
            instead: "a smaller `order`",
        })?;
        Ok(Self { columns, elements })
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.elements.len() / self.columns
    }

    /// How many columns there are.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows, and columns, a square matrix has.
    ///
    /// # Panics
    ///
    /// If it is not square.
    #[must_use]
    pub fn order(&self) -> u32 {
        assert_eq!(self.rows(), self.columns, "the matrix is square");
        u32::try_from(self.columns).expect("the order of a square matrix fits 32 bits")
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

    /// All elements, row after row.
    pub(crate) fn elements(&self) -> &[f64] {
        &self.elements
    }

    /// All rows.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[f64]> {
        self.elements.chunks(self.columns)
    }

    /// The greatest magnitude of an element.
    pub(crate) fn greatest(&self) -> f64 {
        let magnitudes = self.elements.iter().map(|element| element.abs());
        magnitudes.fold(0.0, f64::max)
    }

    /// A row, from 0.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.elements[row * self.columns..(row + 1) * self.columns]
    }
}

/// What the elements of a square matrix of `order` take.
pub(crate) fn element_bytes(order: u64) -> u128 {
    8 * u128::from(order) * u128::from(order)
}
