//! Processes assigned to machines so that no machine is above a level, and what getting there costs: instances, algorithms,
//! sweeps over levels, the files of vt, and the command `rebalance`.

mod algorithm;
mod command;
mod instance;
#[cfg(feature = "schemas")]
pub mod schemas;
mod search;
mod solve;
mod sweep;
mod vt;

pub use algorithm::Algorithm;
pub use command::command;
pub use search::{Limit, lower_bound};
