//! Parts of the papers.

use crate::cell::Table;

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
    /// All of them: the tables in the order of the papers, then the rest.
    pub fn all() -> impl Iterator<Item = Self> {
        let tables = Table::ALL.into_iter().map(Self::Table);
        tables.chain([Self::Migrations, Self::All])
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table(table) => table.name(),
            Self::Migrations => "migrations",
            Self::All => "all",
        }
    }

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
