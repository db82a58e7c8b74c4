//! `migbsp advise`: where a recorded run lost time, and which keys would shorten it.
//!
//! All of it is computed from the record. Of a task farm, the pure dealer is replayed with the rates and costs of the
//! record under other rules. Of a program with calls, rules judge what calls and moves took and what imbalance was left.

mod attempt;
mod experiment_folder;
mod farm;
mod reading;
mod report;
mod rescheduled;
mod text;

use std::path::Path;

use experiments::Failure;

use self::reading::Reading;

pub use self::attempt::attempt;
pub use self::report::{Recommendation, Report};
pub use self::text::text;

/// The advice about the record in `folder`.
///
/// # Errors
///
/// If there is no complete record, or it has nothing to judge.
pub fn advise(folder: &Path) -> Result<Report, Failure> {
    let reading = Reading::of(folder)?;
    if !reading.interactions.is_empty() {
        return farm::advise(&reading);
    }
    if reading.calls.is_empty() {
        return Err(reading.fault(
            "has neither interactions of a task farm nor calls, so there is nothing to judge\n  help: run the \
             experiment with a policy, as `--policy adaptive`, that holds calls before it ends",
        ));
    }
    rescheduled::advise(&reading)
}
