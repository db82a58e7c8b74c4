//! The rules of a run that an explanation depends on.

use std::path::Path;

use experiments::record::{Manifest, manifest};
use experiments::{Failure, Scenario};

/// The rules of a run that an explanation depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rules {
    /// Whether a script decides instead of the policy.
    pub(super) is_scripted: bool,
    /// Whether only the first of the list is a candidate.
    pub(super) one_candidate: bool,
    /// Whether the migrant pays for its move in the superstep after the call.
    pub(super) migrant_pays: bool,
    /// Whether the shortest reception breaks ties between potentials, instead of the lowest rank.
    pub(super) ties_by_reception: bool,
    /// Potentials that differ by less than this are equal.
    pub(super) tie_width: f64,
    /// Whether times were measured on real hosts.
    pub(crate) is_measured: bool,
}

impl Rules {
    /// The rules of the run whose record is in `folder`.
    ///
    /// # Errors
    ///
    /// If its description is unreadable or of another version, or has no scheduler.
    pub(crate) fn of_record(folder: &Path) -> Result<Self, Failure> {
        Self::of(&manifest(folder)?, folder)
    }

    /// The rules of the run whose record, in `folder`, is described by `manifest`.
    ///
    /// # Errors
    ///
    /// If it has no scheduler.
    pub(super) fn of(manifest: &Manifest, folder: &Path) -> Result<Self, Failure> {
        let scheduler = &manifest.configuration["scheduler"];
        let has_scheduler = Scenario::named(&manifest.scenario) != Some(Scenario::I);
        if has_scheduler && !scheduler.is_object() {
            return Err(Failure::input(format!(
                "{}: the configuration has no `scheduler`, so the rules of its calls are unknown",
                folder.display()
            )));
        }
        let word = |key: &str| scheduler[key].as_str().unwrap_or_default();
        Ok(Self {
            is_scripted: scheduler["script"]
                .as_array()
                .is_some_and(|script| !script.is_empty()),
            one_candidate: word("heuristic") == "best",
            migrant_pays: word("payment") == "migrant",
            ties_by_reception: word("tie_break") == "receive-time",
            tie_width: scheduler["tie_width"].as_f64().unwrap_or_default(),
            is_measured: manifest.is_measured(),
        })
    }
}
