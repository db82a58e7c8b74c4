//! Reading a record.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Event, SCHEMA};

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

/// Reads the record in `directory`: its manifest and its events.
///
/// # Errors
///
/// If it is not complete, not readable or of another version.
pub fn read<M: DeserializeOwned>(directory: &Path) -> Result<(M, Vec<Event>), ReadError> {
    fs::read_dir(directory).map_err(at(directory))?;
    let path = directory.join("run.json");
    if !path.exists() {
        return Err(ReadError::Incomplete {
            directory: directory.to_path_buf(),
        });
    }
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let manifest = serde_json::from_str(&text).map_err(|error| ReadError::Malformed {
        path,
        line: error.line().max(1),
        message: error.to_string(),
    })?;
    Ok((manifest, read_events(&directory.join("events.jsonl"))?))
}

fn read_events(path: &Path) -> Result<Vec<Event>, ReadError> {
    let file = File::open(path).map_err(at(path))?;
    let mut events = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(at(path))?;
        let event = parse(&line, events.last()).map_err(|message| ReadError::Malformed {
            path: path.to_path_buf(),
            line: index + 1,
            message,
        })?;
        events.push(event);
    }
    if matches!(events.last(), Some(Event::End(_))) {
        return Ok(events);
    }
    Err(ReadError::Malformed {
        path: path.to_path_buf(),
        line: events.len().max(1),
        message: "the record ends before the run does".to_owned(),
    })
}

/// The event of a line that comes after the event `last`.
fn parse(line: &str, last: Option<&Event>) -> Result<Event, String> {
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
    let event = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match (last, &event) {
        (Some(Event::End(_)), _) => Err("the record goes on after the end of the run".to_owned()),
        (Some(_), Event::Run(_)) => Err("a second run begins; a record holds one".to_owned()),
        _ => Ok(event),
    }
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
