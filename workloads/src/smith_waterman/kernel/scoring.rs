//! What two letters are worth beside each other, and what a gap costs.

use serde::{Deserialize, Serialize};

use crate::parameters::{Error, within};
use crate::smith_waterman::kernel::blosum62;

/// How letters are compared, and which letters there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Substitution {
    /// Proteins, by BLOSUM62.
    #[default]
    Blosum62,
    /// Nucleotides, by one score for equal letters and one for different ones. `N` equals none.
    Dna,
}

/// What an alignment is worth: scores of pairs of letters, less the cost of gaps.
///
/// A gap of `k` letters costs `gap_open + k · gap_extend` (Gotoh, Journal of Molecular Biology 162,
/// 1982, pp. 705-708).
///
/// Invariant: all four numbers are at most 2²⁰, so that no alignment of two sequences that fit into
/// memory overflows an [`i64`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scoring {
    substitution: Substitution,
    equal: i64,
    different: i64,
    gap_open: i64,
    gap_extend: i64,
}

impl Substitution {
    /// The letters, in the order of their codes.
    #[must_use]
    pub const fn letters(self) -> &'static [u8] {
        match self {
            Self::Blosum62 => blosum62::LETTERS,
            Self::Dna => b"ACGTN",
        }
    }

    /// How many of the letters, the first ones, stand for one residue each.
    pub(super) const fn residues(self) -> u32 {
        match self {
            Self::Blosum62 => 20,
            Self::Dna => 4,
        }
    }

    /// The code of a letter, large or small.
    pub(super) fn code(self, letter: u8) -> Option<u8> {
        let letter = letter.to_ascii_uppercase();
        let position = self.letters().iter().position(|known| *known == letter)?;
        u8::try_from(position).ok()
    }

    /// Cost of opening and of extending a gap that are usual with these scores.
    const fn usual_gap(self) -> (u32, u32) {
        match self {
            Self::Blosum62 => (11, 1),
            Self::Dna => (5, 2),
        }
    }
}

impl Scoring {
    /// Scores by `substitution`; `equal` and `different` count for nucleotides only. A cost that is
    /// not given is the usual one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for more than 2²⁰, for equal letters that do not score more than
    /// different ones, and for gaps that cost nothing.
    pub(super) fn new(
        substitution: Substitution,
        (equal, different): (i32, i32),
        (gap_open, gap_extend): (Option<u32>, Option<u32>),
    ) -> Result<Self, Error> {
        const MAX: f64 = 1_048_576.0;
        let (open, extend) = substitution.usual_gap();
        let gap_open = gap_open.unwrap_or(open);
        let gap_extend = gap_extend.unwrap_or(extend);
        let score = |value| f64::from(value);
        within(
            ("match_score", score(equal)),
            1.0,
            MAX,
            "a number from 1 to 2^20",
        )?;
        within(
            ("mismatch_score", score(different)),
            -MAX,
            0.0,
            "a number from -2^20 to 0",
        )?;
        within(
            ("gap_open", f64::from(gap_open)),
            0.0,
            MAX,
            "a number from 0 to 2^20",
        )?;
        within(
            ("gap_extend", f64::from(gap_extend)),
            1.0,
            MAX,
            "a number from 1 to 2^20",
        )?;
        Ok(Self {
            substitution,
            equal: equal.into(),
            different: different.into(),
            gap_open: gap_open.into(),
            gap_extend: gap_extend.into(),
        })
    }

    /// Which letters are compared, and how.
    #[must_use]
    pub const fn substitution(&self) -> Substitution {
        self.substitution
    }

    /// What the letters with these codes are worth beside each other.
    pub(super) fn pair(&self, query: u8, subject: u8) -> i64 {
        match self.substitution {
            Substitution::Blosum62 => blosum62::score(query, subject),
            Substitution::Dna if query == subject && u32::from(query) < 4 => self.equal,
            Substitution::Dna => self.different,
        }
    }

    /// What a gap costs, whatever its length.
    pub(super) const fn gap_open(&self) -> i64 {
        self.gap_open
    }

    /// The additional penalty of each letter of a gap.
    pub(super) const fn gap_extend(&self) -> i64 {
        self.gap_extend
    }

    /// What a gap of `letters` costs.
    pub(super) fn gap(&self, letters: usize) -> i64 {
        let letters = i64::try_from(letters).expect("a gap is no longer than a sequence in memory");
        self.gap_open + letters * self.gap_extend
    }
}
