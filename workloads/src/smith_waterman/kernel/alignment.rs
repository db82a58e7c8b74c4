//! An alignment, and the parts of it that processes output.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::smith_waterman::kernel::scoring::Scoring;
use crate::smith_waterman::kernel::sequence::Pair;

/// The best local alignment of two sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// What it is worth.
    pub score: i64,
    /// Which letters of the two sequences are aligned, and how.
    pub path: Path,
}

/// The output of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The score of the best alignment, the same in every part; 0 if there is none.
    pub score: i64,
    /// What of it lies in this process's columns; `None`: nothing.
    pub path: Option<Path>,
}

/// A way through the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The letters of the query, counted from 0.
    pub query: Range<usize>,
    /// The letters of the subject, counted from 0.
    pub subject: Range<usize>,
    /// What is done from the first letters to the last ones, and how often in a row.
    pub operations: Vec<(Operation, usize)>,
}

/// What is done with one letter, or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Equal letters beside each other, `=`.
    Equal,
    /// Different letters beside each other, `X`.
    Different,
    /// A letter of the query beside a gap, `I`.
    Insertion,
    /// A letter of the subject beside a gap, `D`.
    Deletion,
}

impl Alignment {
    /// Assembles the alignment from the outputs of all processes, in rank order; `None` if no two letters
    /// beside each other score more than 0.
    ///
    /// # Panics
    ///
    /// If these are not the outputs of all processes of one run.
    #[must_use]
    pub fn assemble(parts: &[Part]) -> Option<Self> {
        let score = parts.first()?.score;
        let mut paths = parts.iter().filter_map(|part| part.path.as_ref());
        let mut path = paths.next()?.clone();
        for next in paths {
            let (end, start) = (path.subject.end, next.subject.start);
            assert_eq!(end, start, "parts lie side by side");
            assert_eq!(path.query.end, next.query.start, "parts join");
            path.append(next);
        }
        Some(Self { score, path })
    }

    /// What the alignment is worth, computed from its letters.
    ///
    /// # Panics
    ///
    /// If it does not lie within `pair`.
    #[must_use]
    pub fn rescore(&self, pair: &Pair, scoring: &Scoring) -> i64 {
        let (mut row, mut column) = (self.path.query.start, self.path.subject.start);
        let mut score = 0;
        for &(operation, count) in &self.path.operations {
            match operation {
                Operation::Equal | Operation::Different => {
                    for step in 0..count {
                        let query = pair.query.codes()[row + step];
                        let subject = pair.subject.codes()[column + step];
                        assert_eq!(query == subject, operation == Operation::Equal);
                        score += scoring.pair(query, subject);
                    }
                }
                Operation::Insertion | Operation::Deletion => score -= scoring.gap(count),
            }
            row += count * usize::from(operation.takes_query());
            column += count * usize::from(operation.takes_subject());
        }
        assert_eq!((row, column), (self.path.query.end, self.path.subject.end));
        score
    }
}

impl Path {
    /// How many pairs of letters and letters beside gaps there are.
    #[must_use]
    pub fn places(&self) -> usize {
        self.operations.iter().map(|(_, count)| count).sum()
    }

    /// How many of them are pairs of equal letters.
    #[must_use]
    pub fn equal_places(&self) -> usize {
        let operations = self.operations.iter();
        let equal = operations.filter(|(operation, _)| *operation == Operation::Equal);
        equal.map(|(_, count)| count).sum()
    }

    fn append(&mut self, next: &Self) {
        self.query.end = next.query.end;
        self.subject.end = next.subject.end;
        let mut rest = next.operations.as_slice();
        if let (Some((last, count)), [(first, more), others @ ..]) =
            (self.operations.last_mut(), rest)
            && last == first
        {
            *count += more;
            rest = others;
        }
        self.operations.extend_from_slice(rest);
    }
}

impl Operation {
    /// For letters beside each other.
    pub(super) const fn of_pair(is_equal: bool) -> Self {
        if is_equal {
            Self::Equal
        } else {
            Self::Different
        }
    }

    /// Whether a letter of the query is used up.
    #[must_use]
    pub const fn takes_query(self) -> bool {
        !matches!(self, Self::Deletion)
    }

    /// Whether a letter of the subject is used up.
    #[must_use]
    pub const fn takes_subject(self) -> bool {
        !matches!(self, Self::Insertion)
    }
}

/// One sentence, with the operations as SAM's extended CIGAR writes them; letters count from 1.
impl fmt::Display for Alignment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Path { query, subject, .. } = &self.path;
        write!(
            formatter,
            "score {}: letters {} to {} of the query beside {} to {} of the subject, {} of {} places \
             equal: {}",
            self.score,
            query.start + 1,
            query.end,
            subject.start + 1,
            subject.end,
            self.path.equal_places(),
            self.path.places(),
            self.path,
        )
    }
}

/// The operations, as `12=1X3I`.
impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (operation, count) in &self.operations {
            write!(formatter, "{count}{operation}")?;
        }
        Ok(())
    }
}

/// The letter that SAM has for it.
impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Equal => "=",
            Self::Different => "X",
            Self::Insertion => "I",
            Self::Deletion => "D",
        })
    }
}
