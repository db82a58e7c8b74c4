//! Arithmetic that foreign numbers cannot push out of range.
//!
//! Rates and loads reach the model as bare floats from other hosts. Whatever they are, a decision
//! comes out. `Seconds::bounded` does the same for times.

use bsp::numbers::whole;

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

/// The whole supersteps in `number`, [`SUPERSTEPS_MAX`] at most.
pub(crate) fn supersteps(number: f64) -> u64 {
    whole(number).min(SUPERSTEPS_MAX)
}

/// No pause is longer.
const SUPERSTEPS_MAX: u64 = (1 << 24) - 1;
