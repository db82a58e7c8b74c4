//! An alignment as its letters, beside each other.

use crate::smith_waterman::kernel::alignment::{Alignment, Operation};
use crate::smith_waterman::kernel::scoring::Substitution;
use crate::smith_waterman::kernel::sequence::Pair;

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
