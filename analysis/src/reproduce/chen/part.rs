//! Parts of the paper.

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Levels before anybody moves.
    Table2,
    /// How long algorithms look, and in which order they are.
    Table3,
    /// Uniform costs.
    Table4,
    /// Costs against targets.
    Figures,
}

impl Part {
    /// What results call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Table2 => "table2",
            Self::Table3 => "table3",
            Self::Table4 => "table4",
            Self::Figures => "figures",
        }
    }

    /// As many instances of each group are drawn: the paper has 100.
    pub(super) const fn instances(self) -> u32 {
        match self {
            Self::Table2 | Self::Table3 => 100,
            Self::Table4 | Self::Figures => 20,
        }
    }
}
