//! Processes assigned to machines so that no machine is above a level, and what getting there costs.

mod algorithm;
mod budget;
mod generate;
mod instance;
mod level;
mod search;
pub mod solve;
pub mod sweep;

pub use algorithm::Algorithm;
pub use budget::Limit;
pub use generate::generate;
pub use instance::{Cost, Edge, Instance, Phase, Process};
pub use level::read_level;
pub use search::{Search, lower_bound};
