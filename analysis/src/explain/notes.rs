//! The table of what processes noted in a run.

use crate::document::Table;
use crate::run::NoteReport;
use crate::text::rounded;

/// The table of notes, if there are any.
pub(super) fn table(notes: &[NoteReport]) -> Option<Table> {
    if notes.is_empty() {
        return None;
    }
    let table = Table::of(
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
    let table = table
        .captioned(
            "Notes of the program (first, last: of several values in a superstep, their mean)",
        )
        .dispensing(&[1, 2]);
    Some(match notes.len().saturating_sub(ROWS) {
        0 => table,
        more => table.followed(format!(" … {more} more; --format json shows them")),
    })
}

/// The most rows of the table.
const ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use bsp::numbers::length;
    use bsp::{Reductions, reference};

    use super::*;
    use crate::document::{Document, Part};
    use crate::run::RunNotes;
    use crate::text::Layout;

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
        assert_eq!(table(notes.reports()).unwrap().rows()[0], residual);
        for index in 0..length(200) {
            let noted = Reductions::noted(format!("note {index}"), 1.0);
            notes.add(index, &reference::conclude(noted, index).unwrap().notes);
        }
        assert!(notes.has_more() && notes.reports().len() == 100);
        let table = table(notes.reports()).unwrap();
        assert_eq!(table.rows().len(), 20);
        let text = Document::of([Part::Table(table)]).text(Layout::default());
        let more = " … 80 more; --format json shows them\n";
        assert!(text.ends_with(more), "{text}");
    }
}
