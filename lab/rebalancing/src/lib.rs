//! Processes assigned to machines so that no machine is above a level, and what getting there costs: instances, algorithms,
//! sweeps over levels, the files of vt, and the command `rebalance`.

mod algorithm;
mod budget;
mod command;
mod generate;
mod instance;
mod search;
pub mod solve;
pub mod sweep;
mod target;
pub mod vt;

pub use algorithm::Algorithm;
pub use budget::Limit;
pub use command::command;
pub use generate::{GroupName, generate};
pub use instance::{Cost, Edge, Instance, Phase, Process};
pub use search::{Search, lower_bound};
pub use target::{Target, read_cost, read_level, read_target, read_weight};
