//! Scenario i of the same experiment, beside which a run is read.

use std::path::{Path, PathBuf};

use experiments::record::{Manifest, fault, manifest};
use experiments::{Failure, Scenario};
use record::{End, Event, EventHeader, EventKind, Events};
use serde_json::Value;

/// Scenario i of the same experiment: the same supersteps without calls and moves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Baseline {
    /// Folder of its record.
    pub(crate) folder: PathBuf,
    /// Seconds of every superstep that the run has, too, and of those after them, if they are to be drawn.
    pub(crate) times: Vec<f64>,
    /// The end of the run, if it has ended.
    pub(crate) end: Option<End>,
}

/// A record of scenario i that is being read, beside that of the run.
#[derive(Debug)]
pub(super) struct BaselineReading {
    events: Events,
    baseline: Baseline,
    has_times: bool,
}

impl BaselineReading {
    /// The record in `against`, or the record `i` beside the record in `run` if there is one, before the first superstep
    /// that the run has. `has_times`: its times are to be drawn.
    ///
    /// # Errors
    ///
    /// If that record cannot be read or compared.
    pub(super) fn find(
        against: Option<&Path>,
        run: &Path,
        has_times: bool,
    ) -> Result<Option<Self>, Failure> {
        let beside = against.map(Path::to_path_buf).or_else(|| beside(run));
        let reading = beside.map(|folder| Self::open(folder, run, has_times));
        reading.transpose()
    }

    /// The record in `folder`, to be compared with the record in `run`.
    ///
    /// # Errors
    ///
    /// If there is no such record, or it is not scenario i of the experiment of `run`.
    fn open(folder: PathBuf, run: &Path, has_times: bool) -> Result<Self, Failure> {
        let (there, here) = (manifest(&folder)?, manifest(run)?);
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
        let first = |folder: &Path| record::head(folder).map(|run| run.first_superstep());
        let (first, own) = (first(&folder).map_err(fault)?, first(run).map_err(fault)?);
        let Some(before) = own.checked_sub(first) else {
            let folder = folder.display();
            return Err(Failure::input(format!(
                "{folder}: it begins with superstep {first}, after the beginning of the run"
            )));
        };
        let mut reading = Self {
            events: Events::open(&folder).map_err(fault)?,
            baseline: Baseline {
                folder,
                times: Vec::new(),
                end: None,
            },
            has_times,
        };
        for _ in 0..before {
            if reading.next()?.is_none() {
                break;
            }
        }
        reading.baseline.times.clear();
        Ok(reading)
    }

    /// Seconds of the next superstep; `None`: there is none.
    ///
    /// # Errors
    ///
    /// If the record is not readable.
    pub(super) fn next(&mut self) -> Result<Option<f64>, Failure> {
        let needed =
            |header: EventHeader| matches!(header.kind, EventKind::Superstep | EventKind::End);
        while let Some(event) = self.events.next(needed).map_err(fault)? {
            match event {
                Event::Superstep(superstep) => {
                    let seconds = (superstep.ended - superstep.started).get();
                    if self.has_times {
                        self.baseline.times.push(seconds);
                    }
                    return Ok(Some(seconds));
                }
                Event::End(end) => self.baseline.end = Some(end),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The run has no more supersteps.
    ///
    /// # Errors
    ///
    /// If the rest of the record is not readable.
    pub(super) fn end(mut self) -> Result<Baseline, Failure> {
        while self.next()?.is_some() {}
        Ok(self.baseline)
    }
}

/// The folder of the record `i` beside the record in `run`, if there is one.
fn beside(run: &Path) -> Option<PathBuf> {
    let canonical = run.canonicalize().ok()?;
    let parent = canonical.parent()?.join("i");
    // The path as the user wrote it, where that names the folder.
    let named = run.parent().map(|parent| parent.join("i"));
    let folder = named.filter(|named| named.is_dir()).unwrap_or(parent);
    let is_run = folder.canonicalize().ok().as_ref() == Some(&canonical);
    (!is_run && folder.is_dir()).then_some(folder)
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
    use super::*;
    use serde_json::json;

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
