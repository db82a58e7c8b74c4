//! A call at a fixed interval of supersteps.

use crate::rule::Rule;
use crate::when::timing::{CallOutcome, CallSchedule, Elapsed, When};

/// Calls at a fixed interval, whatever happens.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    interval: u32,
    call_next: u64,
}

impl Fixed {
    /// A call every `interval` supersteps.
    pub(super) fn new(interval: u32) -> Self {
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

    fn conclude(&mut self, call: &CallOutcome<'_>) {
        self.call_next = call.completed.saturating_add(self.interval.into());
    }

    fn schedule(&self) -> CallSchedule {
        CallSchedule {
            interval: Some(self.interval),
            ..CallSchedule::default()
        }
    }
}

/// `fixed`.
pub(super) const RULE: Rule<dyn When> =
    Rule::new("fixed", "calls every `interval` supersteps", |settings| {
        Box::new(Fixed::new(settings.config.parameters().interval))
    });
