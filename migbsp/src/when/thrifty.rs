//! A call as soon as there is time for one.

use crate::{Concluded, Elapsed, Pace, When};

/// Calls when so much of the run has gone by that another call is a small part of it, whatever happens.
///
/// How long that is the planner says ([`Decision::again`](crate::Decision)). It finds what no imbalance shows: a
/// host that has become idle, a plan that was made with too little knowledge.
#[derive(Clone, Debug, Default)]
pub struct Thrifty {
    call_next: u64,
}

impl Thrifty {
    /// The first call is held when `first` supersteps are over.
    #[must_use]
    pub const fn new(first: u64) -> Self {
        Self { call_next: first }
    }
}

impl When for Thrifty {
    fn observe(&mut self, _elapsed: &Elapsed) {}

    fn is_due(&self, completed: u64) -> bool {
        self.call_next <= completed
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        let wait = call.pause.max(call.again).max(1);
        self.call_next = call.completed.saturating_add(wait);
    }

    fn pace(&self) -> Pace {
        Pace::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::when::tests::{called_at, concluded};

    use super::*;

    #[test]
    fn a_call_follows_when_there_is_time_and_no_pause() {
        let mut thrifty = Thrifty::new(4);
        assert_eq!(called_at(&mut thrifty, [0.0; 9]), Some(4));
        for (pause, again, next) in [(0, 9, 9), (12, 9, 12), (0, 0, 1)] {
            thrifty.conclude(&Concluded {
                again,
                ..concluded(0, 1.0, pause)
            });
            assert_eq!(called_at(&mut thrifty, [0.0; 20]), Some(next));
        }
    }
}
