//! Times that measured numbers cannot push out of range.

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

/// Longer than any run, and far enough from the largest float that sums stay finite.
const FOREVER: f64 = 1e30;
