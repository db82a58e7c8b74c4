//! What is known at a call: hosts, processes, messages, and where each process runs.

mod assignment;
mod contention;
mod dominant_set;
mod filling;
mod forecast;
mod migration_schedule;
mod snapshot;
mod traffic;

pub use assignment::Mapping;
pub use contention::{Contention, Sharing};
pub use filling::Filling;
pub use forecast::Forecast;
pub use migration_schedule::Bill;
pub use snapshot::{Burden, Host, Load, Move, Outlook, Received, Scene};
pub use traffic::Traffic;
