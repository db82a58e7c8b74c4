//! A call when what imbalance has cost since the last one exceeds what a call costs.

use crate::{Concluded, Elapsed, Pace, When};

/// Calls when `Σ max(0, u_j − u_1) ≥ C`: the imbalance that has come up since the first superstep after
/// the last call has cost as much as a call.
///
/// The criterion of Menon, Jain, Zheng and Kalé (2012) with a baseline: what imbalance a call could not
/// remove, another one is not expected to remove either.
#[derive(Clone, Debug, Default)]
pub struct Menon {
    /// `u_1`, in seconds.
    baseline: Option<f64>,
    /// The sum, in seconds.
    lost: f64,
    /// `C`, in seconds.
    cost: f64,
    /// No call before so many supersteps are over.
    not_before: u64,
}

impl Menon {
    /// Nothing is known of costs: the first imbalance calls.
    #[must_use]
    pub fn new() -> Self {
        Self {
            // Nobody has balanced the run yet: all of its imbalance counts.
            baseline: Some(0.0),
            ..Self::default()
        }
    }
}

impl When for Menon {
    fn observe(&mut self, elapsed: &Elapsed) {
        let imbalance = elapsed.imbalance();
        let baseline = *self.baseline.get_or_insert(imbalance);
        self.lost += (imbalance - baseline).max(0.0);
    }

    fn is_due(&self, completed: u64) -> bool {
        self.not_before <= completed && 0.0 < self.lost && self.cost <= self.lost
    }

    fn conclude(&mut self, call: &Concluded<'_>) {
        *self = Self {
            baseline: None,
            lost: 0.0,
            cost: call.cost.get(),
            not_before: call.completed.saturating_add(call.pause),
        };
    }

    fn pace(&self) -> Pace {
        Pace::default()
    }
}
