//! An index of names.
//!
//! It is a hash table of its own, because a platform has up to four million names: a map would keep each of them a second
//! time, and a table that keeps no hashes would look them all up again whenever it grows.

use std::hash::{DefaultHasher, Hash, Hasher};

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
}
