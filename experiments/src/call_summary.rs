//! A call and its migrations, as all results show them.

use agents::record::{Call, Migration};
use bsp::HostId;
use serde::Serialize;

/// A rescheduling call, without its decisions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSummary {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// Seconds from the start of the run to that of the call.
    pub at: f64,
    /// Seconds for which processes waited.
    pub cost_seconds: f64,
    /// Supersteps until the next call; `None` where the policy decides after each superstep.
    pub interval: Option<u32>,
    /// The tolerance until then, if the policy has one.
    pub tolerance: Option<f64>,
}

/// A migration, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedMove {
    /// As `p21`.
    pub process: String,
    /// The source host.
    pub from: String,
    /// The target host.
    pub to: String,
}

impl CallSummary {
    /// The summary of a recorded call.
    #[must_use]
    pub fn new(call: &Call) -> Self {
        Self {
            superstep: call.superstep,
            at: call.at.get(),
            cost_seconds: call.cost.get(),
            interval: call.interval,
            tolerance: call.tolerance,
        }
    }
}

impl NamedMove {
    /// The names of a migration; `name` is that of a host.
    #[must_use]
    pub fn new(migration: &Migration, name: impl Fn(HostId) -> String) -> Self {
        Self {
            process: migration.rank.to_string(),
            from: name(migration.from),
            to: name(migration.to),
        }
    }
}
