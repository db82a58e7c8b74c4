//! Counts, positions and measures, each as the others.

/// A length in memory as a count.
#[must_use]
#[inline]
#[expect(clippy::as_conversions, reason = "a usize has no more than 64 bits")]
pub const fn length(length: usize) -> u64 {
    length as u64
}

/// The position that a 32-bit number stands for.
#[must_use]
#[inline]
#[expect(clippy::as_conversions, reason = "u32 fits usize; on the hot path")]
pub const fn index(number: u32) -> usize {
    number as usize
}

/// The position that a number stands for; what no memory holds is beyond every list.
#[must_use]
pub fn position(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The float nearest to a count, which is equal to it up to 2⁵³.
#[must_use]
#[inline]
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "no lossless conversion exists"
)]
pub const fn real(count: u64) -> f64 {
    count as f64
}

/// The whole part of an amount; what is below zero or not a number is none, and what is too large the largest count.
#[must_use]
#[inline]
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
pub const fn whole(amount: f64) -> u64 {
    amount as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_conversion_wraps() {
        assert_eq!(whole(2.9), 2);
        assert_eq!(whole(-1.0), 0);
        assert_eq!(whole(f64::NAN), 0);
        assert_eq!(whole(1e300), u64::MAX);
        assert_eq!(position(7), 7);
        assert_eq!(real(1 << 53).to_bits(), 2_f64.powi(53).to_bits());
    }
}
