//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod assumptions;
mod contention;
mod dominant_set;
mod forecast;
mod load;
mod migration;
mod migration_schedule;
mod processor;
mod snapshot;
mod traffic;

pub use assignment::Assignment;
pub use assumptions::PlanningAssumptions;
pub use contention::{Contention, Sharing};
pub use forecast::Forecast;
pub use load::{Load, Received};
pub use migration::{MigrationCost, MigrationTime, Move};
pub use migration_schedule::MigrationSchedule;
pub use processor::{Processor, capacity};
pub use snapshot::{Host, Snapshot};
pub use traffic::Traffic;
