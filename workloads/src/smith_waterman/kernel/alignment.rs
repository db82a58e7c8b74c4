//! An alignment, and the parts of it that processes output.

use std::fmt;
use std::ops::Range;

use bsp::Rank;
use serde::{Deserialize, Serialize};

use super::scoring::{Scoring, Substitution};
use super::sequence::Pair;

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

/// Why the output of a process is no part of an alignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output of {process} {problem}")]
pub struct Misfit {
    /// The process.
    pub process: Rank,
    /// What is wrong with its output.
    pub problem: String,
}

impl Alignment {
    /// Assembles the alignment of `pair` from the outputs of all processes, in rank order; `None` if no two letters beside
    /// each other score more than 0.
    ///
    /// # Errors
    ///
    /// The first part that differs from the others in its score, does not join the part before, or is no way through the
    /// matrix of `pair`.
    pub fn assemble(parts: &[Part], pair: &Pair) -> Result<Option<Self>, Misfit> {
        let Some(first) = parts.first() else {
            return Ok(None);
        };
        let score = first.score;
        let mut whole: Option<Path> = None;
        for (index, part) in parts.iter().enumerate() {
            let misfit = |problem: String| Misfit {
                process: Rank::from_index(index),
                problem,
            };
            if part.score != score {
                let (found, first) = (part.score, Rank(0));
                return Err(misfit(format!(
                    "has the score {found}, and that of {first} {score}"
                )));
            }
            let Some(path) = &part.path else { continue };
            path.check(pair).map_err(misfit)?;
            match &mut whole {
                None => whole = Some(path.clone()),
                Some(whole) if whole.joins(path) => whole.append(path),
                Some(_) => {
                    let problem = "does not join those of the processes before";
                    return Err(misfit(problem.to_owned()));
                }
            }
        }
        Ok(whole.map(|path| Self { score, path }))
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
                        score += scoring.pair(query, subject);
                    }
                }
                Operation::Insertion | Operation::Deletion => score -= scoring.gap(count),
            }
            row += count * usize::from(operation.takes_query());
            column += count * usize::from(operation.takes_subject());
        }
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

    /// Checks that it is a way through the matrix of `pair`, from its first letters to its last ones.
    fn check(&self, pair: &Pair) -> Result<(), String> {
        let (queries, subjects) = (pair.query.codes(), pair.subject.codes());
        for (name, letters, range) in [
            ("query", queries.len(), &self.query),
            ("subject", subjects.len(), &self.subject),
        ] {
            if range.end < range.start || letters < range.end {
                let (start, end) = (range.start, range.end);
                return Err(format!(
                    "aligns the letters from {start} to {end} of the {name}, which has {letters}"
                ));
            }
        }
        let (mut query, mut subject) = (
            &queries[self.query.clone()],
            &subjects[self.subject.clone()],
        );
        for &(operation, count) in &self.operations {
            let counts = [
                (operation.takes_query(), query),
                (operation.takes_subject(), subject),
            ];
            if count == 0
                || counts
                    .iter()
                    .any(|(takes, rest)| *takes && rest.len() < count)
            {
                return Err(format!(
                    "has the operation {count}{operation}, for which there are no letters"
                ));
            }
            let is_pair = operation.takes_query() && operation.takes_subject();
            let mut pairs = query.iter().zip(subject).take(count);
            if is_pair && pairs.any(|(one, other)| Operation::of_pair(one == other) != operation) {
                return Err(format!(
                    "has the operation {count}{operation}, and the letters are others"
                ));
            }
            query = &query[count * usize::from(operation.takes_query())..];
            subject = &subject[count * usize::from(operation.takes_subject())..];
        }
        if query.is_empty() && subject.is_empty() {
            return Ok(());
        }
        Err("ends before its last letters".to_owned())
    }

    /// Whether `next` begins where it ends.
    const fn joins(&self, next: &Self) -> bool {
        self.query.end == next.query.start && self.subject.end == next.subject.start
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

impl Alignment {
    /// The aligned letters in lines of 60 places: the query above the subject, with the numbers of the first and the
    /// last letter in a line, `-` for gaps, and `|` between equal letters.
    ///
    /// # Panics
    ///
    /// If it does not lie within `pair`, whose letters are those of `substitution`.
    #[must_use]
    pub fn letters(&self, pair: &Pair, substitution: Substitution) -> String {
        let letter = |code: u8| char::from(substitution.letters()[usize::from(code)]);
        let (mut row, mut column) = (self.path.query.start, self.path.subject.start);
        let mut places = Vec::new();
        for &(operation, count) in &self.path.operations {
            for _ in 0..count {
                let mut place = ['-', ' ', '-'];
                if operation.takes_query() {
                    place[0] = letter(pair.query.codes()[row]);
                    row += 1;
                }
                if operation == Operation::Equal {
                    place[1] = '|';
                }
                if operation.takes_subject() {
                    place[2] = letter(pair.subject.codes()[column]);
                    column += 1;
                }
                places.push(place);
            }
        }
        let width = row.max(column).to_string().len();
        let (mut row, mut column) = (self.path.query.start, self.path.subject.start);
        let mut text = String::new();
        for line in places.chunks(LINE) {
            let [query, marks, subject] = [0, 1, 2]
                .map(|sequence| -> String { line.iter().map(|place| place[sequence]).collect() });
            let letters = |line: &str| line.chars().filter(|letter| *letter != '-').count();
            let (to_row, to_column) = (row + letters(&query), column + letters(&subject));
            let (first_row, first_column) = (row + 1, column + 1);
            let marks = marks.trim_end();
            text.push_str(&format!("query   {first_row:>width$} {query} {to_row}\n"));
            text.push_str(format!("        {:width$} {marks}", "").trim_end());
            text.push_str(&format!(
                "\nsubject {first_column:>width$} {subject} {to_column}\n\n"
            ));
            (row, column) = (to_row, to_column);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }
}

/// Places in a line.
const LINE: usize = 60;
