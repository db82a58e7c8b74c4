//! What a run is compared with.

use serde::Serialize;

/// The basis of comparison of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Against {
    /// The same supersteps of scenario i.
    ScenarioI,
    /// Its own supersteps before the migration, assuming that they would have stayed like that.
    Before,
}
