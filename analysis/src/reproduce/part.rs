//! Parts of the papers.

use crate::reproduce::cell::Table;

/// A part of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A table, or a figure that prints numbers.
    Table(Table),
    /// The migrations that the papers state.
    Migrations,
    /// All of these.
    All,
}

impl Part {
    /// The tables that it has.
    pub(super) fn tables(self) -> impl Iterator<Item = Table> {
        Table::ALL
            .into_iter()
            .filter(move |table| self == Self::All || self == Self::Table(*table))
    }

    /// Whether it has the migrations that the papers state.
    pub(super) const fn has_migrations(self) -> bool {
        matches!(self, Self::Migrations | Self::All)
    }
}
