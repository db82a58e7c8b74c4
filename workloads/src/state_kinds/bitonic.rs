//! Keys that are sorted in a binary tree: the state is many small nodes.

use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::Round;

/// A perfect binary tree of keys, in its order from left to right, and one key more: a power of two in all.
///
/// The keys are sorted by a bitonic network: in the phase of a block, keys whose positions differ by a distance are
/// compared and exchanged, for falling distances, and blocks double from phase to phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Bitonic {
    levels: u32,
    root: Option<Box<Node>>,
    spare: i32,
    /// Keys of a block, the distance of the keys that are compared, and the position that is next.
    block: usize,
    distance: usize,
    position: usize,
    /// A sum over all keys that does not depend on their order.
    fingerprint: u64,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Node(i32, Option<Box<Self>>, Option<Box<Self>>);

impl Bitonic {
    /// The keys of a round.
    pub(super) fn new(round: Round, range: [f64; 2]) -> Self {
        let levels = levels(round.bytes(range), range);
        let mut numbers = round.numbers(KEYS);
        let mut keys =
            std::iter::repeat_with(|| i32::from_ne_bytes(numbers.next_u32().to_ne_bytes()));
        let mut fingerprint = 0_u64;
        let mut next = || {
            let key = keys.next().expect("an endless sequence");
            fingerprint = fingerprint.wrapping_add(mixed(key));
            key
        };
        let root = grown(levels, &mut next);
        let spare = next();
        Self {
            levels,
            root,
            spare,
            block: 2,
            distance: 1,
            position: 0,
            fingerprint,
        }
    }

    /// Compares keys with about `budget` steps from node to node. Returns how many it took.
    pub(super) fn advance(&mut self, budget: u64) -> u64 {
        let steps = 2 * u64::from(self.levels);
        let mut spent = 0;
        while spent < budget && !self.is_over() {
            let (low, high) = (self.position, self.position | self.distance);
            let (one, other) = (*self.key(low), *self.key(high));
            // Blocks rise and fall in turn, so that two of them make a bitonic sequence.
            let is_rising = low & self.block == 0;
            if (other < one) == is_rising && one != other {
                *self.key(low) = other;
                *self.key(high) = one;
            }
            spent += steps;
            self.go_on();
        }
        spent
    }

    pub(super) const fn is_over(&self) -> bool {
        self.keys() < self.block
    }

    /// The fingerprint of the keys, if they are sorted and the same as at first.
    pub(super) fn result(&self) -> Result<u64, String> {
        let mut found = Vec::with_capacity(self.keys());
        collect(self.root.as_deref(), &mut found);
        found.push(self.spare);
        let fingerprint = found
            .iter()
            .fold(0_u64, |sum, key| sum.wrapping_add(mixed(*key)));
        if !found.is_sorted() {
            return Err(format!("{} keys are not in order", found.len()));
        }
        if found.len() != self.keys() || fingerprint != self.fingerprint {
            return Err("the sorted keys are not those that were drawn".to_owned());
        }
        Ok(fingerprint)
    }

    /// The state, as numbers to be compared.
    pub(super) fn state(&self) -> Vec<u64> {
        let mut keys = Vec::with_capacity(self.keys());
        collect(self.root.as_deref(), &mut keys);
        keys.push(self.spare);
        keys.into_iter().map(mixed).collect()
    }

    /// The most bytes of its encoding.
    pub(super) const fn encoded(&self) -> usize {
        // An array of three, a key of at most five bytes, and of a leaf two that are not there.
        7 * self.keys() + self.keys() / 2 + 128
    }

    const fn keys(&self) -> usize {
        1 << self.levels
    }

    /// Goes on to the next position that is compared with a higher one, the next distance or the next block.
    const fn go_on(&mut self) {
        self.position += 1;
        if self.position & self.distance != 0 {
            self.position += self.distance;
        }
        if self.position < self.keys() {
            return;
        }
        self.position = 0;
        self.distance /= 2;
        if self.distance == 0 {
            self.block *= 2;
            self.distance = self.block / 2;
        }
    }

    /// The key at a position, from the left.
    fn key(&mut self, position: usize) -> &mut i32 {
        let mut half = self.keys() / 2;
        let mut here = position + 1;
        let mut node = self.root.as_deref_mut();
        while let Some(Node(key, left, right)) = node {
            if here == half {
                return key;
            }
            node = if here < half {
                left.as_deref_mut()
            } else {
                here -= half;
                right.as_deref_mut()
            };
            half /= 2;
        }
        &mut self.spare
    }
}

/// The levels of a tree of at most `bytes` bytes; one more if that is below the range, and the larger tree is not above.
fn levels(bytes: f64, [least, most]: [f64; 2]) -> u32 {
    let size = |levels: u32| f64::from(1_u32 << levels) * BYTES_OF_NODE;
    let mut levels = 1;
    while size(levels + 1) <= bytes && levels < LEVELS_MAX {
        levels += 1;
    }
    let is_larger_one_better = size(levels) < least && size(levels + 1) <= most;
    levels + u32::from(is_larger_one_better)
}

/// A tree of `levels` levels, whose keys are drawn from left to right.
fn grown(levels: u32, next: &mut impl FnMut() -> i32) -> Option<Box<Node>> {
    if levels == 0 {
        return None;
    }
    let left = grown(levels - 1, next);
    let key = next();
    let right = grown(levels - 1, next);
    Some(Box::new(Node(key, left, right)))
}

/// The keys of a tree, from left to right.
fn collect(node: Option<&Node>, keys: &mut Vec<i32>) {
    if let Some(Node(key, left, right)) = node {
        collect(left.as_deref(), keys);
        keys.push(*key);
        collect(right.as_deref(), keys);
    }
}

/// A key with its bits spread, so that sums of different keys differ.
const fn mixed(key: i32) -> u64 {
    let spread =
        (key.cast_unsigned() as u64 ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    spread ^ spread >> 29
}

/// The stream of a round's keys.
const KEYS: u8 = b'k';

/// Bytes of the encoding of a node, about.
const BYTES_OF_NODE: f64 = 7.5;

/// More levels have more than a billion nodes.
const LEVELS_MAX: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(bytes: f64) -> Bitonic {
        let round = Round {
            seed: 11,
            rank: 0,
            number: 0,
        };
        Bitonic::new(round, [bytes, bytes])
    }

    fn keys(tree: &Bitonic) -> Vec<i32> {
        let mut keys = Vec::new();
        collect(tree.root.as_deref(), &mut keys);
        keys.push(tree.spare);
        keys
    }

    #[test]
    fn trees_are_sorted_as_the_standard_library_sorts() {
        for bytes in [1.0, 50.0, 1e3, 2e4] {
            let mut tree = tree(bytes);
            let mut expected = keys(&tree);
            expected.sort_unstable();
            while !tree.is_over() {
                assert!(0 < tree.advance(100));
            }
            assert_eq!(keys(&tree), expected);
            assert!(tree.result().is_ok());
        }
    }

    #[test]
    fn trees_are_within_their_range_if_one_of_these_sizes_is() {
        // Trees have 7.5 kB, 15 kB, 30 kB and so on.
        let within = |bytes, range| f64::from(1_u32 << levels(bytes, range)) * BYTES_OF_NODE;
        for bytes in [12e3, 15e3, 20e3, 29e3, 31e3] {
            assert!(
                (12e3..31e3).contains(&within(bytes, [12e3, 31e3])),
                "{bytes}"
            );
        }
        assert!(within(10e3, [10e3, 12e3]) < 10e3, "none is");
    }

    #[test]
    fn keys_that_are_not_sorted_or_others_are_noticed() {
        let mut tree = tree(1e3);
        let unsorted = tree.result().unwrap_err();
        assert!(unsorted.ends_with("keys are not in order"), "{unsorted}");
        while !tree.is_over() {
            tree.advance(1000);
        }
        tree.spare = i32::MAX;
        let others = tree.result().unwrap_err();
        assert_eq!(others, "the sorted keys are not those that were drawn");
    }

    #[test]
    fn declared_bytes_are_enough_and_not_many_more() {
        for bytes in [1e3, 1e5] {
            let tree = tree(bytes);
            let encoded = rmp_serde::to_vec(&tree).unwrap().len();
            let declared = tree.encoded();
            assert!(
                encoded <= declared && declared < encoded * 11 / 10 + 200,
                "{encoded}, {declared}"
            );
            assert_eq!(
                rmp_serde::from_slice::<Bitonic>(&rmp_serde::to_vec(&tree).unwrap()).unwrap(),
                tree
            );
        }
    }
}
