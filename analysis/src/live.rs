//! Runs on real hosts, as reports.

mod page;
mod payback;
mod report;

pub use page::RunPage;
pub use report::{Report, Simulated, Watch};
