//! The files of a record.

use std::path::{Path, PathBuf};

/// The events.
pub(super) const EVENTS: &str = "events.jsonl";
/// What each process did in each superstep, if the run is traced.
pub(super) const TRACE: &str = "trace.bin";
/// The description and the result of a run that has ended.
pub(super) const COMPLETE: &str = "run.json";
/// The description of a run that has not ended.
pub(super) const PARTIAL: &str = "run.json.partial";

/// The file in `directory` that describes the run, with its result if it has ended.
#[must_use]
pub fn description(directory: &Path) -> Option<PathBuf> {
    let names = [COMPLETE, PARTIAL].map(|name| directory.join(name));
    names.into_iter().find(|path| path.exists())
}

/// Whether `directory` holds the record of a run that has ended.
#[must_use]
pub fn is_complete(directory: &Path) -> bool {
    directory.join(COMPLETE).exists()
}
