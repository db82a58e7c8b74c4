//! Arithmetic that foreign numbers cannot push out of range.
//!
//! Rates and loads reach the model as bare floats from other hosts. Whatever they are, a decision
//! comes out: a time too long to be one is [`FOREVER`].

use bsp::units::Seconds;

/// `value` seconds, at most [`FOREVER`] in either direction; what is not a number counts as that.
pub(crate) fn seconds(value: f64) -> Seconds {
    let bounded = if value.is_nan() {
        FOREVER
    } else {
        value.clamp(-FOREVER, FOREVER)
    };
    Seconds::new(bounded).expect("a clamped number is finite")
}

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

/// Longer than any run, and far enough from the largest float that sums stay finite.
const FOREVER: f64 = 1e30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_clock_can_show_is_for_ever() {
        let forever = Seconds::new(FOREVER).unwrap();
        assert_eq!(seconds(f64::INFINITY), forever);
        assert_eq!(seconds(f64::NEG_INFINITY), -forever);
        assert_eq!(seconds(f64::NAN), forever);
        assert_eq!(seconds(1.5), Seconds::new(1.5).unwrap());
    }
}
