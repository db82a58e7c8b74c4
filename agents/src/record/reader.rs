//! Reading a record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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
        /// Which file.
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
    let load = |name: &str| {
        let path = directory.join(name);
        fs::read_to_string(&path)
            .map_err(|source| ReadError::Io {
                path: path.clone(),
                source,
            })
            .map(|text| (path, text))
    };
    if !directory.join("run.json").exists() {
        return Err(ReadError::Incomplete {
            directory: directory.to_path_buf(),
        });
    }
    let (path, text) = load("run.json")?;
    let malformed = |line, message| ReadError::Malformed {
        path: path.clone(),
        line,
        message,
    };
    let manifest =
        serde_json::from_str(&text).map_err(|error| malformed(error.line(), error.to_string()))?;
    let (path, text) = load("events.jsonl")?;
    let mut events = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let malformed = |message| ReadError::Malformed {
            path: path.clone(),
            line: index + 1,
            message,
        };
        let event = serde_json::from_str(line).map_err(|error| malformed(error.to_string()))?;
        if let Event::Run(run) = &event
            && run.schema != SCHEMA
        {
            let message = format!("schema {:?}; this program reads {SCHEMA:?}", run.schema);
            return Err(malformed(message));
        }
        events.push(event);
    }
    match events.last() {
        Some(Event::End(_)) => Ok((manifest, events)),
        _ => {
            let message = "the record ends before the run does".to_owned();
            Err(ReadError::Malformed {
                path,
                line: events.len(),
                message,
            })
        }
    }
}
