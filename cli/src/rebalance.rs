//! Processes assigned to machines so that no machine is above a level, and what getting there costs.

mod algorithm;
mod budget;
mod generate;
mod instance;
mod level;
mod search;
pub(crate) mod solve;
pub(crate) mod sweep;

pub(crate) use algorithm::Algorithm;
pub(crate) use budget::Limit;
pub(crate) use generate::generate;
pub(crate) use instance::{Cost, Instance};
pub(crate) use level::read_level;
pub(crate) use search::{Search, lower_bound};
