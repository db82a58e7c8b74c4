//! Durations of the operating system as times of the model.

use std::time::{Duration, Instant};

use bsp::units::Seconds;

/// `duration` in seconds.
#[expect(clippy::missing_panics_doc, reason = "a duration is finite")]
pub fn seconds(duration: Duration) -> Seconds {
    Seconds::new(duration.as_secs_f64()).expect("a duration is finite")
}

/// `time` as a duration, the longest one if it is longer.
pub fn duration(time: Seconds) -> Duration {
    Duration::try_from_secs_f64(time.get()).unwrap_or(Duration::MAX)
}

/// The time from `since` until `now`.
pub fn between(since: Instant, now: Instant) -> Seconds {
    seconds(now.saturating_duration_since(since))
}
