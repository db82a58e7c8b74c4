//! Parts of the paper.

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Levels of the initial placement.
    Table2,
    /// Cost and search time of algorithms, and their order.
    Table3,
    /// Number of moves, where all moves cost the same.
    Table4,
    /// Costs against targets.
    Figures,
}

impl Part {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 4] = [Self::Table2, Self::Table3, Self::Table4, Self::Figures];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table2 => "chen2008-table2",
            Self::Table3 => "chen2008-table3",
            Self::Table4 => "chen2008-table4",
            Self::Figures => "chen2008-figures",
        }
    }

    /// Its name in results, which name the paper elsewhere.
    pub(super) fn short_name(self) -> &'static str {
        self.name().trim_start_matches("chen2008-")
    }

    /// Default number of instances drawn from each group; the paper has 100.
    pub(super) const fn instances(self) -> u32 {
        match self {
            Self::Table2 | Self::Table3 => 100,
            Self::Table4 | Self::Figures => 20,
        }
    }
}
