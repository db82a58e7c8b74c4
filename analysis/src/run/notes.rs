//! What processes noted in a run: under each name the first and the last values, the extremes, and a curve over the supersteps.

use std::ops::Range;

use bsp::{Note, Notes};
use serde::Serialize;

/// What was noted under one name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct NoteReport {
    /// The name.
    pub(crate) name: String,
    /// Number of supersteps in which a process noted it.
    pub(crate) supersteps: u64,
    pub(crate) first: NotedSuperstep,
    pub(crate) last: NotedSuperstep,
    /// The values of all supersteps. Their sum is rounded in each superstep.
    pub(crate) all: Note,
    /// The bins of the curve that have values, by their numbers.
    #[serde(skip)]
    bins: Vec<(u64, Note)>,
}

/// What was noted in a superstep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct NotedSuperstep {
    /// The superstep, from 0.
    superstep: u64,
    pub(crate) note: Note,
}

/// The notes of a run. Curves have bins of the same number of supersteps, which join several where there are many.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunNotes {
    /// The first superstep of the run.
    first: u64,
    /// Number of supersteps of a bin.
    size: u64,
    /// In the order in which the names appeared, at most [`NAMES`] of them; the first [`CURVES`] have curves.
    all: Vec<NoteReport>,
    /// Whether there are more names.
    has_more: bool,
}

impl RunNotes {
    /// No notes of a run that begins with superstep `first`.
    pub(crate) const fn new(first: u64) -> Self {
        Self {
            first,
            size: 1,
            all: Vec::new(),
            has_more: false,
        }
    }

    /// Adds the notes of a superstep, which comes after those before.
    pub(crate) fn add(&mut self, superstep: u64, notes: &Notes) {
        let mut bin = superstep.saturating_sub(self.first) / self.size;
        while BINS <= bin {
            self.size *= 2;
            bin /= 2;
            self.all.iter_mut().for_each(NoteReport::halve);
        }
        for (name, note) in notes.iter() {
            let noted = NotedSuperstep {
                superstep,
                note: *note,
            };
            let known = self.all.iter().position(|known| known.name == name);
            let place = known.unwrap_or(self.all.len());
            if place == NAMES {
                self.has_more = true;
                continue;
            }
            match known.and_then(|place| self.all.get_mut(place)) {
                Some(known) => {
                    known.supersteps += 1;
                    known.last = noted;
                    known.all = known.all.and(note);
                }
                None => self.all.push(NoteReport {
                    name: name.to_owned(),
                    supersteps: 1,
                    first: noted,
                    last: noted,
                    all: *note,
                    bins: Vec::new(),
                }),
            }
            if place < CURVES {
                self.all[place].add(bin, *note);
            }
        }
    }

    /// What has been noted under each name.
    pub(crate) fn reports(&self) -> &[NoteReport] {
        &self.all
    }

    /// Whether there are more names than are kept.
    pub(crate) const fn has_more(&self) -> bool {
        self.has_more
    }

    /// What has been noted under each name that has a curve.
    pub(crate) fn curves(&self) -> &[NoteReport] {
        &self.all[..self.all.len().min(CURVES)]
    }

    /// Whether there are names without a curve.
    pub(crate) const fn has_more_than_curves(&self) -> bool {
        CURVES < self.all.len()
    }

    /// Number of supersteps of a bin.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// The bins of a curve that have values, with their supersteps, in a run that ends before superstep `end`.
    pub(crate) fn bins<'a>(
        &'a self,
        curve: &'a NoteReport,
        end: u64,
    ) -> impl Iterator<Item = (Range<u64>, &'a Note)> {
        curve.bins.iter().map(move |(bin, values)| {
            let from = self.first.saturating_add(bin.saturating_mul(self.size));
            (from..from.saturating_add(self.size).min(end), values)
        })
    }
}

impl NoteReport {
    fn add(&mut self, bin: u64, values: Note) {
        match self.bins.last_mut() {
            Some((last, before)) if *last == bin => *before = before.and(&values),
            _ => self.bins.push((bin, values)),
        }
    }

    /// Joins each two bins.
    fn halve(&mut self) {
        for (bin, values) in std::mem::take(&mut self.bins) {
            self.add(bin / 2, values);
        }
    }
}

/// The most names.
const NAMES: usize = 100;
/// The most names with a curve.
const CURVES: usize = 16;
/// The most bins.
const BINS: u64 = 2_000;

#[cfg(test)]
mod tests {
    use bsp::{Reductions, reference};

    use super::*;

    fn notes(noted: &[(&str, f64)]) -> Notes {
        let mut all = Reductions::default();
        for (name, value) in noted {
            all.combine(Reductions::noted((*name).to_owned(), *value));
        }
        reference::conclude(all, 0).unwrap().notes
    }

    #[test]
    fn bins_have_all_values_of_their_supersteps() {
        let mut curves = RunNotes::new(10);
        for superstep in 10..5010_u32 {
            let value = f64::from(superstep);
            let noted = [("x", value), ("x", value + 1.0), ("every third", value)];
            let count = if superstep % 3 == 0 { 3 } else { 2 };
            curves.add(superstep.into(), &notes(&noted[..count]));
        }
        assert_eq!(curves.size(), 4);
        let [all, third] = curves.curves() else {
            panic!("{curves:?}");
        };
        assert_eq!((&*all.name, &*third.name), ("x", "every third"));
        let bins: Vec<_> = curves.bins(all, 5010).collect();
        assert_eq!(bins.len(), 1250);
        let (supersteps, values) = &bins[1];
        assert_eq!(*supersteps, 14..18);
        let expected = Note {
            count: 8,
            sum: 128.0,
            min: 14.0,
            max: 18.0,
        };
        assert_eq!(**values, expected);
        let count: u64 = curves
            .bins(third, 5010)
            .map(|(_, values)| values.count)
            .sum();
        assert_eq!(count, 1666);
    }

    #[test]
    fn what_is_not_a_number_stays_visible_in_a_bin() {
        let mut curves = RunNotes::new(0);
        for superstep in 0..4000_u64 {
            let value = if superstep == 7 { f64::NAN } else { 1.0 };
            curves.add(superstep, &notes(&[("x", value)]));
        }
        let curve = &curves.curves()[0];
        let undefined = curves
            .bins(curve, 4000)
            .filter(|(_, values)| values.min.is_nan());
        let undefined: Vec<_> = undefined.map(|(supersteps, _)| supersteps).collect();
        assert_eq!((undefined.len(), &undefined[0]), (1, &(6..8)));
    }

    #[test]
    fn a_run_with_many_names_keeps_the_first() {
        let mut curves = RunNotes::new(0);
        for superstep in 0..100 {
            curves.add(superstep, &notes(&[(&format!("note {superstep}"), 1.0)]));
        }
        let names: Vec<&str> = curves.curves().iter().map(|curve| &*curve.name).collect();
        assert_eq!((names.len(), names[0]), (CURVES, "note 0"));
        assert!(curves.has_more_than_curves() && !curves.has_more());
    }

    #[test]
    fn a_note_has_its_first_and_last_superstep_and_its_extremes() {
        let mut reading = RunNotes::new(0);
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
    }
}
