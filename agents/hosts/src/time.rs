//! The clock of the machine.

use std::time::Instant;

use bsp::units::Seconds;
use machines::time::seconds;

/// The time from `since` until now.
pub(super) fn elapsed(since: Instant) -> Seconds {
    seconds(since.elapsed())
}
