//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod assumptions;
mod bandwidth_forecast;
mod barrier;
mod concurrent_moves;
mod cost_coefficients;
mod external_load;
mod flows;
mod forecast;
mod graph;
mod host;
mod host_link;
mod link_probe;
mod load;
mod maximum;
mod measured_move;
mod measurements;
mod met_links;
mod migration;
mod migration_model;
mod migration_schedule;
mod move_cost;
mod neighbours;
mod network;
mod path;
mod processor;
mod selection;
mod snapshot;

pub use assignment::Assignment;
pub use assumptions::PlanningAssumptions;
pub use bandwidth_forecast::BandwidthForecast;
pub use barrier::BarrierTime;
pub use concurrent_moves::CallMove;
pub use cost_coefficients::{CostCoefficients, SteadyRate};
pub use external_load::ExternalLoad;
pub use forecast::Forecast;
pub use graph::{Graph, Message};
pub use host::Host;
pub use host_link::HostLink;
pub use link_probe::{LinkProbe, PricedMove, ProbedLink};
pub use load::{Load, Received};
pub use measured_move::MeasuredMove;
pub use measurements::Measurements;
pub use migration::{CostSource, MigrationCost, MigrationTime, Move};
pub use migration_model::MigrationModel;
pub use migration_schedule::MigrationSchedule;
pub use move_cost::MoveCost;
pub use neighbours::{Edge, Incoming, Neighbours};
pub use network::{Lesson, Network};
pub use path::Path;
pub use processor::{Processor, capacity};
pub use snapshot::Snapshot;

/// The median, the upper one of an even number; `None` without values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
