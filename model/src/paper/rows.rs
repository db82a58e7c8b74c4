//! Rows of numbers, in little memory.
//!
//! The times of a process are often those of the superstep before. So a row is kept as the bits in which it differs from the row
//! before, without bytes that are zero. Nothing is lost: every number comes out with the same bits.

use std::ops::Range;

/// Adds `row` to the encoded rows in `bytes`, of which `before` is the last; zeros if there is none.
pub(super) fn append<const N: usize>(bytes: &mut Vec<u8>, before: &[u64; N], row: &[u64; N]) {
    let head = bytes.len();
    bytes.resize(head + N.div_ceil(2), 0);
    for (index, (before, number)) in before.iter().zip(row).enumerate() {
        let difference = before ^ number;
        let code = code(difference);
        bytes[head + index / 2] |= code << (4 * (index % 2));
        bytes.extend_from_slice(&difference.to_le_bytes()[kept(code)]);
    }
}

/// Encoded rows, in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct Rows<'a, const N: usize> {
    bytes: &'a [u8],
    row: [u64; N],
}

impl<'a, const N: usize> Rows<'a, N> {
    /// The rows in `bytes`.
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, row: [0; N] }
    }
}

impl<const N: usize> Iterator for Rows<'_, N> {
    type Item = [u64; N];

    fn next(&mut self) -> Option<[u64; N]> {
        if self.bytes.is_empty() {
            return None;
        }
        let (head, mut rest) = self.bytes.split_at(N.div_ceil(2));
        for (index, number) in self.row.iter_mut().enumerate() {
            let kept = kept((head[index / 2] >> (4 * (index % 2))) & 0xF);
            let (own, behind) = rest.split_at(kept.len());
            let mut difference = [0; 8];
            difference[kept].copy_from_slice(own);
            *number ^= u64::from_le_bytes(difference);
            rest = behind;
        }
        self.bytes = rest;
        Some(self.row)
    }
}

/// Which bytes of a difference are kept: as many of the lowest, or 8 and as many of the highest if these are fewer.
fn code(difference: u64) -> u8 {
    let lowest = (u64::BITS - difference.leading_zeros()).div_ceil(8);
    let highest = (u64::BITS - difference.trailing_zeros()).div_ceil(8);
    let code = if lowest <= highest {
        lowest
    } else {
        8 + highest
    };
    u8::try_from(code).expect("at most 15")
}

/// The bytes that `code` stands for, the lowest first.
fn kept(code: u8) -> Range<usize> {
    let code = usize::from(code);
    if code <= 8 { 0..code } else { 16 - code..8 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded<const N: usize>(rows: &[[u64; N]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut before = [0; N];
        for row in rows {
            append(&mut bytes, &before, row);
            before = *row;
        }
        bytes
    }

    #[test]
    fn a_row_like_the_one_before_takes_half_a_byte_a_number() {
        let row = [0.1_f64, 0.25, -1.0].map(f64::to_bits);
        let first = encoded(&[row]).len();
        assert_eq!(encoded(&[row; 100]).len(), first + 99 * 2);
        // Sixteen bytes for one tenth and the two powers of two.
        assert_eq!(first, 2 + 8 + 2 + 2);
    }

    /// Numbers with zeros at both ends.
    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32, 0..64_u32)
            .prop_map(|(number, left, right)| number >> right << left)
    }

    proptest! {
        #[test]
        fn every_row_comes_out_as_it_was(
            rows in prop::collection::vec([number(), number(), number(), number(), number()], 0..20),
        ) {
            let bytes = encoded(&rows);
            prop_assert!(bytes.len() <= rows.len() * (3 + 5 * 8));
            prop_assert_eq!(Rows::<5>::new(&bytes).collect::<Vec<_>>(), rows);
        }
    }
}
