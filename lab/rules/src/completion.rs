//! How long a task takes on a host that serves its owner's jobs first.
//!
//! Jobs of the owner interrupt the task. [`OwnerJobs`] describes them, and [`Completion`] is the time from the
//! start of the task to its end: mean, variance and distribution. [`expected`] is the mean for plans, which know
//! a utilisation and perhaps the ages of present jobs. [`latest`] is the time until several tasks have ended.
//!
//! Equations `OWNERS` and `COMPLETION` of `docs/model.md`.
//!
//! What is decided from means ([`Completion::mean`] and [`expected`]) uses addition, subtraction, multiplication,
//! division and comparison only, so it has the same bits on every machine. The distribution is for displays and
//! studies of risk.

mod completion_time;
mod expected;
mod incomplete_gamma;
mod interruptions;
mod latest;
mod owner_jobs;
mod present_jobs;

pub use completion_time::Completion;
pub use expected::{UTILISATION_MAX, expected};
pub use latest::latest;
pub use owner_jobs::{OwnerJobs, OwnerJobsError};
