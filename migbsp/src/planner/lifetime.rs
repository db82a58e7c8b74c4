//! How long plans stay good.

use crate::bounded::count;

/// How long plans have stayed good, in supersteps.
#[derive(Debug)]
pub(super) struct Lifetime {
    /// Supersteps that were over when a plan was last carried out.
    admitted: u64,
    /// The mean over plans.
    mean: f64,
    /// No plan is expected to stay good for longer.
    max: f64,
}

impl Lifetime {
    /// Plans are expected to stay good for `max` supersteps until one has been replaced.
    pub(super) const fn new(max: f64) -> Self {
        Self {
            admitted: 0,
            mean: max,
            max,
        }
    }

    /// Supersteps for which a plan is expected to stay good, `H`, after `completed` of the run.
    pub(super) fn horizon(&self, completed: u64) -> f64 {
        let age = count(completed - self.admitted);
        age.max(self.mean).clamp(1.0, self.max)
    }

    /// Learns that another plan was carried out after `completed` supersteps.
    pub(super) fn replace(&mut self, completed: u64) {
        let lived = count(completed - self.admitted).min(self.max);
        self.mean += WEIGHT * (lived - self.mean);
        self.admitted = completed;
    }
}

/// Weight of the newest plan.
const WEIGHT: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}");
    }

    #[test]
    fn the_horizon_is_the_age_of_the_plan_or_the_mean_lifetime() {
        let mut lifetime = Lifetime::new(50.0);
        close(lifetime.horizon(4), 50.0);
        lifetime.replace(10);
        close(lifetime.horizon(12), 30.0);
        lifetime.replace(20);
        close(lifetime.horizon(22), 20.0);
        close(lifetime.horizon(45), 25.0);
        close(lifetime.horizon(500), 50.0);
    }
}
