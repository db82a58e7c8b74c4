//! Reading a record.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::str;

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Notes, Rank, SetId, check_name};
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Event, EventHeader, EventKind, Names, Run, SCHEMA, Superstep};

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
    let mut events = Events::open(directory)?;
    while let Some(event) = events.next(&mut wanted)? {
        visit(event);
    }
    Ok(events.extent())
}

/// A record that is read one event after the other, as [`scan`] does.
pub struct Events {
    directory: PathBuf,
    path: PathBuf,
    is_complete: bool,
    lines: Box<dyn BufRead>,
    /// The last line, and its number.
    line: Vec<u8>,
    number: usize,
    last: Option<EventKind>,
    progress: Progress,
    is_torn: bool,
}

impl Events {
    /// Before the first event of the record in `directory`.
    ///
    /// # Errors
    ///
    /// If there are no events, or the operating system refuses.
    pub fn open(directory: &Path) -> Result<Self, ReadError> {
        let path = events(directory);
        Ok(Self {
            directory: directory.to_path_buf(),
            is_complete: is_complete(directory),
            lines: lines(&path).map_err(at(&path))?,
            path,
            line: Vec::new(),
            number: 0,
            last: None,
            progress: Progress::default(),
            is_torn: false,
        })
    }

    /// The next event that is `wanted`; `None`: there is none any more.
    ///
    /// # Errors
    ///
    /// If the events are not readable, of another version or, where `run.json` says that the run has ended, not complete.
    pub fn next(
        &mut self,
        mut wanted: impl FnMut(EventHeader) -> bool,
    ) -> Result<Option<Event>, ReadError> {
        while self.next_line()? {
            let event = self.event(&mut wanted);
            if let Some(event) = event.map_err(|message| self.malformed(self.number, message))? {
                return Ok(Some(event));
            }
        }
        let has_end = self.last == Some(EventKind::End);
        if has_end || !self.is_complete && self.last.is_some() {
            return Ok(None);
        }
        let message = "the record ends before the run does";
        Err(self.malformed(self.number.max(1), message.to_owned()))
    }

    /// How far the record goes, once [`Self::next`] has no more events.
    #[must_use]
    pub fn extent(&self) -> Extent {
        Extent {
            is_complete: self.is_complete,
            has_end: self.last == Some(EventKind::End),
            supersteps: self.progress.supersteps(),
            is_torn: self.is_torn,
        }
    }

    /// Reads the next line, if there is one that is not cut off.
    fn next_line(&mut self) -> Result<bool, ReadError> {
        self.line.clear();
        match self.lines.read_until(b'\n', &mut self.line) {
            // A compressed file has an end; one that is cut off, or being written, has none.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                if self.is_complete {
                    return Err(self.malformed(self.number + 1, CUT_OFF.to_owned()));
                }
            }
            read => drop(read.map_err(at(&self.path))?),
        }
        if self.line.is_empty() {
            return Ok(false);
        }
        // The first line names the processes; without it there is nothing to read.
        let is_first = self.number == 0;
        self.is_torn = !self.is_complete && !is_first && self.line.last() != Some(&b'\n');
        if self.is_torn {
            return Ok(false);
        }
        self.number += 1;
        Ok(true)
    }

    /// The event of the line, if it is wanted and belongs here.
    fn event(
        &mut self,
        wanted: &mut impl FnMut(EventHeader) -> bool,
    ) -> Result<Option<Event>, String> {
        let line = str::from_utf8(&self.line).map_err(|error| error.to_string())?;
        // Most lines are the next superstep as this version writes it. These are parsed once; all others, and what is
        // wrong with them, are known by their headers.
        let index = self.progress.supersteps();
        let next = EventHeader::of_superstep(index);
        let is_begun = self.last.is_some_and(|last| last != EventKind::End);
        let is_next_wanted = (is_begun && line.starts_with(SUPERSTEP)).then(|| wanted(next));
        if is_next_wanted == Some(true)
            && let Ok(superstep) = serde_json::from_str::<SuperstepLine>(line)
            && (superstep.event, superstep.index) == (next.kind, index)
        {
            let event = Event::Superstep(superstep.into());
            self.progress.follow(next)?;
            event.check_names(&self.progress)?;
            self.last = Some(next.kind);
            return Ok(Some(event));
        }
        let header = header((line, &self.directory), self.last)?;
        let is_wanted = is_next_wanted.filter(|_| header == next);
        let is_wanted = is_wanted.unwrap_or_else(|| wanted(header));
        let event = event(line, header, is_wanted, &mut self.progress)?;
        self.last = Some(header.kind);
        Ok(event)
    }

    fn malformed(&self, line: usize, message: String) -> ReadError {
        ReadError::Malformed {
            path: self.path.clone(),
            line,
            message,
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Events")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A line with a superstep that has no key but those of this version: what other keys mean, its header says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuperstepLine {
    event: EventKind,
    index: u64,
    started: Instant,
    ended: Instant,
    slowest: Rank,
    computation: Seconds,
    mean: Option<Seconds>,
    took: Option<Seconds>,
    messages: u64,
    #[serde(default)]
    notes: Notes,
}

impl From<SuperstepLine> for Superstep {
    fn from(line: SuperstepLine) -> Self {
        Self {
            index: line.index,
            started: line.started,
            ended: line.ended,
            slowest: line.slowest,
            computation: line.computation,
            mean: line.mean,
            took: line.took,
            messages: line.messages,
            notes: line.notes,
        }
    }
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
    event.check_names(progress)?;
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
            Some(SCHEMA) => {}
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

/// Checks that the Sets of the hosts are those of all hosts.
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
    if usize::try_from(counted) == Ok(hosts) {
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

/// How a line with a superstep begins.
const SUPERSTEP: &str = r#"{"event":"superstep","#;

/// Supersteps that a record can count.
const NUMBERS: u64 = u64::MAX / 2;

/// The state that decides whether the next event of a record is in order.
///
/// Events of other kinds than those that it names may be anywhere.
///
/// Between two supersteps there is at most one call. The observations of processes and Sets, and the arrivals, precede
/// it, because no Manager ends a call earlier.
#[derive(Debug, Default)]
struct Progress {
    /// The number of processes of the run.
    processes: usize,
    hosts: usize,
    sets: usize,
    /// The number of supersteps that are over.
    supersteps: u64,
    /// The superstep before which the last checkpoint began.
    saved: u64,
    /// Whether events of a call have been read, but not the call.
    is_in_call: bool,
    /// Whether the call after these supersteps has been read.
    is_called: bool,
    /// The Sets whose observations of the call have been read.
    evaluated: BTreeSet<SetId>,
}

impl Progress {
    /// The state after the beginning of `run`.
    pub(super) fn of(run: &Run) -> Self {
        Self {
            processes: run.placement.len(),
            hosts: run.hosts.len(),
            sets: run.sets.len(),
            supersteps: run.first_superstep(),
            // A run that goes on in memory is saved before its first superstep.
            saved: run.first_superstep().saturating_sub(1),
            ..Self::default()
        }
    }

    /// The number of supersteps that are over.
    pub(super) const fn supersteps(&self) -> u64 {
        self.supersteps
    }

    /// Continues by an event, if it is in order and the process and the host of its header exist.
    pub(super) fn follow(&mut self, header: EventHeader) -> Result<(), String> {
        header.rank.map_or(Ok(()), |rank| self.rank(rank))?;
        header.host.map_or(Ok(()), |host| self.host(host))?;
        let supersteps = self.supersteps;
        if header.kind == EventKind::Checkpoint {
            return self.save(header.superstep);
        }
        let (found, what) = match header.kind {
            EventKind::Superstep => (header.index, "superstep"),
            EventKind::Observed => (header.superstep, "what a process found after superstep"),
            EventKind::Evaluated => (header.superstep, "what a Set found after superstep"),
            EventKind::Call => (header.superstep, "the call after superstep"),
            EventKind::Join => (header.superstep, "a host that joins after superstep"),
            // It does not name its superstep.
            EventKind::Moved => (Some(supersteps), "a move after superstep"),
            EventKind::End => (header.supersteps, "the end of the run after superstep"),
            _ => return Ok(()),
        };
        if found != Some(supersteps) {
            let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
            return Err(format!(
                "{what} {found} comes after {supersteps} supersteps; {FAULTY}"
            ));
        }
        match header.kind {
            EventKind::Superstep | EventKind::End if self.is_in_call => {
                return Err(format!(
                    "{what} {supersteps} comes before the call that was begun; {FAULTY}"
                ));
            }
            EventKind::Superstep => {
                self.supersteps += 1;
                self.is_called = false;
                self.evaluated.clear();
            }
            EventKind::Observed
            | EventKind::Evaluated
            | EventKind::Moved
            | EventKind::Join
            | EventKind::Call
                if self.is_called =>
            {
                return Err(format!(
                    "{what} {supersteps} follows the end of that call; {FAULTY}"
                ));
            }
            EventKind::Call => {
                self.is_called = true;
                self.is_in_call = false;
            }
            // The moves before it are those to the host that joins.
            EventKind::Join => self.is_in_call = false,
            EventKind::Observed | EventKind::Moved => self.is_in_call = true,
            EventKind::Evaluated => {
                self.is_in_call = true;
                if header.set.is_some_and(|set| !self.evaluated.insert(set)) {
                    return Err(format!("{what} {supersteps} is there twice; {FAULTY}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A checkpoint is complete. It began before `superstep`, and may have taken several.
    fn save(&mut self, superstep: Option<u64>) -> Result<(), String> {
        let (supersteps, last) = (self.supersteps, self.saved);
        let superstep = superstep.unwrap_or_default();
        if superstep <= last || supersteps < superstep {
            return Err(format!(
                "the checkpoint of superstep {superstep} comes after {supersteps} supersteps and that of {last}; {FAULTY}"
            ));
        }
        self.saved = superstep;
        Ok(())
    }
}

impl Names for Progress {
    fn rank(&self, rank: Rank) -> Result<(), String> {
        within("the process of rank", rank.index(), self.processes)
    }

    fn host(&self, host: HostId) -> Result<(), String> {
        within("host", host.index(), self.hosts)
    }

    fn set(&self, set: SetId) -> Result<(), String> {
        within("Set", set.index(), self.sets)
    }

    /// [`Self::follow`] has checked that it is the next one.
    fn superstep(&self, _: u64) -> Result<(), String> {
        Ok(())
    }
}

fn within(what: &str, index: usize, number: usize) -> Result<(), String> {
    if index < number {
        return Ok(());
    }
    Err(format!(
        "it names {what} {index}; this run has {number}, counted from 0"
    ))
}

/// The fault of a record whose events are out of order.
const FAULTY: &str = "events are missing or there twice";

/// The events.
pub(super) const EVENTS: &str = "events.jsonl";
/// The events, compressed.
pub(super) const EVENTS_COMPRESSED: &str = "events.jsonl.gz";
/// What each process did in each superstep, if the run is traced.
pub(super) const TRACE: &str = "trace.bin";
/// The folder with what processes wrote while they ran in a simulation.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// The index of the files that processes have left, if they have, as JSON and as a table.
pub const FILES: [&str; 2] = ["files.json", "files.csv"];
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
    let file = BufReader::with_capacity(BUFFER, File::open(events)?);
    Ok(if events.ends_with(EVENTS_COMPRESSED) {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 16;

/// Whom to ask about a record that this program does not read: the build that wrote it, if the description says it.
#[must_use]
pub fn remedy(directory: &Path) -> String {
    let text = description(directory).and_then(|path| fs::read_to_string(path).ok());
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
