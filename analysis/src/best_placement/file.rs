//! The file with the best placement of an experiment.

use std::path::{Path, PathBuf};

use experiments::Published;
use serde::Serialize;

/// The best placement of a steady experiment that a search has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestPlacement {
    /// Digest of all that the length of a superstep depends on under a given placement.
    pub valid_for: String,
    /// The length of a superstep.
    pub seconds_per_superstep: f64,
    /// Number of placements that the search simulated.
    pub budget: u64,
    /// The host of each process, by rank.
    pub placement: Vec<String>,
}

impl Published for BestPlacement {
    const SCHEMA: &'static str = "migbsp.best-placement/1";
}

/// The file beside `experiment` that has its best placement: of `wan-ring.toml`, `wan-ring.best.json`.
#[must_use]
pub fn file_of(experiment: &Path) -> PathBuf {
    experiment.with_extension("best.json")
}
