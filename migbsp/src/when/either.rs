//! Two rules at once.

use crate::{Concluded, Elapsed, Pace, When};

/// Calls when one of two rules would.
#[derive(Debug)]
pub struct Either<First, Second>(pub First, pub Second);

impl<First: When, Second: When> When for Either<First, Second> {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.0.observe(elapsed);
        self.1.observe(elapsed);
    }

    fn is_due(&self, completed: u64) -> bool {
        self.0.is_due(completed) || self.1.is_due(completed)
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        self.0.conclude(call);
        self.1.conclude(call);
    }

    fn pace(&self) -> Pace {
        Pace::default()
    }
}
