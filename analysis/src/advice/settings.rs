//! The settings of a run that advice depends on.

use experiments::{Scenario, Scheduler};

/// The settings of a run that advice depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The name of the policy.
    pub policy: String,
    /// Supersteps before the first call.
    pub interval: u32,
    /// The part of the run that calls without moves may take.
    pub overhead: f64,
    /// Whether the policy was free to move processes, or was absent: neither scripted nor held back by the scenario.
    pub can_be_advised: bool,
}

impl Settings {
    /// The settings of a run of `scenario`.
    pub fn new(scheduler: &Scheduler, scenario: Scenario) -> Self {
        let is_free = scenario == Scenario::Iii || scheduler.policy.is_none();
        Self {
            policy: scheduler.policy_name(),
            interval: scheduler.settings.model.parameters().interval,
            overhead: scheduler.settings.planning.overhead,
            can_be_advised: is_free && scheduler.orders.is_empty(),
        }
    }
}
