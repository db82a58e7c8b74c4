//! Runs on real hosts, as reports.

mod hints;
mod report;

pub use hints::hints;
pub use report::{Report, Simulated, Watch};
