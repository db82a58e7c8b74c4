//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.
//!
//! A combination is an experiment of a comparison: `compare` makes the runs and keeps them.

mod chart;
mod grid;
mod parameter;
mod plan;
mod report;

pub use chart::{chart, chart_parameters, page};
pub use grid::{Grid, Point, RUNS_MAX, Shard, check_runs};
pub use parameter::Parameter;
pub use plan::{Merged, Plan, SweepFolder, check_folder, inputs, merge};
pub use report::{Report, Row, Swept, SweptSummary, planned, text};
