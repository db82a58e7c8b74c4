//! Lines of the file of runs, as they are read.

use std::path::Path;

use experiments::Failure;
use serde::Deserialize;

use crate::compare::results::{FailedRun, Outcome, Run};

/// As much of a line as says whether it is one of these schemas.
#[derive(Debug, Deserialize)]
struct Head {
    schema: String,
}

/// A line of the file, as it is read.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: Name,
    pub(crate) outcome: Outcome,
}

/// The names of a run.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Name {
    /// Of everything that the run depends on.
    pub(crate) digest: String,
    /// The experiment, as it was named.
    pub(crate) experiment: String,
    /// Whether its result depends on the seed; earlier versions did not write that.
    #[serde(default)]
    pub(crate) draws: bool,
    /// Label of the policy.
    pub(crate) policy: String,
}

/// The schema of a line with a result.
pub(super) const LEDGER_SCHEMA: &str = "migbsp.compare-runs/2";

/// The schema of a line about a run without one.
pub(super) const FAILURE_SCHEMA: &str = "migbsp.compare-failures/1";

/// The whole lines of `text`, which is that of the file `path`, each with its text; lines of other schemas are left
/// out. Of two lines about the same run, the later one counts.
///
/// # Errors
///
/// If a line is no run of a comparison.
pub(crate) fn read_lines<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, Line)>, Failure> {
    // A run that was noted when the process ended has no whole line.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = Vec::new();
    for (index, line) in whole.lines().enumerate() {
        let unreadable = |error: serde_json::Error| {
            let (place, number) = (path.display(), index + 1);
            Failure::Input(format!(
                "{place}:{number}: is no run of a comparison: {error}"
            ))
        };
        let head: Head = serde_json::from_str(line).map_err(unreadable)?;
        let outcome = match &*head.schema {
            LEDGER_SCHEMA => serde_json::from_str::<Run>(line).map(Outcome::Finished),
            FAILURE_SCHEMA => serde_json::from_str::<FailedRun>(line).map(Outcome::Failed),
            _ => continue,
        };
        let outcome = outcome.map_err(unreadable)?;
        let name = serde_json::from_str(line).map_err(unreadable)?;
        lines.push((line, Line { name, outcome }));
    }
    Ok(lines)
}
