//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod bandwidth_forecast;
mod concurrent_moves;
mod cost_coefficients;
mod flows;
mod forecast;
mod graph;
mod link_probe;
mod load;
mod maximum;
mod met_links;
mod migration;
mod migration_model;
mod migration_schedule;
mod move_cost;
mod neighbours;
mod network;
mod noise;
mod processor;
mod selection;
mod snapshot;

pub use assignment::Assignment;
pub use bandwidth_forecast::BandwidthForecast;
pub use concurrent_moves::CallMove;
pub use cost_coefficients::{CostCoefficients, SteadyRate};
pub use forecast::Forecast;
pub use graph::{Graph, Message};
pub use link_probe::{LinkProbe, PricedMove, ProbedLink};
pub use load::{Load, Received};
pub use migration::{CostSource, MigrationCost, MigrationTime, Move};
pub use migration_model::{MeasuredMove, MigrationModel};
pub use migration_schedule::MigrationSchedule;
pub use move_cost::MoveCost;
pub use neighbours::{Edge, Incoming, Neighbours};
pub use network::{Lesson, Network, Path};
pub use noise::Noise;
pub use processor::{Processor, capacity};
pub use snapshot::{
    BarrierTime, ExternalLoad, Host, HostLink, Measurements, PlanningAssumptions, Snapshot,
};
