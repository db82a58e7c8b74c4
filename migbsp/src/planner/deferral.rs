//! A plan that is left undone because of its cost or of noise.

use crate::bounded::{count, supersteps};

/// Since when a plan is left undone because of its cost or of noise.
///
/// Equation `DEFERRED` of `docs/model.md`. What a plan costs and what a call takes may have been overestimated, and neither
/// is measured again without a plan. Once the plan has missed what it is thought to cost, it is worth a call.
#[derive(Debug, Default)]
pub(super) struct Deferral {
    /// Supersteps that were over when it began; `None`: no plan is left undone.
    since: Option<u64>,
}

/// A plan that is left undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undone {
    /// Seconds by which supersteps would be shorter; above zero.
    pub(super) gain: f64,
    /// Seconds that its moves are predicted to take.
    pub(super) cost: f64,
    /// Seconds that would be noticed beside the noise of so many supersteps, [`Undone::supersteps`].
    pub(super) noise: f64,
    /// How many supersteps processes have been where they are.
    pub(super) supersteps: f64,
}

impl Deferral {
    /// How many of `completed` supersteps a plan has been left undone, and would have been good for.
    pub(super) fn age(&self, completed: u64) -> f64 {
        self.since.map_or(0.0, |since| count(completed - since))
    }

    /// Learns whether a plan is left undone after `completed` supersteps. Returns after how many more it is worth a call
    /// that takes `overhead` seconds; `None`: there is none.
    pub(super) fn observe(
        &mut self,
        completed: u64,
        undone: Option<Undone>,
        overhead: f64,
    ) -> Option<u64> {
        self.since = undone.map(|_| self.since.unwrap_or(completed));
        let undone = undone?;
        let (age, worth) = (self.age(completed), (undone.cost + overhead) / undone.gain);
        // A plan that is still left undone when it has missed its cost may be so for other reasons.
        let paid = if age < worth { worth - age } else { age };
        // The errors of means are inversely proportional to the square root of their number.
        let clear = undone.supersteps * ((undone.noise / undone.gain).powi(2) - 1.0);
        Some(supersteps(paid.max(clear).max(overhead / undone.gain)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNDONE: Undone = Undone {
        gain: 0.5,
        cost: 20.0,
        noise: 0.0,
        supersteps: 10.0,
    };

    #[test]
    fn a_plan_is_worth_a_call_when_it_has_missed_what_it_costs() {
        let mut deferral = Deferral::default();
        assert_eq!(deferral.observe(10, None, 5.0), None);
        // 25 seconds, a half in each superstep.
        assert_eq!(deferral.observe(20, Some(UNDONE), 5.0), Some(50));
        assert_eq!(deferral.observe(50, Some(UNDONE), 5.0), Some(20));
        assert!((deferral.age(70) - 50.0).abs() < 1e-12);
        assert_eq!(deferral.observe(60, Some(UNDONE), 5.0), Some(10));
        // It was not carried out then, and has to wait for as long again; a call is worth itself at least.
        assert_eq!(deferral.observe(70, Some(UNDONE), 5.0), Some(50));
        assert_eq!(deferral.observe(75, Some(UNDONE), 30.0), Some(60));
        assert_eq!(deferral.observe(95, None, 5.0), None);
        assert!(deferral.age(99) < 1e-12);
        assert_eq!(deferral.observe(99, Some(UNDONE), 5.0), Some(50));
    }

    #[test]
    fn a_plan_that_noise_hides_is_worth_a_call_when_it_shows() {
        let hidden = Undone {
            cost: 0.0,
            noise: 1.0,
            ..UNDONE
        };
        // Four times as many supersteps halve the noise.
        let mut deferral = Deferral::default();
        assert_eq!(deferral.observe(10, Some(hidden), 5.0), Some(30));
    }
}
