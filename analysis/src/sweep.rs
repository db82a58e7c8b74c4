//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.
//!
//! A combination is an experiment of a comparison: `compare` makes the runs and keeps them.

mod chart;
mod folder;
mod grid;
mod limit;
mod list;
mod mean;
mod merge;
mod page;
mod parameter;
mod plan;
mod range;
mod report;
mod shard;
mod swept;
mod table;
mod text;

pub use chart::{chart, chart_parameters};
pub use folder::{SweepFolder, check_folder};
pub use grid::{Grid, Point};
pub use limit::{RUNS_MAX, check_runs};
pub use merge::{Merged, merge};
pub use page::page;
pub use parameter::Parameter;
pub use plan::{Plan, inputs};
pub use report::{Report, Row, SweptSummary};
pub use shard::Shard;
pub use swept::Swept;
pub use text::{planned, text};
