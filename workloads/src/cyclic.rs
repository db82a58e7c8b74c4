//! The square cyclic distribution of a matrix.

use bsp::Rank;
use serde::{Deserialize, Serialize};

/// A square matrix dealt out to `rows` × `columns` processes, element by element in both directions.
///
/// Process `(s, t)` has rank `s · columns + t` and holds the elements `(i, j)` with `i ≡ s` modulo
/// `rows` and `j ≡ t` modulo `columns`. The order need not divide by either; then some processes hold
/// less than others, or nothing.
///
/// Invariant: `order`, `rows`, `columns` are at least 1, and `rows · columns` fits a [`u32`].
///
/// # Examples
///
/// ```
/// use bsp::Rank;
/// use workloads::lu::Cyclic;
///
/// let matrix = Cyclic::new(6, (2, 3), 6)?;
/// assert_eq!(matrix.owner(5, 4), Rank(4));
/// assert_eq!(matrix.coordinates(Rank(4)), (1, 1));
/// assert_eq!(matrix.rows_from(1, 3), 2);
/// # Ok::<(), workloads::lu::CyclicError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Cyclic {
    order: u64,
    rows: u32,
    columns: u32,
}

/// Why a matrix cannot be dealt out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A matrix without elements, or without processes to hold them.
    #[error("invalid value `0` for `{key}`: must be at least 1")]
    Zero {
        /// What is zero: `order`, `rows` or `columns`.
        key: &'static str,
    },
    /// A grid with more or fewer places than there are processes.
    #[error(
        "invalid values `{rows}` for `rows` and `{columns}` for `columns`: {} places for {processes} \
         processes, must be equal",
        u64::from(*rows) * u64::from(*columns)
    )]
    Places {
        /// Rows of processes.
        rows: u32,
        /// Columns of processes.
        columns: u32,
        /// How many processes there are.
        processes: u32,
    },
}

impl Cyclic {
    /// A matrix of `order` × `order` elements on `rows` × `columns` processes, of which there are
    /// `processes`.
    ///
    /// # Errors
    ///
    /// If there is no element, no process, or another number of processes than places.
    pub const fn new(
        order: u64,
        (rows, columns): (u32, u32),
        processes: u32,
    ) -> Result<Self, Error> {
        if order == 0 {
            return Err(Error::Zero { key: "order" });
        }
        if rows == 0 {
            return Err(Error::Zero { key: "rows" });
        }
        if columns == 0 {
            return Err(Error::Zero { key: "columns" });
        }
        match rows.checked_mul(columns) {
            Some(places) if places == processes => Ok(Self {
                order,
                rows,
                columns,
            }),
            _ => Err(Error::Places {
                rows,
                columns,
                processes,
            }),
        }
    }

    /// Rows, and columns, of the matrix.
    #[must_use]
    pub const fn order(&self) -> u64 {
        self.order
    }

    /// Rows of processes.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Columns of processes.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.columns
    }

    /// The process in row `s` and column `t` of the processes.
    ///
    /// # Panics
    ///
    /// If there is no such row or column.
    #[must_use]
    pub fn rank(&self, s: u32, t: u32) -> Rank {
        assert!(
            s < self.rows && t < self.columns,
            "({s}, {t}) lies outside {} x {} processes",
            self.rows,
            self.columns
        );
        Rank(s * self.columns + t)
    }

    /// In which row and column of the processes `rank` is.
    ///
    /// # Panics
    ///
    /// If there is no such process.
    #[must_use]
    pub fn coordinates(&self, rank: Rank) -> (u32, u32) {
        assert!(
            rank.0 < self.rows * self.columns,
            "{rank} lies outside {} x {} processes",
            self.rows,
            self.columns
        );
        (rank.0 / self.columns, rank.0 % self.columns)
    }

    /// Which row of processes holds row `i` of the matrix.
    #[must_use]
    pub fn row_owner(&self, i: u64) -> u32 {
        remainder(i, self.rows)
    }

    /// Which column of processes holds column `j` of the matrix.
    #[must_use]
    pub fn column_owner(&self, j: u64) -> u32 {
        remainder(j, self.columns)
    }

    /// The process that holds the element `(i, j)`.
    #[must_use]
    pub fn owner(&self, i: u64, j: u64) -> Rank {
        self.rank(self.row_owner(i), self.column_owner(j))
    }

    /// How many rows of the matrix from row `i` on the processes of row `s` hold.
    #[must_use]
    pub fn rows_from(&self, s: u32, i: u64) -> u64 {
        held_from(self.order, self.rows, s, i)
    }

    /// How many columns of the matrix from column `j` on the processes of column `t` hold.
    #[must_use]
    pub fn columns_from(&self, t: u32, j: u64) -> u64 {
        held_from(self.order, self.columns, t, j)
    }

    /// The others in the column of processes of `rank` that hold rows from row `i` on.
    pub(super) fn others_in_column(self, rank: Rank, i: u64) -> impl Iterator<Item = Rank> {
        let (own, t) = self.coordinates(rank);
        let others = (0..self.rows).filter(move |s| *s != own && 0 < self.rows_from(*s, i));
        others.map(move |s| self.rank(s, t))
    }

    /// The others in the row of processes of `rank` that hold columns from column `j` on.
    pub(super) fn others_in_row(self, rank: Rank, j: u64) -> impl Iterator<Item = Rank> {
        let (s, own) = self.coordinates(rank);
        let others = (0..self.columns).filter(move |t| *t != own && 0 < self.columns_from(*t, j));
        others.map(move |t| self.rank(s, t))
    }
}

/// The serialized form, checked like the arguments of the constructor.
#[derive(Deserialize)]
struct Raw {
    order: u64,
    rows: u32,
    columns: u32,
}

impl TryFrom<Raw> for Cyclic {
    type Error = Error;

    fn try_from(raw: Raw) -> Result<Self, Error> {
        let processes = raw.rows.saturating_mul(raw.columns);
        Self::new(raw.order, (raw.rows, raw.columns), processes)
    }
}

/// How many numbers from `from` to `order`, the latter excluded, are `owner` modulo `owners`.
fn held_from(order: u64, owners: u32, owner: u32, from: u64) -> u64 {
    let below = |end: u64| {
        let (owners, owner) = (u64::from(owners), u64::from(owner));
        end / owners + u64::from(owner < end % owners)
    };
    below(order).saturating_sub(below(from))
}

fn remainder(index: u64, owners: u32) -> u32 {
    u32::try_from(index % u64::from(owners)).expect("a remainder is below its divisor")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_papers_example_is_dealt_out_as_they_show_it() {
        let matrix = Cyclic::new(6, (2, 3), 6).unwrap();
        let owner = |i, j| matrix.coordinates(matrix.owner(i, j));
        assert_eq!(
            (0..6).map(|j| owner(0, j)).collect::<Vec<_>>(),
            [(0, 0), (0, 1), (0, 2), (0, 0), (0, 1), (0, 2)]
        );
        assert_eq!(
            (0..6).map(|i| owner(i, 2)).collect::<Vec<_>>(),
            [(0, 2), (1, 2), (0, 2), (1, 2), (0, 2), (1, 2)]
        );
        assert_eq!((matrix.rows_from(0, 0), matrix.columns_from(0, 0)), (3, 2));
    }

    #[test]
    fn grids_of_another_size_are_refused() {
        let message =
            |order, grid, processes| Cyclic::new(order, grid, processes).unwrap_err().to_string();
        assert_eq!(
            message(0, (2, 2), 4),
            "invalid value `0` for `order`: must be at least 1"
        );
        assert_eq!(
            message(5, (0, 2), 0),
            "invalid value `0` for `rows`: must be at least 1"
        );
        assert_eq!(
            message(5, (2, 0), 0),
            "invalid value `0` for `columns`: must be at least 1"
        );
        assert_eq!(
            message(5, (5, 5), 24),
            "invalid values `5` for `rows` and `5` for `columns`: 25 places for 24 processes, must be equal"
        );
        assert_eq!(
            message(5, (65_536, 65_536), 0),
            "invalid values `65536` for `rows` and `65536` for `columns`: 4294967296 places for 0 processes, must be equal"
        );
    }

    #[test]
    fn deserialized_values_are_checked() {
        let matrix = Cyclic::new(7, (2, 3), 6).unwrap();
        let encoded = rmp_serde::to_vec(&matrix).unwrap();
        assert_eq!(rmp_serde::from_slice::<Cyclic>(&encoded).unwrap(), matrix);
        let broken = rmp_serde::to_vec(&(7, 0, 3)).unwrap();
        assert!(rmp_serde::from_slice::<Cyclic>(&broken).is_err());
    }

    proptest! {
        #[test]
        fn every_element_has_one_owner_and_is_counted_there(
            order in 1_u64..40,
            (rows, columns) in (1_u32..6, 1_u32..6),
            from in 0_u64..45,
        ) {
            let matrix = Cyclic::new(order, (rows, columns), rows * columns).unwrap();
            for s in 0..rows {
                let held = (from..order).filter(|i| matrix.row_owner(*i) == s).count();
                prop_assert_eq!(matrix.rows_from(s, from), held as u64);
                for t in 0..columns {
                    prop_assert_eq!(matrix.coordinates(matrix.rank(s, t)), (s, t));
                }
            }
            for t in 0..columns {
                let held = (from..order).filter(|j| matrix.column_owner(*j) == t).count();
                prop_assert_eq!(matrix.columns_from(t, from), held as u64);
            }
        }
    }
}
