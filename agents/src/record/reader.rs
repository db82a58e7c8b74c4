//! Reading a record.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Event, Run, SCHEMA};

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no complete record.
    #[error("{directory} holds no complete record: run.json is missing; the run was interrupted")]
    Incomplete {
        /// Which directory.
        directory: PathBuf,
    },
    /// The operating system refuses.
    #[error("cannot read {path}")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line or the manifest is not what it should be.
    #[error("{path}:{line}: {message}")]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// What can be told of an event without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Glance {
    /// What kind of event.
    #[serde(rename = "event")]
    pub kind: Kind,
    /// How many supersteps were over, if it belongs to a call.
    #[serde(default)]
    pub superstep: Option<u64>,
}

/// The kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// [`Event::Run`].
    Run,
    /// [`Event::Superstep`].
    Superstep,
    /// [`Event::Evaluated`].
    Evaluated,
    /// [`Event::Call`].
    Call,
    /// [`Event::Moved`].
    Moved,
    /// [`Event::End`].
    End,
}

/// Reads the record in `directory`: its manifest and its events.
///
/// # Errors
///
/// If it is not complete, not readable or of another version.
pub fn read<M: DeserializeOwned>(directory: &Path) -> Result<(M, Vec<Event>), ReadError> {
    let manifest = manifest(directory)?;
    let mut events = Vec::new();
    scan(directory, |_| true, |event| events.push(event))?;
    Ok((manifest, events))
}

/// Reads what the record in `directory` says the run was, and what came of it.
///
/// # Errors
///
/// If the record is not complete or the manifest is not readable.
pub fn manifest<M: DeserializeOwned>(directory: &Path) -> Result<M, ReadError> {
    fs::read_dir(directory).map_err(at(directory))?;
    let path = directory.join("run.json");
    if !path.exists() {
        return Err(ReadError::Incomplete {
            directory: directory.to_path_buf(),
        });
    }
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    serde_json::from_str(&text).map_err(|error| ReadError::Malformed {
        path,
        line: error.line().max(1),
        message: error.to_string(),
    })
}

/// Reads how the run began whose record is in `directory`.
///
/// # Errors
///
/// If the first event is not readable or of another version.
pub fn head(directory: &Path) -> Result<Run, ReadError> {
    let path = &directory.join("events.jsonl");
    let mut line = String::new();
    BufReader::new(File::open(path).map_err(at(path))?)
        .read_line(&mut line)
        .map_err(at(path))?;
    let run = glance(&line, None)
        .and_then(|_run| serde_json::from_str(&line).map_err(|error| error.to_string()));
    run.map_err(|message| ReadError::Malformed {
        path: path.clone(),
        line: 1,
        message,
    })
}

/// Reads the events of the record in `directory` one after the other and gives those that are
/// `wanted` to `visit`. Of the others it is only checked that they are JSON, which takes a fraction
/// of the time; nothing is kept.
///
/// # Errors
///
/// If the events are not readable, not complete or of another version. What was visited by then
/// was there.
pub fn scan(
    directory: &Path,
    mut wanted: impl FnMut(Glance) -> bool,
    mut visit: impl FnMut(Event),
) -> Result<(), ReadError> {
    let path = &directory.join("events.jsonl");
    let mut lines = BufReader::new(File::open(path).map_err(at(path))?);
    let mut line = String::new();
    let mut number = 0;
    let mut last = None;
    let malformed = |line: usize, message: String| ReadError::Malformed {
        path: path.clone(),
        line,
        message,
    };
    loop {
        line.clear();
        if lines.read_line(&mut line).map_err(at(path))? == 0 {
            break;
        }
        number += 1;
        let glance = glance(&line, last).map_err(|message| malformed(number, message))?;
        if wanted(glance) {
            let event = parse(&line, glance.kind);
            visit(event.map_err(|error| malformed(number, error.to_string()))?);
        }
        last = Some(glance.kind);
    }
    if last == Some(Kind::End) {
        return Ok(());
    }
    let message = "the record ends before the run does";
    Err(malformed(number.max(1), message.to_owned()))
}

/// What can be told of a line that comes after an event of the kind `last`.
fn glance(line: &str, last: Option<Kind>) -> Result<Glance, String> {
    if last.is_none() {
        // Events of another version need not look like ours.
        let head: Head = serde_json::from_str(line).map_err(|error| error.to_string())?;
        match head.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => {
                return Err(format!("schema {other:?}; this program reads {SCHEMA:?}"));
            }
            None => return Err(format!("no schema; a record begins with {SCHEMA:?}")),
        }
    }
    let glance: Glance = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match (last, glance.kind) {
        (None, Kind::Run) => Ok(glance),
        (None, kind) => Err(format!("a record begins with a run, not with {kind:?}")),
        (Some(Kind::End), _) => Err("the record goes on after the end of the run".to_owned()),
        (Some(_), Kind::Run) => Err("a second run begins; a record holds one".to_owned()),
        _ => Ok(glance),
    }
}

/// The event of a line whose kind is known: reading it by its tag would read it twice.
fn parse(line: &str, kind: Kind) -> serde_json::Result<Event> {
    Ok(match kind {
        Kind::Run => Event::Run(serde_json::from_str(line)?),
        Kind::Superstep => Event::Superstep(serde_json::from_str(line)?),
        Kind::Evaluated => Event::Evaluated(serde_json::from_str(line)?),
        Kind::Call => Event::Call(serde_json::from_str(line)?),
        Kind::Moved => Event::Moved(serde_json::from_str(line)?),
        Kind::End => Event::End(serde_json::from_str(line)?),
    })
}

/// As much of the first event as any version has.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ReadError {
    let path = path.to_path_buf();
    |source| ReadError::Io { path, source }
}
