//! Durations of the operating system as times of the model.

use std::time::{Duration, Instant};

use bsp::units::Seconds;

/// `duration` in seconds.
pub(super) fn seconds(duration: Duration) -> Seconds {
    Seconds::new(duration.as_secs_f64()).expect("a duration is finite")
}

/// The time from `since` until now.
pub(super) fn elapsed(since: Instant) -> Seconds {
    seconds(since.elapsed())
}
