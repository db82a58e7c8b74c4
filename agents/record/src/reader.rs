//! Reading a record.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str;

use bsp::{SetId, check_name};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::files::{description, events, is_complete, lines, remedy};
use super::header::{EventHeader, EventKind};
use super::progress::Progress;
use super::{Event, Run, SCHEMA, SCHEMAS_READ};

/// The extent of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Whether it has the description and the result of the run: `run.json`.
    pub is_complete: bool,
    /// Whether it has the end of the run; every complete record does.
    pub has_end: bool,
    /// The number of supersteps that it has.
    pub supersteps: u64,
    /// Whether its last line is cut off, and was ignored.
    pub is_torn: bool,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Nothing describes the run.
    #[error(
        "{directory} holds no record that can be read: neither run.json nor run.json.partial describes the run"
    )]
    Undescribed {
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
/// If it is not readable or of another version.
pub fn read<M: DeserializeOwned>(directory: &Path) -> Result<(M, Vec<Event>), ReadError> {
    let manifest = manifest(directory)?;
    let mut events = Vec::new();
    scan(directory, |_| true, |event| events.push(event))?;
    Ok((manifest, events))
}

/// Reads the description of the run from the record in `directory`, with the result if the run has ended.
///
/// # Errors
///
/// If there is no description, or it is not readable.
pub fn manifest<M: DeserializeOwned>(directory: &Path) -> Result<M, ReadError> {
    fs::read_dir(directory).map_err(at(directory))?;
    let Some(path) = description(directory) else {
        return Err(ReadError::Undescribed {
            directory: directory.to_path_buf(),
        });
    };
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
    let path = &events(directory);
    let mut line = String::new();
    let mut lines = lines(path).map_err(at(path))?;
    lines.read_line(&mut line).map_err(at(path))?;
    let run = header((&line, directory), None).and_then(|_run| run(&line));
    run.map_err(|message| ReadError::Malformed {
        path: path.clone(),
        line: 1,
        message,
    })
}

/// Reads the events of the record in `directory` one after the other and gives those that are
/// `wanted` to `visit`. Of the others it is only checked that they are JSON, which takes a fraction
/// of the time; nothing is kept. The record of a run that did not end has no end, and its last line may be cut off.
///
/// # Errors
///
/// If the events are not readable, of another version or, where `run.json` says that the run has ended, not complete.
/// What was visited by then was there.
pub fn scan(
    directory: &Path,
    mut wanted: impl FnMut(EventHeader) -> bool,
    mut visit: impl FnMut(Event),
) -> Result<Extent, ReadError> {
    let is_complete = is_complete(directory);
    let path = &events(directory);
    let mut lines = lines(path).map_err(at(path))?;
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut last = None;
    let mut progress = Progress::default();
    let malformed = |line: usize, message: String| ReadError::Malformed {
        path: path.clone(),
        line,
        message,
    };
    let is_torn = loop {
        bytes.clear();
        match lines.read_until(b'\n', &mut bytes) {
            // A compressed file has an end; one that is cut off, or being written, has none.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                if is_complete {
                    return Err(malformed(number + 1, CUT_OFF.to_owned()));
                }
            }
            read => drop(read.map_err(at(path))?),
        }
        if bytes.is_empty() {
            break false;
        }
        // The first line names the processes; without it there is nothing to read.
        if !is_complete && 0 < number && bytes.last() != Some(&b'\n') {
            break true;
        }
        number += 1;
        let line = str::from_utf8(&bytes).map_err(|error| malformed(number, error.to_string()))?;
        let header =
            header((line, directory), last).map_err(|message| malformed(number, message))?;
        let event = event(line, header, wanted(header), &mut progress);
        if let Some(event) = event.map_err(|message| malformed(number, message))? {
            visit(event);
        }
        last = Some(header.kind);
    };
    let has_end = last == Some(EventKind::End);
    if has_end || !is_complete && last.is_some() {
        return Ok(Extent {
            is_complete,
            has_end,
            supersteps: progress.supersteps(),
            is_torn,
        });
    }
    let message = "the record ends before the run does";
    Err(malformed(number.max(1), message.to_owned()))
}

/// The event of a line, if it is wanted and belongs here.
fn event(
    line: &str,
    header: EventHeader,
    is_wanted: bool,
    progress: &mut Progress,
) -> Result<Option<Event>, String> {
    if header.kind == EventKind::Run {
        let run = run(line)?;
        *progress = Progress::of(&run);
        return Ok(is_wanted.then_some(Event::Run(run)));
    }
    progress.follow(header)?;
    if !is_wanted {
        return Ok(None);
    }
    let event = header
        .kind
        .parse(line)
        .map_err(|error| unreadable(&error))?;
    progress.knows(&event)?;
    Ok(Some(event))
}

/// The header of a line of the record in a directory that follows an event of the kind `last`.
fn header(
    (line, directory): (&str, &Path),
    last: Option<EventKind>,
) -> Result<EventHeader, String> {
    if last.is_none() {
        // Events of another version need not look like ours.
        let head: Head = from_line(line)?;
        match head.schema.as_deref() {
            Some(schema) if SCHEMAS_READ.contains(&schema) => {}
            Some(other) => {
                let remedy = remedy(directory);
                return Err(format!(
                    "schema {other:?}; this program reads {SCHEMA:?}; {remedy}"
                ));
            }
            None => return Err(format!("no schema; a record begins with {SCHEMA:?}")),
        }
    }
    let header: EventHeader = from_line(line)?;
    match (last, header.kind) {
        (None, EventKind::Run) => Ok(header),
        (None, kind) => Err(format!("a record begins with a run, not with {kind:?}")),
        (Some(EventKind::End), _) => Err("the record goes on after the end of the run".to_owned()),
        (Some(_), EventKind::Run) => Err("a second run begins; a record holds one".to_owned()),
        _ => Ok(header),
    }
}

fn run(line: &str) -> Result<Run, String> {
    let run: Run = from_line(line)?;
    if run.placement.is_empty() {
        return Err("`placement` is empty; a run has processes".to_owned());
    }
    let lists = [("sets", &run.sets), ("hosts", &run.hosts)];
    for (key, names) in lists {
        for name in names {
            check_name(name).map_err(|fault| format!("`{key}`: {fault}"))?;
        }
    }
    check_name(&run.scenario).map_err(|fault| format!("`scenario`: {fault}"))?;
    let first = run.first_superstep();
    if NUMBERS < first {
        return Err(format!(
            "`resumed` has superstep {first}, with which no run begins"
        ));
    }
    members(&run)?;
    let hosts: BTreeSet<&String> = run.hosts.iter().collect();
    match run.placement.iter().find(|host| !hosts.contains(host)) {
        Some(host) => Err(format!(
            "`placement` names {host:?}, which is none of `hosts`"
        )),
        None => Ok(run),
    }
}

/// Checks that the Sets of the hosts, if the record says them, are those of all hosts.
fn members(run: &Run) -> Result<(), String> {
    let unknown = |(set, _): &&(SetId, u32)| run.sets.len() <= set.index();
    if let Some((set, _)) = run.members.iter().find(unknown) {
        let number = run.sets.len();
        return Err(format!(
            "`members` names Set {}; this run has {number}, counted from 0",
            set.0
        ));
    }
    let counts = run.members.iter().map(|(_, hosts)| u64::from(*hosts));
    let counted: u64 = counts.sum();
    let hosts = run.hosts.len();
    if run.members.is_empty() || usize::try_from(counted) == Ok(hosts) {
        return Ok(());
    }
    Err(format!(
        "`members` has {counted} hosts, and `hosts` has {hosts}"
    ))
}

fn from_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| unreadable(&error))
}

/// As much of the first event as any version has.
#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

/// What is wrong with a line, which is the only one that the parser saw.
fn unreadable(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return CUT_OFF.to_owned();
    }
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(message) => format!("{message}, in column {}", error.column()),
        None => text,
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ReadError {
    let path = path.to_path_buf();
    |source| ReadError::Io { path, source }
}

/// The fault of a record that ends too early.
const CUT_OFF: &str = "the record is cut off here; the same experiment and seed give it again";

/// Supersteps that a record can count.
const NUMBERS: u64 = u64::MAX / 2;
