//! Durations of the operating system as times of the model.

use std::time::{Duration, Instant};

use bsp::units::Seconds;

/// `duration` in seconds.
pub(super) fn seconds(duration: Duration) -> Seconds {
    Seconds::new(duration.as_secs_f64()).expect("a duration is finite")
}

/// `time` as a duration, the longest one if it is longer.
pub(super) fn duration(time: Seconds) -> Duration {
    Duration::try_from_secs_f64(time.get()).unwrap_or(Duration::MAX)
}

/// The time from `since` until now.
pub(super) fn elapsed(since: Instant) -> Seconds {
    seconds(since.elapsed())
}
