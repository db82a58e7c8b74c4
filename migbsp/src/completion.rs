//! How long a task takes on a host that serves its owner's jobs first.
//!
//! Jobs of the owner interrupt the task. [`OwnerJobs`] describes them, and [`Completion`] is the time from the
//! start of the task to its end: mean, variance and distribution. [`expected`] is the mean for plans, which know
//! a utilisation and perhaps the ages of present jobs. [`latest`] is the time until several tasks have ended, and
//! [`expected_latest`] an approximation of it that gates can afford.
//!
//! Equations `OWNERS`, `COMPLETION` and `LATEST` of `docs/model.md`.
//!
//! What is decided from means ([`Completion::mean`] and [`expected`]) uses addition, subtraction, multiplication,
//! division and comparison only, so it has the same bits on every machine; [`expected_latest`] needs exponential
//! functions as well, of the same bits. The distribution is for displays and studies of risk.

mod completion_time;
mod expected;
mod expected_latest;
mod incomplete_gamma;
mod interruptions;
mod latest;
mod owner_jobs;
mod present_jobs;

pub use completion_time::Completion;
pub use expected::{UTILISATION_MAX, expected};
pub use expected_latest::expected_latest;
pub use latest::latest;
pub use owner_jobs::{OwnerJobs, OwnerJobsError};
