//! What plans are made and judged with, in addition to what was observed in this call.

use crate::{Lesson, MigrationTime};

/// What a planner assumes of moves and messages when it builds a [`Snapshot`](crate::Snapshot).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanningAssumptions {
    /// Supersteps for which the placement is expected to stay good, `H`.
    pub horizon: f64,
    /// Measured migration time as a multiple of the predicted one.
    pub cost_factor: f64,
    /// How long the moves of one call take together.
    pub migration_time: MigrationTime,
    /// What has been learnt of the messages between Sets, from Set to Set; empty if nothing.
    pub lessons: Vec<Lesson>,
}
