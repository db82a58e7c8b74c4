//! Some of many, to draw from.

/// Some of the numbers below a count; putting in and taking out take as long for many as for few.
///
/// Invariant: `places` says where in `list` every number is.
#[derive(Clone, Debug)]
pub(super) struct SampledSet {
    list: Vec<usize>,
    places: Vec<usize>,
}

impl SampledSet {
    /// None of the numbers below `count`.
    pub(super) fn none_of(count: usize) -> Self {
        Self {
            list: Vec::new(),
            places: vec![ABSENT; count],
        }
    }

    /// Puts `number` in or takes it out.
    #[inline]
    pub(super) fn set(&mut self, number: usize, is_chosen: bool) {
        let place = self.places[number];
        if is_chosen == (place != ABSENT) {
            return;
        }
        if is_chosen {
            self.places[number] = self.list.len();
            self.list.push(number);
        } else {
            self.list.swap_remove(place);
            self.places[number] = ABSENT;
            if let Some(&moved) = self.list.get(place) {
                self.places[moved] = place;
            }
        }
    }

    /// Those that are in, in the order that putting in and taking out left.
    #[inline]
    pub(super) fn list(&self) -> &[usize] {
        &self.list
    }

    /// Takes all out.
    pub(super) fn clear(&mut self) {
        for &number in &self.list {
            self.places[number] = ABSENT;
        }
        self.list.clear();
    }
}

const ABSENT: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_put_in_and_not_taken_out_is_in(
            changes in prop::collection::vec((0..9_usize, any::<bool>()), 0..50),
        ) {
            let mut chosen = SampledSet::none_of(9);
            let mut expected = BTreeSet::new();
            for (number, is_chosen) in changes {
                chosen.set(number, is_chosen);
                if is_chosen {
                    expected.insert(number);
                } else {
                    expected.remove(&number);
                }
            }
            let mut met = chosen.list().to_vec();
            met.sort_unstable();
            prop_assert_eq!(met, expected.into_iter().collect::<Vec<_>>());
            chosen.clear();
            prop_assert!(chosen.list().is_empty());
            prop_assert!(chosen.places.iter().all(|&place| place == ABSENT));
        }
    }
}
