//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.
//!
//! A combination is an experiment of a comparison: `compare` makes the runs and keeps them.

mod grid;
mod plan;
mod report;

pub use grid::{Grid, Parameter, Point, RUNS_MAX, Shard, check_runs};
pub use plan::{Merged, Plan, SweepFolder, check_folder, inputs, merge};
pub use report::{Report, Row, Swept, SweptSummary, chart, chart_parameters, page, planned};
