//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod forecast;
mod graph;
mod migration;
mod migration_model;
mod migration_schedule;
mod network;
mod partial;
mod snapshot;

pub use assignment::Assignment;
pub use forecast::{BandwidthForecast, Forecast, Noise, median};
pub use graph::{Edge, Graph, Incoming, Message, Neighbours};
pub use migration::{
    CostCoefficients, CostSource, LinkProbe, MigrationCost, MigrationTime, Move, MoveCost,
    PricedMove, ProbedLink, SteadyRate,
};
pub use migration_model::{CallMove, MeasuredMove, MigrationModel};
pub use migration_schedule::MigrationSchedule;
pub(crate) use migration_schedule::move_times;
pub use network::{Lesson, Network, Path};
pub(crate) use partial::PartialAssignment;
pub use snapshot::{
    BarrierTime, ExternalLoad, Host, HostLink, Load, Measurements, PlanningAssumptions,
    PlanningEffort, Processor, Received, Snapshot, capacity,
};
