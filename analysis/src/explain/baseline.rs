//! The record of scenario i that a run is compared with.

use std::path::{Path, PathBuf};

use experiments::record::{Manifest, fault, manifest};
use experiments::{Failure, Scenario};
use record::{End, Event, EventHeader, EventKind};
use serde_json::Value;

use crate::explain::durations::SuperstepDuration;

/// Scenario i of the same experiment: the same supersteps without calls and moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Baseline {
    /// Folder of its record.
    pub(crate) folder: PathBuf,
    /// Duration of every superstep, in order.
    pub(crate) supersteps: Vec<SuperstepDuration>,
    /// The end of the run, if it has ended.
    pub(crate) end: Option<End>,
}

impl Baseline {
    /// Reads the record in `folder`, to compare it with the record in `run`.
    ///
    /// # Errors
    ///
    /// If there is no such record, or it is not scenario i of the experiment of `run`.
    pub(super) fn read(folder: &Path, run: &Path) -> Result<Self, Failure> {
        let (there, here) = (manifest(folder)?, manifest(run)?);
        if let Some(difference) = difference(&there, &here) {
            let command = if here.is_measured() {
                "run FILE --policy none"
            } else {
                "simulate FILE"
            };
            return Err(Failure::input(format!(
                "{}: {difference}\n  help: `{command} --out DIR` writes scenario i of an experiment to DIR/i",
                folder.display()
            )));
        }
        let mut supersteps = Vec::new();
        let mut end = None;
        let needed =
            |header: EventHeader| matches!(header.kind, EventKind::Superstep | EventKind::End);
        record::scan(folder, needed, |event| match event {
            Event::Superstep(superstep) => supersteps.push(SuperstepDuration::new(&superstep)),
            Event::End(ended) => end = Some(ended),
            _ => {}
        })
        .map_err(fault)?;
        let first = |folder: &Path| record::head(folder).map(|run| run.first_superstep());
        let (first, own) = (first(folder).map_err(fault)?, first(run).map_err(fault)?);
        let Some(more) = own.checked_sub(first) else {
            let folder = folder.display();
            return Err(Failure::input(format!(
                "{folder}: it begins with superstep {first}, after the beginning of the run"
            )));
        };
        let more = usize::try_from(more).unwrap_or(usize::MAX);
        supersteps.drain(..more.min(supersteps.len()));
        Ok(Self {
            folder: folder.to_path_buf(),
            supersteps,
            end,
        })
    }

    /// Reads the record `i` beside the record in `run`, if there is one.
    ///
    /// # Errors
    ///
    /// If that record cannot be read or compared.
    pub(super) fn beside(run: &Path) -> Result<Option<Self>, Failure> {
        let Some(parent) = run
            .canonicalize()
            .ok()
            .and_then(|run| Some(run.parent()?.join("i")))
        else {
            return Ok(None);
        };
        // The path as the user wrote it, where that names the folder.
        let named = run.parent().map(|parent| parent.join("i"));
        let folder = named.filter(|named| named.is_dir()).unwrap_or(parent);
        let is_run = folder.canonicalize().ok() == run.canonicalize().ok();
        if is_run || !folder.is_dir() {
            return Ok(None);
        }
        Self::read(&folder, run).map(Some)
    }
}

/// Why `there` is not scenario i of the experiment `here`.
fn difference(there: &Manifest, here: &Manifest) -> Option<String> {
    if Scenario::named(&there.scenario) != Some(Scenario::I) {
        return Some(format!(
            "is a record of scenario {}, expected scenario i",
            there.scenario
        ));
    }
    let mut path = String::new();
    if let Some((one, other)) = different(&there.configuration, &here.configuration, &mut path) {
        return Some(format!(
            "is of another experiment: `{path}` is {one}, but {other} in the run to explain"
        ));
    }
    (there.platform_sha256 != here.platform_sha256)
        .then(|| "is of another experiment: the description of its platform differs".to_owned())
}

/// The first value in which experiments differ, with its path and both values; their schedulers may differ.
pub(crate) fn first_difference(one: &Manifest, other: &Manifest) -> Option<[String; 3]> {
    let mut path = String::new();
    let (one, other) = different(&one.configuration, &other.configuration, &mut path)?;
    Some([path, one, other])
}

/// The first value that differs, with its path. Scenario i takes nothing from the scheduler.
fn different(there: &Value, here: &Value, path: &mut String) -> Option<(String, String)> {
    let (Value::Object(one), Value::Object(other)) = (there, here) else {
        let shown = |value: &Value| match value {
            Value::Null => "not set".to_owned(),
            value => format!("`{value}`"),
        };
        return (there != here).then(|| (shown(there), shown(here)));
    };
    let length = path.len();
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        if length == 0 && key == "scheduler" {
            continue;
        }
        if 0 < length {
            path.push('.');
        }
        path.push_str(key);
        let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
        let found = different(&value(one), &value(other), path);
        if found.is_some() {
            return found;
        }
        path.truncate(length);
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn difference_of(one: &Value, other: &Value) -> Option<String> {
        let mut path = String::new();
        let (one, other) = different(one, other, &mut path)?;
        Some(format!("{path}: {one}, {other}"))
    }

    #[test]
    fn the_first_key_that_differs_is_named() {
        let one = json!({"application": {"processes": 8, "workload": "heat"}, "scheduler": {"policy": "none"}});
        let mut other = one.clone();
        other["scheduler"]["policy"] = "adaptive".into();
        assert_eq!(difference_of(&one, &other), None);
        other["application"]["processes"] = 16.into();
        assert_eq!(
            difference_of(&one, &other).as_deref(),
            Some("application.processes: `8`, `16`")
        );
        let more = json!({"application": {"processes": 8, "seconds": 1, "workload": "heat"}});
        assert_eq!(
            difference_of(&one, &more).as_deref(),
            Some("application.seconds: not set, `1`")
        );
    }
}
