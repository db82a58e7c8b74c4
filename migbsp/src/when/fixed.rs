//! A call every so many supersteps.

use crate::{Concluded, Elapsed, Pace, When};

/// Calls at a fixed interval, whatever happens.
#[derive(Clone, Debug)]
pub struct Fixed {
    interval: u32,
    call_next: u64,
}

impl Fixed {
    /// A call every `interval` supersteps.
    #[must_use]
    pub fn new(interval: u32) -> Self {
        Self {
            interval,
            call_next: u64::from(interval),
        }
    }
}

impl When for Fixed {
    fn observe(&mut self, _elapsed: &Elapsed) {}

    fn is_due(&self, completed: u64) -> bool {
        self.call_next <= completed
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        self.call_next = call.completed.saturating_add(self.interval.into());
    }

    fn pace(&self) -> Pace {
        Pace {
            interval: Some(self.interval),
            ..Pace::default()
        }
    }
}
