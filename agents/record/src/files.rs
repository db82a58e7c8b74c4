//! The files of a record.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use serde_json::Value;

/// The events.
pub(super) const EVENTS: &str = "events.jsonl";
/// The events, compressed.
pub(super) const EVENTS_COMPRESSED: &str = "events.jsonl.gz";
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

/// Whether `directory` holds a record.
#[must_use]
pub fn is_record(directory: &Path) -> bool {
    let files = [EVENTS, EVENTS_COMPRESSED, COMPLETE];
    files.iter().any(|name| directory.join(name).exists())
}

/// The file of the events in `directory`: as text if there is one.
pub(super) fn events(directory: &Path) -> PathBuf {
    let compressed = directory.join(EVENTS_COMPRESSED);
    let text = directory.join(EVENTS);
    if compressed.exists() && !text.exists() {
        compressed
    } else {
        text
    }
}

/// The lines of a file of events, compressed or not.
///
/// # Errors
///
/// If the operating system refuses.
pub(super) fn lines(events: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::new(File::open(events)?);
    Ok(if events.ends_with(EVENTS_COMPRESSED) {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}

/// Whom to ask about a record that this program does not read: the build that wrote it, if the description says it.
#[must_use]
pub fn remedy(directory: &Path) -> String {
    let text = description(directory).and_then(|path| std::fs::read_to_string(path).ok());
    let description: Value = text
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let Some(version) = description["version"].as_str() else {
        return "read it with the version that wrote it, or a later one".to_owned();
    };
    let digest = description["build"]["sha256"].as_str().unwrap_or_default();
    let is_printable = |letter: &char| !letter.is_control();
    let version: String = version.chars().filter(is_printable).take(64).collect();
    let digest: String = digest
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(12)
        .collect();
    let build = if digest.is_empty() {
        String::new()
    } else {
        format!(" (build {digest})")
    };
    format!("it was written by {version}{build}: read it with that version, or a later one")
}
