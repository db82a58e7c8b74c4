//! What processes noted in a run, from the first superstep to the last.

use bsp::{Note, Notes};
use serde::Serialize;

use crate::explain::report::Sheet;
use crate::text::rounded;

/// What was noted under one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct NoteReport {
    /// The name.
    name: String,
    /// Number of supersteps in which a process noted it.
    supersteps: u64,
    /// The first of these supersteps.
    first: NotedSuperstep,
    /// The last of these supersteps.
    last: NotedSuperstep,
    /// The values of all supersteps. Their sum is rounded in each superstep.
    all: Note,
}

/// What was noted in a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct NotedSuperstep {
    /// The superstep, from 0.
    superstep: u64,
    /// The note.
    note: Note,
}

/// The notes of a record as they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoteReading {
    /// In the order in which the names appeared, at most [`NAMES`].
    all: Vec<NoteReport>,
    /// Whether there are more names.
    pub(super) has_more: bool,
}

impl NoteReading {
    /// The notes of a superstep, which comes after those before.
    pub(super) fn add(&mut self, superstep: u64, notes: &Notes) {
        for (name, note) in notes.iter() {
            let noted = NotedSuperstep {
                superstep,
                note: *note,
            };
            if let Some(known) = self.all.iter_mut().find(|known| known.name == name) {
                known.supersteps += 1;
                known.last = noted;
                known.all = known.all.and(note);
            } else if self.all.len() < NAMES {
                self.all.push(NoteReport {
                    name: name.to_owned(),
                    supersteps: 1,
                    first: noted,
                    last: noted,
                    all: *note,
                });
            } else {
                self.has_more = true;
            }
        }
    }

    /// What has been noted.
    pub(super) fn reports(&self) -> &[NoteReport] {
        &self.all
    }
}

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

/// The most names that are kept.
const NAMES: usize = 100;
/// The most rows of the table.
const ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use bsp::numbers::length;
    use bsp::{Reductions, reference};

    use super::*;

    fn notes(noted: &[(&'static str, f64)]) -> Notes {
        let mut all = Reductions::default();
        for (name, value) in noted {
            all.combine(Reductions::noted(*name, *value));
        }
        reference::conclude(all, 0).unwrap().notes
    }

    #[test]
    fn a_note_has_its_first_and_last_superstep_and_its_extremes() {
        let mut reading = NoteReading::default();
        reading.add(
            3,
            &notes(&[("residual", 8.0), ("residual", 4.0), ("mass", 1.0)]),
        );
        reading.add(4, &Notes::default());
        reading.add(5, &notes(&[("residual", 0.5), ("residual", 0.25)]));
        let json = serde_json::to_value(reading.reports()).unwrap();
        assert_eq!(
            json,
            serde_json::json!([
                {
                    "name": "mass", "supersteps": 1, "first": {"superstep": 3, "note": 1.0},
                    "last": {"superstep": 3, "note": 1.0}, "all": 1.0
                },
                {
                    "name": "residual", "supersteps": 2,
                    "first": {"superstep": 3, "note": {"count": 2, "sum": 12.0, "min": 4.0, "max": 8.0}},
                    "last": {"superstep": 5, "note": {"count": 2, "sum": 0.75, "min": 0.25, "max": 0.5}},
                    "all": {"count": 4, "sum": 12.75, "min": 0.25, "max": 8.0}
                }
            ])
        );
        let sheet = sheet(reading.reports()).unwrap();
        assert_eq!(
            sheet.rows[1],
            ["residual", "2", "4", "6.0000", "0.3750", "0.2500", "8.0000"]
        );
    }

    #[test]
    fn many_names_are_cut() {
        let mut reading = NoteReading::default();
        for index in 0..2 * length(NAMES) {
            let noted = Reductions::noted(format!("note {index}"), 1.0);
            reading.add(index, &reference::conclude(noted, index).unwrap().notes);
        }
        assert!(reading.has_more && reading.reports().len() == NAMES);
        let sheet = sheet(reading.reports()).unwrap();
        assert_eq!(
            (sheet.rows.len(), &*sheet.rest),
            (20, " … 80 more; --format json shows them")
        );
    }
}
