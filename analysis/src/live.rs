//! Runs on real hosts, as reports.

mod payback;
mod report;

pub use report::{Report, Simulated, Watch};
