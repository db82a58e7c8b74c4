//! A call as soon as there is time for one.

use crate::when::cooldown::Rest;
use crate::{Concluded, Elapsed, Pace, Spacing, When};

/// Calls when so much of the run has gone by that another call is a small part of it, whatever happens.
///
/// How long that is the planner says ([`Spacing::again`]). It finds what no imbalance shows: a
/// host that has become idle, a plan that was made with too little knowledge.
#[derive(Clone, Debug, Default)]
pub struct Thrifty {
    rest: Rest,
}

impl When for Thrifty {
    fn observe(&mut self, elapsed: &Elapsed) {
        self.rest.observe(elapsed);
    }

    fn is_due(&self, _completed: u64) -> bool {
        self.rest.is_over()
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        let Spacing { again, took, .. } = call.spacing;
        self.rest.begin(again.max(1), took);
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
    fn a_call_follows_when_there_is_time() {
        let mut thrifty = Thrifty::default();
        assert_eq!(called_at(&mut thrifty, [0.0; 9]), Some(1));
        for (again, next) in [(9, 9), (0, 1)] {
            let spacing = Spacing {
                again,
                ..Spacing::default()
            };
            thrifty.conclude(&Concluded {
                spacing,
                ..concluded(0, 1.0, 0)
            });
            assert_eq!(called_at(&mut thrifty, [0.0; 20]), Some(next));
        }
    }
}
