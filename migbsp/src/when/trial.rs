//! The first supersteps after a plan.

use bsp::units::Seconds;

use crate::when::timing::Elapsed;

/// Whether a plan has made supersteps longer, from the first supersteps after it.
///
/// The first superstep is left out: processes that have just moved may spend the time of their migration in it. If each of
/// the next three takes longer than the limit, the plan has failed, and a call follows whatever the pause is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trial {
    /// A superstep that takes longer than this many seconds speaks against the plan; `None`: there is no trial.
    limit: Option<f64>,
    /// Supersteps since the plan.
    observed: u32,
}

impl Trial {
    /// Begins with a plan after which no superstep must take longer than `limit`; `None`: there is no plan to try.
    pub(super) fn begin(&mut self, limit: Option<Seconds>) {
        *self = Self {
            limit: limit.map(Seconds::get),
            observed: 0,
        };
    }

    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        let Some(limit) = self.limit else {
            return;
        };
        self.observed = self.observed.saturating_add(1);
        let is_tried = SKIPPED < self.observed && self.observed <= SKIPPED + TRIED;
        if is_tried && elapsed.took.get() <= limit {
            self.limit = None;
        }
    }

    /// Whether the plan has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.limit.is_some() && SKIPPED + TRIED <= self.observed
    }
}

/// Supersteps after which a plan has been tried.
pub(crate) const TRIAL: u64 = 4;

/// Supersteps after a plan that say nothing.
const SKIPPED: u32 = 1;

/// Supersteps after them that all have to take longer.
const TRIED: u32 = 3;

const _: () = assert!(SKIPPED + TRIED == 4, "together a trial");

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many supersteps of these seconds a plan with a limit of one second fails.
    fn failed_after(took: &[f64]) -> Option<usize> {
        let mut trial = Trial::default();
        trial.begin(Seconds::new(1.0).ok());
        let failed = took.iter().position(|took| {
            trial.observe(&Elapsed {
                completed: 1,
                slowest: Seconds::ZERO,
                mean: Seconds::ZERO,
                took: Seconds::new(*took).unwrap(),
            });
            trial.has_failed()
        });
        failed.map(|supersteps| supersteps + 1)
    }

    #[test]
    fn a_plan_fails_if_three_supersteps_after_the_first_take_too_long() {
        assert_eq!(failed_after(&[0.5, 1.1, 1.2, 1.1, 1.1]), Some(4));
        assert_eq!(failed_after(&[9.0, 1.0, 9.0, 9.0, 9.0, 9.0]), None);
        assert_eq!(failed_after(&[9.0, 9.0, 9.0]), None);
    }

    #[test]
    fn without_a_plan_nothing_fails() {
        let mut trial = Trial::default();
        trial.begin(None);
        assert!(!trial.has_failed());
    }
}
