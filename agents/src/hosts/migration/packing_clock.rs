//! The clock of a process that leaves its host.

use std::time::{Duration, Instant as Clock};

use crate::machines::migration::packing::PackingTimes;

/// The clock of a process that leaves its host.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackingClock {
    /// When the process left its thread.
    pub(super) frozen: Clock,
    /// When packing began: not more than some processes are packed at the same time.
    pub(super) began: Clock,
}

impl PackingClock {
    /// The times of a process that has been written now. Its length was known `measured` after packing began, and the
    /// network has held it up for `waited`.
    pub(super) fn times(self, measured: Duration, waited: Duration) -> PackingTimes {
        let lasted = self.began.elapsed();
        PackingTimes {
            queued: self.began.saturating_duration_since(self.frozen),
            packed: lasted.saturating_sub(waited),
            lasted,
            measured,
        }
    }
}
