//! Positions as 32-bit numbers.

/// The position that a 32-bit number stands for.
pub(super) const fn index(number: u32) -> usize {
    number as usize
}
