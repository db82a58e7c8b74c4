//! The best placement of a steady experiment, where a search has found one: the file that keeps it, and its pace.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use experiments::platform::find_host;
use experiments::{Failure, PreparedExperiment, Published};
use serde::{Deserialize, Serialize};

/// The best placement of a steady experiment that a search has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BestPlacement {
    /// Digest of all that the length of a superstep depends on under a given placement.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub valid_for: String,
    /// The length of a superstep.
    #[cfg_attr(feature = "schemas", schemars(extend("exclusiveMinimum" = 0)))]
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

/// What the file beside an experiment says of its best placement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KnownBest {
    /// The file.
    pub file: String,
    /// The length of a superstep; `None`: the file is about another experiment, or an earlier form of this one.
    pub seconds_per_superstep: Option<f64>,
}

/// The keys that are used here.
#[derive(Deserialize)]
struct Written {
    schema: String,
    valid_for: String,
    seconds_per_superstep: f64,
    placement: Vec<String>,
}

impl KnownBest {
    /// That of the experiment in the file `experiment`, if a file beside it has one.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or has another form.
    pub fn of(experiment: &Path, prepared: &PreparedExperiment) -> Result<Option<Self>, Failure> {
        let path = file_of(experiment);
        let file = path.display().to_string();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::Input(format!("{file}: {error}"))),
        };
        let fault = |problem: String| Failure::Input(format!("{file}: {problem}"));
        let written: Written =
            serde_json::from_str(&text).map_err(|error| fault(error.to_string()))?;
        if written.schema != BestPlacement::SCHEMA {
            let (found, expected) = (written.schema, BestPlacement::SCHEMA);
            return Err(fault(format!(
                "invalid value `{found}` for `schema`: must be {expected}"
            )));
        }
        let seconds = written.seconds_per_superstep;
        if !(0.0 < seconds && seconds.is_finite()) {
            let rule = "must be a number above 0";
            return Err(fault(format!(
                "invalid value `{seconds}` for `seconds_per_superstep`: {rule}"
            )));
        }
        let is_valid = written.valid_for == prepared.steady_digest()?;
        if is_valid {
            check_placement(&written.placement, prepared).map_err(fault)?;
        }
        Ok(Some(Self {
            file,
            seconds_per_superstep: is_valid.then_some(seconds),
        }))
    }

    /// The ratio of a run's makespan to that of its supersteps at the best pace, if that is known.
    pub fn ratio(&self, seconds: f64, supersteps: u64) -> Option<f64> {
        let best = self.seconds_per_superstep? * supersteps as f64;
        (0.0 < best).then(|| seconds / best)
    }
}

/// That a placement names a host of the platform for each process.
fn check_placement(names: &[String], prepared: &PreparedExperiment) -> Result<(), String> {
    let (count, processes) = (names.len(), prepared.placement.len());
    if count != processes {
        return Err(format!(
            "invalid length {count} of `placement`: must be {processes}, a host for each process"
        ));
    }
    for name in names {
        find_host(name, &prepared.platform).map_err(|problem| format!("`placement`: {problem}"))?;
    }
    Ok(())
}
