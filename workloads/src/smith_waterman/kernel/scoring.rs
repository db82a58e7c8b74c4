//! What two letters are worth beside each other, and what a gap costs.

use serde::{Deserialize, Serialize};

use crate::parameters::{Error, within};

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
            Self::Blosum62 => BLOSUM62_LETTERS,
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
            Substitution::Blosum62 => blosum62(query, subject),
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

/// The letters, in the matrix's order: twenty residues, then `B` (`D` or `N`), `Z` (`E` or `Q`),
/// `X` (any) and `*` (the end of a translation).
const BLOSUM62_LETTERS: &[u8; 24] = b"ARNDCQEGHILKMFPSTWYVBZX*";

/// What two letters, given by their codes, score.
fn blosum62(one: u8, other: u8) -> i64 {
    i64::from(BLOSUM62[usize::from(one)][usize::from(other)])
}

/// The substitution matrix BLOSUM62: twice the binary logarithm of how much more often two residues stand beside each other
/// in blocks of related proteins than by chance, rounded (Henikoff and Henikoff, PNAS 89, 1992, pp. 10915-10919).
#[rustfmt::skip]
const BLOSUM62: [[i8; 24]; 24] = [
//    A   R   N   D   C   Q   E   G   H   I   L   K   M   F   P   S   T   W   Y   V   B   Z   X   *
    [ 4, -1, -2, -2,  0, -1, -1,  0, -2, -1, -1, -1, -1, -2, -1,  1,  0, -3, -2,  0, -2, -1,  0, -4],
    [-1,  5,  0, -2, -3,  1,  0, -2,  0, -3, -2,  2, -1, -3, -2, -1, -1, -3, -2, -3, -1,  0, -1, -4],
    [-2,  0,  6,  1, -3,  0,  0,  0,  1, -3, -3,  0, -2, -3, -2,  1,  0, -4, -2, -3,  3,  0, -1, -4],
    [-2, -2,  1,  6, -3,  0,  2, -1, -1, -3, -4, -1, -3, -3, -1,  0, -1, -4, -3, -3,  4,  1, -1, -4],
    [ 0, -3, -3, -3,  9, -3, -4, -3, -3, -1, -1, -3, -1, -2, -3, -1, -1, -2, -2, -1, -3, -3, -2, -4],
    [-1,  1,  0,  0, -3,  5,  2, -2,  0, -3, -2,  1,  0, -3, -1,  0, -1, -2, -1, -2,  0,  3, -1, -4],
    [-1,  0,  0,  2, -4,  2,  5, -2,  0, -3, -3,  1, -2, -3, -1,  0, -1, -3, -2, -2,  1,  4, -1, -4],
    [ 0, -2,  0, -1, -3, -2, -2,  6, -2, -4, -4, -2, -3, -3, -2,  0, -2, -2, -3, -3, -1, -2, -1, -4],
    [-2,  0,  1, -1, -3,  0,  0, -2,  8, -3, -3, -1, -2, -1, -2, -1, -2, -2,  2, -3,  0,  0, -1, -4],
    [-1, -3, -3, -3, -1, -3, -3, -4, -3,  4,  2, -3,  1,  0, -3, -2, -1, -3, -1,  3, -3, -3, -1, -4],
    [-1, -2, -3, -4, -1, -2, -3, -4, -3,  2,  4, -2,  2,  0, -3, -2, -1, -2, -1,  1, -4, -3, -1, -4],
    [-1,  2,  0, -1, -3,  1,  1, -2, -1, -3, -2,  5, -1, -3, -1,  0, -1, -3, -2, -2,  0,  1, -1, -4],
    [-1, -1, -2, -3, -1,  0, -2, -3, -2,  1,  2, -1,  5,  0, -2, -1, -1, -1, -1,  1, -3, -1, -1, -4],
    [-2, -3, -3, -3, -2, -3, -3, -3, -1,  0,  0, -3,  0,  6, -4, -2, -2,  1,  3, -1, -3, -3, -1, -4],
    [-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4,  7, -1, -1, -4, -3, -2, -2, -1, -2, -4],
    [ 1, -1,  1,  0, -1,  0,  0,  0, -1, -2, -2,  0, -1, -2, -1,  4,  1, -3, -2, -2,  0,  0,  0, -4],
    [ 0, -1,  0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1,  1,  5, -2, -2,  0, -1, -1,  0, -4],
    [-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1,  1, -4, -3, -2, 11,  2, -3, -4, -3, -2, -4],
    [-2, -2, -2, -3, -2, -1, -2, -3,  2, -1, -1, -2, -1,  3, -3, -2, -2,  2,  7, -1, -3, -2, -1, -4],
    [ 0, -3, -3, -3, -1, -2, -2, -3, -3,  3,  1, -2,  1, -1, -2, -2,  0, -3, -1,  4, -3, -2, -1, -4],
    [-2, -1,  3,  4, -3,  0,  1, -1,  0, -3, -4,  0, -3, -3, -2,  0, -1, -4, -3, -3,  4,  1, -1, -4],
    [-1,  0,  0,  1, -3,  3,  4, -2,  0, -3, -3,  1, -1, -3, -1,  0, -1, -3, -2, -2,  1,  4, -1, -4],
    [ 0, -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -2,  0,  0, -2, -1, -1, -1, -1, -1, -4],
    [-4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4,  1],
];

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERS: &str = include_str!("blosum62/others.txt");

    #[test]
    fn blosum62_equals_the_published_matrix() {
        let code = |letter: &str| {
            (0_u8..)
                .zip(BLOSUM62_LETTERS)
                .find(|(_, own)| [**own] == letter.as_bytes())
        };
        let mut lines = OTHERS.lines().skip(1);
        let columns: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(columns.len(), BLOSUM62_LETTERS.len());
        let mut rows = 0;
        for line in lines {
            let (row, scores) = line.split_once(' ').unwrap();
            let scores: Vec<i64> = scores
                .split_whitespace()
                .map(|score| score.parse().unwrap())
                .collect();
            assert_eq!(scores.len(), columns.len(), "{row}");
            for (column, expected) in columns.iter().zip(scores) {
                let (one, other) = (code(row).unwrap().0, code(column).unwrap().0);
                assert_eq!(blosum62(one, other), expected, "{row} {column}");
            }
            rows += 1;
        }
        assert_eq!(rows, BLOSUM62_LETTERS.len());
    }
}
