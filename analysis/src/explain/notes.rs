//! The table of what processes noted in a run.

use crate::explain::report::Sheet;
use crate::run::NoteReport;
use crate::text::rounded;

/// The table of notes, if there are any.
pub(super) fn sheet(notes: &[NoteReport]) -> Option<Sheet> {
    if notes.is_empty() {
        return None;
    }
    let mut sheet = Sheet::of(
        "Notes of the program (first, last: of several values in a superstep, their mean)"
            .to_owned(),
        notes.iter().take(ROWS),
        &[
            ("note", &|note| note.name.clone()),
            ("supersteps", &|note| note.supersteps.to_string()),
            ("values", &|note| note.all.count.to_string()),
            ("first", &|note| rounded(note.first.note.mean(), 4)),
            ("last", &|note| rounded(note.last.note.mean(), 4)),
            ("least", &|note| rounded(note.all.min, 4)),
            ("greatest", &|note| rounded(note.all.max, 4)),
        ],
    );
    sheet.dispensable = &[1, 2];
    if ROWS < notes.len() {
        sheet.rest = format!(" … {} more; --format json shows them", notes.len() - ROWS);
    }
    Some(sheet)
}

/// The most rows of the table.
const ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use bsp::numbers::length;
    use bsp::{Reductions, reference};

    use super::*;
    use crate::run::RunNotes;

    #[test]
    fn a_note_has_a_row_and_many_names_are_cut() {
        let mut notes = RunNotes::new(0);
        for (superstep, values) in [(3, [8.0, 4.0]), (5, [0.5, 0.25])] {
            let mut all = Reductions::default();
            for value in values {
                all.combine(Reductions::noted("residual", value));
            }
            notes.add(superstep, &reference::conclude(all, 0).unwrap().notes);
        }
        let residual = ["residual", "2", "4", "6.0000", "0.3750", "0.2500", "8.0000"];
        assert_eq!(sheet(notes.reports()).unwrap().rows[0], residual);
        for index in 0..length(200) {
            let noted = Reductions::noted(format!("note {index}"), 1.0);
            notes.add(index, &reference::conclude(noted, index).unwrap().notes);
        }
        assert!(notes.has_more() && notes.reports().len() == 100);
        let sheet = sheet(notes.reports()).unwrap();
        assert_eq!(
            (sheet.rows.len(), &*sheet.rest),
            (20, " … 80 more; --format json shows them")
        );
    }
}
