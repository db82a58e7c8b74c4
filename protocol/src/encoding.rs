//! Lengths as frames announce them.

/// A length in memory.
pub(crate) fn length_of(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory fits 64 bits")
}
