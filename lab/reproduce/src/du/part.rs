//! Parts of the paper.

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The cost of a migration by the size of the state.
    Figure1,
}

impl Part {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 1] = [Self::Figure1];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Figure1 => "du2007-figure1",
        }
    }

    /// Its name in results, which name the paper elsewhere.
    pub(super) fn short_name(self) -> &'static str {
        self.name().trim_start_matches("du2007-")
    }
}
