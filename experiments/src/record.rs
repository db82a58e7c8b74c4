//! Records of runs, as commands that read them find them, those of other versions included.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bsp::check_name;
use protocol::Build;
use record::{Extent, ReadError, is_record, remedy};
use serde::{Deserialize, Serialize};
use settings::{Fault, Node, Override, Value, join, nearest_file};

use crate::failure::Failure;

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
    /// The number of its job on real hosts, if it is known.
    #[serde(default)]
    pub job: Option<String>,
    /// When the run began, in seconds since 1970, if that is known.
    #[serde(default)]
    pub began: Option<f64>,
    /// Why the run has no result, if the record says it.
    #[serde(default)]
    pub failure: Option<RecordedFailure>,
    /// The experiment, with all its values.
    pub configuration: serde_json::Value,
    #[serde(default)]
    measured: bool,
}

/// The build that made a record, as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordedBuild {
    /// The name of the program.
    pub program: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the build ID in its binary, or of the whole binary if it has none, in hexadecimal digits.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
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
        self.measured
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
    if is_record(named) {
        return Ok(named.to_path_buf());
    }
    let records = records(named)?;
    let preferred = records.iter().find(|record| record.ends_with("iii"));
    match preferred.or_else(|| records.last()) {
        Some(record) => Ok(newest_view(record)),
        None => Err(no_record(named)),
    }
}

fn find_scenario(named: &Path, scenario: &str) -> Result<PathBuf, Failure> {
    if is_record(named) {
        return Ok(named.to_path_buf());
    }
    let records = records(named)?;
    if let Some(record) = records.iter().find(|record| record.ends_with(scenario)) {
        return Ok(newest_view(record));
    }
    match &records[..] {
        [record] => Ok(newest_view(record)),
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

/// The folders of the records of all views of a job, the newest last, as far as they are beside each other. One of them is in
/// `folder`, of the view `number`.
#[must_use]
pub fn views_of_job(folder: &Path, number: u64) -> Vec<PathBuf> {
    // The folder may be named by its place alone, as `.` is.
    let named = match folder.file_name() {
        Some(_) => folder.to_path_buf(),
        None => fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf()),
    };
    let name = named.file_name().and_then(|name| name.to_str());
    let first = match number {
        1 => name,
        _ => name.and_then(|name| name.strip_suffix(&view_name("", number))),
    };
    let Some(first) = first.map(|first| named.with_file_name(first)) else {
        return vec![folder.to_path_buf()];
    };
    let later = views(&first);
    let first = is_record(&first).then_some(first);
    first.into_iter().chain(later).collect()
}

/// The name of the folder of a record of the view `number` of a job whose first view has the folder `name`.
pub(crate) fn view_name(name: &str, number: u64) -> String {
    format!("{name}{VIEW}{number}")
}

/// The folders of the records of the later views of the job whose first view has this folder, the newest last.
pub(crate) fn views(first: &Path) -> Vec<PathBuf> {
    let name = first.file_name().and_then(|name| name.to_str());
    let beside = first.parent().map(fs::read_dir);
    let (Some(name), Some(Ok(beside))) = (name, beside) else {
        return Vec::new();
    };
    let mut views: Vec<(u64, PathBuf)> = beside
        .flatten()
        .filter_map(|entry| {
            Some((
                view_number(name, entry.file_name().to_str()?)?,
                entry.path(),
            ))
        })
        .filter(|(_, folder)| is_record(folder))
        .collect();
    views.sort();
    views.into_iter().map(|(_, folder)| folder).collect()
}

/// The number of the view whose record has the folder `found`, if that is a later view of the job whose first view has the folder
/// `name`.
fn view_number(name: &str, found: &str) -> Option<u64> {
    found.strip_prefix(name)?.strip_prefix(VIEW)?.parse().ok()
}

/// The record of the newest view of the job whose first view has this folder.
fn newest_view(first: &Path) -> PathBuf {
    let newest = views(first).pop();
    newest.unwrap_or_else(|| first.to_path_buf())
}

/// What the folders of records of later views have between the name of the first and their number.
const VIEW: &str = "-view";

/// The folders of the first views of the jobs whose records are in the folder `named`, by name, without those of attempts before
/// the last one. A client that attached to a job may have no record of its first view.
fn records(named: &Path) -> Result<Vec<PathBuf>, Failure> {
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
    let first = |record: PathBuf| {
        let name = record.file_name().and_then(|name| name.to_str());
        let first = name.and_then(|name| name.rsplit_once(VIEW));
        match first {
            Some((first, number)) if number.parse::<u64>().is_ok() => record.with_file_name(first),
            _ => record,
        }
    };
    let records: BTreeSet<PathBuf> = folders.filter(is_last).map(first).collect();
    Ok(records.into_iter().collect())
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
        let found = head.schema.unwrap_or_default();
        return Err(Failure::input(format!(
            "{}: schema {found:?}; this program reads {SCHEMA:?}; {}",
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

/// The `section` at `path` of a configuration, decoded. A key that this version does not know is left out, and one that is
/// not there has the default of this version; a line in the log says each.
///
/// # Errors
///
/// Of `decode`, if it is not about an unknown key.
pub fn adapted<T>(
    folder: &Path,
    (path, section): (&str, &Node),
    decode: impl Fn(&Node) -> Result<T, Fault>,
    effective: impl Fn(&T) -> Node,
) -> Result<T, Fault> {
    let decoded = tolerant(folder, (path, section), decode)?;
    missing(section, &effective(&decoded), path, &mut |key, default| {
        let folder = folder.display();
        tracing::warn!("{folder}: the record does not say `{key}`; this version assumes {default}");
    });
    Ok(decoded)
}

/// The `section` at `path` of a configuration, decoded without the keys that this version does not know; a line in the log
/// says each.
///
/// # Errors
///
/// As [`adapted`].
pub(crate) fn tolerant<T>(
    folder: &Path,
    (path, section): (&str, &Node),
    decode: impl Fn(&Node) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let mut known = section.clone();
    loop {
        let fault = match decode(&known) {
            Ok(decoded) => return Ok(decoded),
            Err(fault) => fault,
        };
        let unknown = fault.unknown.clone().unwrap_or_default();
        match below(path, &unknown) {
            Some(key) if remove(&mut known, key) => {
                let folder = folder.display();
                tracing::warn!(
                    "{folder}: this version does not know `{unknown}` of the record, and ignores it"
                );
            }
            _ => return Err(fault),
        }
    }
}

/// `key` as the section at `path` has it.
fn below<'a>(path: &str, key: &'a str) -> Option<&'a str> {
    if path.is_empty() {
        Some(key)
    } else {
        key.strip_prefix(path)?.strip_prefix('.')
    }
}

/// Removes the entry at `path`. Returns whether it was there.
fn remove(node: &mut Node, path: &str) -> bool {
    let Value::Table(entries) = &mut node.value else {
        return false;
    };
    // Keys of background loads have points in them.
    if let Some(position) = entries.iter().position(|(name, _)| name == path) {
        entries.remove(position);
        return true;
    }
    let Some((key, rest)) = path.split_once('.') else {
        return false;
    };
    let mut inside = entries.iter_mut().filter(|(name, _)| name == key);
    inside.next().is_some_and(|(_, node)| remove(node, rest))
}

/// Shows the keys that `effective` has, with values, and `written` has not, to `lacks`.
fn missing(written: &Node, effective: &Node, path: &str, lacks: &mut impl FnMut(&str, &Node)) {
    for (key, value) in effective.entries() {
        let path = join(path, key);
        match written.get(key) {
            Some(there) => missing(there, value, &path, lacks),
            None if value.value == Value::Nil => {}
            None => lacks(&path, value),
        }
    }
}

/// Why a run has no result, as its record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecordedFailure {
    /// What was at fault.
    pub cause: Cause,
    /// Who failed, of what, and in which superstep, as the command said it.
    pub message: String,
}

/// What was at fault when a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program, or a file that cannot be written.
    Run,
    /// The experiment, or a file that it names.
    Input,
    /// The outputs are not the required ones.
    Outputs,
    /// A node, or the connection to it.
    Cluster,
    /// A signal to the command: nothing failed.
    Interrupted,
    /// Something that this version does not know.
    #[cfg_attr(feature = "schemas", schemars(skip))]
    #[serde(other)]
    Unknown,
}

impl RecordedFailure {
    /// The run was interrupted, by the signal with this number.
    #[must_use]
    pub fn interrupted(signal: u8) -> Self {
        let name = match signal {
            1 => "SIGHUP".to_owned(),
            2 => "SIGINT".to_owned(),
            15 => "SIGTERM".to_owned(),
            other => format!("signal {other}"),
        };
        Self {
            cause: Cause::Interrupted,
            message: name,
        }
    }

    /// What is said of it, on one line and of bounded length: the file may come from anywhere.
    fn line(&self) -> String {
        let line = self.message.lines().next().unwrap_or_default();
        let printable = line.chars().filter(|letter| !letter.is_control());
        let line: String = printable.take(LINE_MAX).collect();
        line.trim_end_matches('.').to_owned()
    }
}

impl From<&Failure> for RecordedFailure {
    fn from(failure: &Failure) -> Self {
        let cause = match failure {
            Failure::Run(_) => Cause::Run,
            Failure::Usage(_) | Failure::Input(_) => Cause::Input,
            Failure::Verification(_) => Cause::Outputs,
            Failure::Cluster(_) => Cause::Cluster,
        };
        let text = failure.to_string();
        // What follows is advice.
        let message = text.split("\n  note: ").next().unwrap_or_default();
        Self {
            cause,
            message: message.to_owned(),
        }
    }
}

/// Letters of a message that are shown.
const LINE_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use model::Policies;

    use super::*;
    use crate::Scheduler;

    #[test]
    fn unknown_keys_are_left_out_and_missing_ones_are_named() {
        let policies = Policies::default();
        let scheduler = |node: &Node| Scheduler::new(node, &policies);
        let whole = scheduler(&Node::empty_table()).unwrap().effective();
        let without = |node: &Node, key: &str| {
            let mut node = node.clone();
            assert!(remove(&mut node, key), "{key}");
            node
        };
        let mut named = Vec::new();
        let mut name = |key: &str, default: &Node| named.push(format!("{key} = {default}"));
        missing(&whole, &whole, "scheduler", &mut name);
        let older = without(&without(&whole, "planning.horizon"), "load_window");
        missing(&older, &whole, "scheduler", &mut name);
        assert_eq!(named.len(), 2, "{named:?}");
        assert!(
            named
                .iter()
                .any(|line| line.starts_with("scheduler.planning.horizon = "))
        );
        // A newer version has keys of its own, in any section.
        let mut newer = whole.clone();
        let gravity = || {
            (
                "gravity".to_owned(),
                Node::new(Value::Float(9.81), "run.json"),
            )
        };
        let Value::Table(entries) = &mut newer.value else {
            panic!("a section")
        };
        let planning = entries.iter_mut().find(|(key, _)| key == "planning");
        let Value::Table(inner) = &mut planning.unwrap().1.value else {
            panic!("a section")
        };
        inner.push(gravity());
        entries.push(gravity());
        assert!(scheduler(&newer).is_err());
        let place = Path::new("runs/iii");
        let adapted = adapted(
            place,
            ("scheduler", &newer),
            scheduler,
            Scheduler::effective,
        );
        assert_eq!(adapted.unwrap().effective(), whole);
        // An invalid value is no unknown key.
        let mut wrong = without(&whole, "policy");
        let Value::Table(entries) = &mut wrong.value else {
            panic!("a section")
        };
        entries.push((
            "policy".to_owned(),
            Node::new(Value::Text("magic".to_owned()), "x"),
        ));
        let found = super::adapted(
            place,
            ("scheduler", &wrong),
            scheduler,
            Scheduler::effective,
        );
        assert!(found.unwrap_err().unknown.is_none());
    }
}
