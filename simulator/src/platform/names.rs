//! An index of names, and ranges of names.
//!
//! It is a hash table of its own, because a platform has up to four million names: a map would keep each of them a second
//! time, and a table that keeps no hashes would look them all up again whenever it grows.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;

use bsp::numbers::length;

use super::builder::HOSTS_MAX;
use super::error::PlatformErrorKind;

/// Finds what a name stands for. The names themselves are with what they name, so every method takes a
/// function that looks a name up.
#[derive(Debug)]
pub(super) struct Names<T> {
    /// A power of two, at least half of them free; each entry is in the first free slot from its hash on.
    slots: Vec<Option<Entry<T>>>,
    length: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    hash: u32,
    named: T,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            length: 0,
        }
    }
}

impl<T: Copy> Names<T> {
    /// Adds an entry; false if the name is taken.
    pub(super) fn insert<'a>(
        &mut self,
        name: &str,
        named: T,
        name_of: impl Fn(T) -> &'a str,
    ) -> bool {
        if self.slots.len() <= 2 * self.length {
            self.grow();
        }
        let hash = hash(name);
        let (slot, found) = self.find(name, hash, name_of);
        if found.is_some() {
            return false;
        }
        self.slots[slot] = Some(Entry { hash, named });
        self.length += 1;
        true
    }

    pub(super) fn get<'a>(&self, name: &str, name_of: impl Fn(T) -> &'a str) -> Option<T> {
        if self.slots.is_empty() {
            return None;
        }
        self.find(name, hash(name), name_of).1
    }

    /// The slot of a name, and its entry if it has one.
    fn find<'a>(
        &self,
        name: &str,
        hash: u32,
        name_of: impl Fn(T) -> &'a str,
    ) -> (usize, Option<T>) {
        let mut slot = self.first_slot(hash);
        loop {
            match self.slots[slot] {
                None => return (slot, None),
                Some(entry) if entry.hash == hash && name_of(entry.named) == name => {
                    return (slot, Some(entry.named));
                }
                Some(_) => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn grow(&mut self) {
        let size = (2 * self.slots.len()).max(16);
        let old = std::mem::replace(&mut self.slots, vec![None; size]);
        for entry in old.into_iter().flatten() {
            let mut slot = self.first_slot(entry.hash);
            while self.slots[slot].is_some() {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = Some(entry);
        }
    }

    fn first_slot(&self, hash: u32) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}

/// The same on every machine; nothing but the place in the index depends on it.
fn hash(name: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let hash = hasher.finish();
    u32::try_from(hash >> 32).expect("the upper half of 64 bits")
}

/// The names that a name with or without ranges stands for.
///
/// Numbers have at least as many digits as the first one of their range: `a-08..10` is `a-08`, `a-09`, `a-10`. Of several
/// ranges, the last one counts fastest: `r1..2-n1..2` is `r1-n1`, `r1-n2`, `r2-n1`, `r2-n2`.
///
/// # Errors
///
/// If a range has no first or last number, falls, has other zeros at its end than at its beginning, or there are more names
/// than hosts may be.
pub fn expand(pattern: &str) -> Result<Vec<String>, PlatformErrorKind> {
    let invalid = || PlatformErrorKind::InvalidValue {
        key: "range of names",
        found: pattern.to_owned(),
        expected: "the first and last number with `..` between them and the same zeros in front, as `labtec-1..5` \
                   and `labtec-01..05`",
    };
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once("..") {
        let prefix = before.trim_end_matches(|character: char| character.is_ascii_digit());
        let suffix = after.trim_start_matches(|character: char| character.is_ascii_digit());
        let first = &before[prefix.len()..];
        let last = &after[..after.len() - suffix.len()];
        let range = range(first, last).ok_or_else(invalid)?;
        let count = u64::from(range.end() - range.start()) + 1;
        let limit = u64::from(HOSTS_MAX);
        let found = count.saturating_mul(length(names.len()));
        if limit < found {
            return Err(PlatformErrorKind::TooMany {
                what: "names in a range",
                found,
                limit,
            });
        }
        let width = first.len();
        let numbered = |name: String| {
            let range = range.clone();
            range.map(move |number| format!("{name}{prefix}{number:0width$}"))
        };
        names = names.into_iter().flat_map(numbered).collect();
        rest = suffix;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

/// The numbers from `first` to `last`, if their digits are a range.
fn range(first: &str, last: &str) -> Option<RangeInclusive<u32>> {
    let has_other_zeros = last.starts_with('0') && last.len() != first.len();
    let range = first.parse().ok()?..=last.parse().ok()?;
    (!has_other_zeros && !range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_taken_once() {
        let known: Vec<String> = (0..1000).map(|number| format!("host-{number}")).collect();
        let name_of = |number: usize| known[number].as_str();
        let mut names = Names::default();
        assert_eq!(names.get("host-1", name_of), None);
        for (number, name) in known.iter().enumerate() {
            assert!(names.insert(name, number, name_of));
        }
        for (number, name) in known.iter().enumerate() {
            assert_eq!(names.get(name, name_of), Some(number));
            assert!(!names.insert(name, 0, name_of));
        }
        assert_eq!(names.get("host-1000", name_of), None);
    }

    #[test]
    fn ranges_expand_to_names() {
        for (pattern, names) in [
            ("a-9..11", &["a-9", "a-10", "a-11"][..]),
            ("c0..1x", &["c0x", "c1x"]),
            ("plain", &["plain"]),
            ("7..8", &["7", "8"]),
            ("a-01..03", &["a-01", "a-02", "a-03"]),
            ("a-08..10", &["a-08", "a-09", "a-10"]),
            ("a-099..101", &["a-099", "a-100", "a-101"]),
            ("a-00..1", &["a-00", "a-01"]),
            ("a-01..01", &["a-01"]),
            ("r1..2-n09..10", &["r1-n09", "r1-n10", "r2-n09", "r2-n10"]),
        ] {
            assert_eq!(expand(pattern).unwrap(), names);
        }
        for pattern in [
            "a-5..1",
            "a..",
            "..",
            "a..3",
            "a-1..3..5",
            "a-1..x",
            "a-1..03",
            "a-001..03",
            "a-1..99999999999",
            "a0..4294967295",
            "a1..9999-b1..9999-c1..9999",
        ] {
            assert!(expand(pattern).is_err(), "{pattern}");
        }
    }
}
