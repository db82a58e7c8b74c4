//! Arithmetic that foreign numbers cannot push out of range.
//!
//! Rates and loads reach the model as bare floats from other hosts. Whatever they are, a decision
//! comes out. `Seconds::bounded` does the same for times.

/// `value` if it is a finite number of at least zero, else zero.
pub(crate) fn non_negative(value: f64) -> f64 {
    if value.is_finite() {
        value.max(0.0)
    } else {
        0.0
    }
}

/// How many there are, as a measure to divide by.
pub(crate) fn count(number: impl TryInto<u32>) -> f64 {
    number.try_into().map_or(f64::MAX, f64::from)
}

/// The whole supersteps in `number`, which is less than two to the power of [`SUPERSTEPS_BITS`].
pub(crate) fn supersteps(mut number: f64) -> u64 {
    let mut whole = 0;
    // Binary decomposition, because f64 -> u64 has no checked conversion.
    for bit in (0..SUPERSTEPS_BITS).rev() {
        let part = f64::from(1_u32 << bit);
        if part <= number {
            number -= part;
            whole |= 1 << bit;
        }
    }
    whole
}

/// Every pause is shorter than two to this power.
const SUPERSTEPS_BITS: u32 = 24;
