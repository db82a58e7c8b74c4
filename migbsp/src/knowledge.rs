//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod assumptions;
mod barrier;
mod flows;
mod forecast;
mod graph;
mod host;
mod load;
mod maximum;
mod migration;
mod migration_schedule;
mod neighbours;
mod network;
mod path;
mod processor;
mod selection;
mod snapshot;

pub use assignment::Assignment;
pub use assumptions::PlanningAssumptions;
pub use barrier::BarrierTime;
pub use forecast::Forecast;
pub use graph::{Graph, Message};
pub use host::Host;
pub use load::{Load, Received};
pub use migration::{MigrationCost, MigrationTime, Move};
pub use migration_schedule::MigrationSchedule;
pub use neighbours::{Edge, Incoming, Neighbours};
pub use network::{Lesson, Network};
pub use path::Path;
pub use processor::{Processor, capacity};
pub use snapshot::Snapshot;
