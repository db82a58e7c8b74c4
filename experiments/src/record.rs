//! Records of runs, as commands that read them find them.

mod adapted;
mod recorded_failure;

use std::path::{Path, PathBuf};
use std::{fs, io};

use bsp::check_name;
use protocol::Build;
use record::{Extent, ReadError, is_record, remedy};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::{Override, nearest_file};

use crate::failure::Failure;

pub use adapted::adapted;
pub(crate) use adapted::tolerant;
pub use recorded_failure::{Cause, RecordedFailure};

/// As much of `run.json` as is needed.
#[derive(Clone, Debug, Deserialize)]
pub struct Manifest {
    /// Which scenario was run.
    pub scenario: String,
    /// The build that made the record, if it is known.
    pub build: Option<RecordedBuild>,
    /// SHA-256 of the description of the platform, if it is known.
    pub platform_sha256: Option<String>,
    /// The values that the environment and the command line had set, if they are known.
    pub overrides: Option<Vec<Override>>,
    /// Seed of all random numbers, if it is known.
    pub seed: Option<u64>,
    /// Why the run has no result, if the record says it.
    #[serde(default)]
    pub failure: Option<RecordedFailure>,
    /// The experiment, with all its values.
    pub configuration: Value,
    #[serde(default)]
    measured: bool,
    #[serde(default)]
    results: Results,
}

/// As much of the results as is needed.
#[derive(Clone, Debug, Default, Deserialize)]
struct Results {
    /// The builds of the nodes; none in a simulation.
    #[serde(default)]
    builds: Vec<Value>,
}

/// The build that made a record, as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedBuild {
    /// The name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// The SHA-256 of its binary, in hexadecimal digits.
    pub sha256: String,
}

impl RecordedBuild {
    /// The build.
    ///
    /// # Errors
    ///
    /// If the name, the version or the digest is none.
    pub(crate) fn build(&self) -> Result<Build, String> {
        let digits = &self.sha256;
        let digest = hex::decode(digits)
            .ok()
            .and_then(|bytes| bytes.try_into().ok());
        let rule = || {
            format!("invalid value `{digits}` for `build.sha256`: must be 64 hexadecimal digits")
        };
        let digest = digest.ok_or_else(rule)?;
        Build::new(&self.program, &self.version, digest).map_err(|error| error.to_string())
    }
}

impl Manifest {
    /// Whether the times of the run were measured on real hosts.
    #[must_use]
    pub const fn is_measured(&self) -> bool {
        // Records of earlier versions say it by the builds of the nodes, once they are complete.
        self.measured || !self.results.builds.is_empty()
    }

    /// The name of the policy.
    #[must_use]
    pub fn policy(&self) -> Option<&str> {
        self.configuration["scheduler"]["policy"].as_str()
    }
}

/// The folder of the record that people call `named`: it, or scenario iii in it.
///
/// # Errors
///
/// If there is no record, or several and none of scenario iii.
pub fn find(named: &Path) -> Result<PathBuf, Failure> {
    find_scenario(named, "iii")
}

/// The folder of the record of scenario i that people call `named`: it, or scenario i in it.
///
/// # Errors
///
/// If there is no record, or several and none of scenario i.
pub fn find_baseline(named: &Path) -> Result<PathBuf, Failure> {
    find_scenario(named, "i")
}

/// The folder of the record that people call `named`: it, scenario iii in it, or else the last one in it.
///
/// # Errors
///
/// If there is no record.
pub fn find_last(named: &Path) -> Result<PathBuf, Failure> {
    let records = records(named)?;
    let preferred = records.iter().find(|record| record.ends_with("iii"));
    match preferred.or_else(|| records.last()) {
        Some(record) => Ok(record.clone()),
        None => Err(no_record(named)),
    }
}

fn find_scenario(named: &Path, scenario: &str) -> Result<PathBuf, Failure> {
    let records = records(named)?;
    if let Some(record) = records.iter().find(|record| record.ends_with(scenario)) {
        return Ok(record.clone());
    }
    match &records[..] {
        [record] => Ok(record.clone()),
        [] => Err(no_record(named)),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|name| name.display().to_string())
                .collect();
            Err(Failure::input(format!(
                "{}: holds several records; name one of {}",
                named.display(),
                names.join(", ")
            )))
        }
    }
}

/// The folder `named`, if it is that of a record, or those of the records in it, by name, without those of attempts before
/// the last one.
fn records(named: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_record(named) {
        return Ok(vec![named.to_path_buf()]);
    }
    let entries = fs::read_dir(named).map_err(|error| {
        let nearest = nearest_file(named).filter(|_| error.kind() == io::ErrorKind::NotFound);
        let help = nearest.map_or_else(String::new, |nearest| {
            format!("\n  help: did you mean `{}`?", nearest.display())
        });
        Failure::input(format!(
            "{}: cannot be read: {error}{help}",
            named.display()
        ))
    })?;
    let folders = entries.flatten().map(|entry| entry.path());
    let is_last = |folder: &PathBuf| is_record(folder) && !is_earlier(folder);
    let mut records: Vec<PathBuf> = folders.filter(is_last).collect();
    records.sort();
    Ok(records)
}

/// Whether the folder is that of an attempt before the last one: it has a number after its name.
fn is_earlier(folder: &Path) -> bool {
    let number = folder.extension().and_then(|ending| ending.to_str());
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_digit()))
}

fn no_record(named: &Path) -> Failure {
    Failure::input(format!(
        "{}: holds no record; one is made by `simulate FILE --out DIR`",
        named.display()
    ))
}

/// The head of the record in `folder`; the run need not have ended.
///
/// # Errors
///
/// If the record is not readable or of another version.
pub fn manifest(folder: &Path) -> Result<Manifest, Failure> {
    let path = record::description(folder).unwrap_or_else(|| folder.join("run.json"));
    // Descriptions of another version need not look like ours.
    let head: Head = record::manifest(folder).map_err(fault)?;
    if head.schema.as_deref() != Some(SCHEMA) {
        let met = head.schema.unwrap_or_default();
        return Err(Failure::input(format!(
            "{}: schema {met:?}; this program reads {SCHEMA:?}; {}",
            path.display(),
            remedy(folder)
        )));
    }
    let manifest: Manifest = record::manifest(folder).map_err(fault)?;
    let named = [
        ("scenario", Some(manifest.scenario.as_str())),
        ("policy", manifest.policy()),
    ];
    for (key, name) in named {
        check_name(name.unwrap_or_default())
            .map_err(|fault| Failure::input(format!("{}: {key}: {fault}", path.display())))?;
    }
    Ok(manifest)
}

/// As much of a description as any version has.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

/// What a record that is not complete lacks, in sentences, with the reason if it has one.
#[must_use]
pub fn shortfall(extent: &Extent, failure: Option<&RecordedFailure>) -> Option<String> {
    let supersteps = match extent.supersteps {
        1 => "1 superstep".to_owned(),
        supersteps => format!("{supersteps} supersteps"),
    };
    let mut text = match (extent, failure) {
        (
            Extent {
                is_complete: true, ..
            },
            _,
        ) => return None,
        (_, Some(failure)) if failure.cause == Cause::Interrupted => format!(
            "The run was interrupted after {supersteps} ({}).",
            failure.line()
        ),
        (Extent { has_end: true, .. }, Some(failure)) => format!(
            "The run ended after {supersteps} and has no result: {}.",
            failure.line()
        ),
        (_, Some(failure)) => format!("The run failed after {supersteps}: {}.", failure.line()),
        (Extent { has_end: true, .. }, None) => format!(
            "The run ended after {supersteps}, but its result is missing: there is no run.json."
        ),
        (_, None) => {
            format!("The run did not end, or goes on: the record stops after {supersteps}.")
        }
    };
    if extent.is_torn {
        text.push_str(" Its last line is cut off, and is ignored.");
    }
    Some(text)
}

/// A record cannot be read.
pub fn fault(error: ReadError) -> Failure {
    match error {
        ReadError::Io { path, source } => {
            Failure::input(format!("{}: cannot be read: {source}", path.display()))
        }
        error => Failure::input(error),
    }
}

/// The version of `run.json`.
pub const SCHEMA: &str = "migbsp.run/1";
