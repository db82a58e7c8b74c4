//! Notes of the program over supersteps, in bins; a bin joins several supersteps where there are many.

use std::ops::Range;

use bsp::{Note, Notes};

/// What was noted under one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoteCurve {
    /// The name.
    pub(crate) name: String,
    /// The bins that have values, by their numbers.
    bins: Vec<(u64, Note)>,
}

/// The notes of a run, in bins of the same number of supersteps.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoteCurves {
    /// The first superstep of the run.
    first: u64,
    /// Number of supersteps of a bin.
    size: u64,
    /// The names in the order in which they appeared, at most [`NAMES`] of them.
    curves: Vec<NoteCurve>,
    /// Whether there are more names.
    has_more: bool,
}

impl NoteCurves {
    /// No notes of a run that begins with superstep `first`.
    pub(super) const fn new(first: u64) -> Self {
        Self {
            first,
            size: 1,
            curves: Vec::new(),
            has_more: false,
        }
    }

    /// Adds the notes of a superstep, which comes after those before.
    pub(super) fn add(&mut self, superstep: u64, notes: &Notes) {
        let mut bin = superstep.saturating_sub(self.first) / self.size;
        while BINS <= bin {
            self.size *= 2;
            bin /= 2;
            self.curves.iter_mut().for_each(NoteCurve::halve);
        }
        for (name, note) in notes.iter() {
            let known = self.curves.iter().position(|curve| curve.name == name);
            let place = known.unwrap_or(self.curves.len());
            if place == NAMES {
                self.has_more = true;
                continue;
            }
            if known.is_none() {
                self.curves.push(NoteCurve {
                    name: name.to_owned(),
                    bins: Vec::new(),
                });
            }
            self.curves[place].add(bin, *note);
        }
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.curves.is_empty()
    }

    /// Whether there are more names than are kept.
    pub(crate) const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Number of supersteps of a bin.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// What was noted under each name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &NoteCurve> {
        self.curves.iter()
    }

    /// The bins of a curve that have values, with their supersteps, in a run that ends before superstep `end`.
    pub(crate) fn bins<'a>(
        &'a self,
        curve: &'a NoteCurve,
        end: u64,
    ) -> impl Iterator<Item = (Range<u64>, &'a Note)> {
        curve.bins.iter().map(move |(bin, values)| {
            let from = self.first.saturating_add(bin.saturating_mul(self.size));
            (from..from.saturating_add(self.size).min(end), values)
        })
    }
}

impl NoteCurve {
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
const NAMES: usize = 16;
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
        let mut curves = NoteCurves::new(10);
        for superstep in 10..5010_u32 {
            let value = f64::from(superstep);
            let noted = [("x", value), ("x", value + 1.0), ("every third", value)];
            let count = if superstep % 3 == 0 { 3 } else { 2 };
            curves.add(superstep.into(), &notes(&noted[..count]));
        }
        assert_eq!(curves.size(), 4);
        let [all, third] = &curves.curves[..] else {
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
        let mut curves = NoteCurves::new(0);
        for superstep in 0..4000_u64 {
            let value = if superstep == 7 { f64::NAN } else { 1.0 };
            curves.add(superstep, &notes(&[("x", value)]));
        }
        let curve = &curves.curves[0];
        let undefined = curves
            .bins(curve, 4000)
            .filter(|(_, values)| values.min.is_nan());
        let undefined: Vec<_> = undefined.map(|(supersteps, _)| supersteps).collect();
        assert_eq!((undefined.len(), &undefined[0]), (1, &(6..8)));
    }

    #[test]
    fn a_run_with_many_names_keeps_the_first() {
        let mut curves = NoteCurves::new(0);
        for superstep in 0..100 {
            curves.add(superstep, &notes(&[(&format!("note {superstep}"), 1.0)]));
        }
        let names: Vec<&str> = curves.iter().map(|curve| &*curve.name).collect();
        assert_eq!((names.len(), names[0]), (NAMES, "note 0"));
        assert!(curves.has_more());
    }
}
