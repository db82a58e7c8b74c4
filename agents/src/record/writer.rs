//! Writing a record.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Event;
use super::files::{COMPLETE, EVENTS, PARTIAL, TRACE, is_complete};
use super::trace::TraceWriter;

/// A record being written.
///
/// Dropped without [`Writer::finish`], it leaves a directory without `run.json`: the record of a run that did not end.
/// `events.jsonl` is locked meanwhile, so that two runs do not write the same record.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    events: BufWriter<File>,
    /// The number of processes, once the first event has named them.
    processes: usize,
    /// Present from the first process on that is traced.
    trace: Option<TraceWriter<BufWriter<File>>>,
    /// Whether the last event is the run's end.
    is_over: bool,
    /// Whether an event was lost.
    is_torn: bool,
}

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The directory holds a complete record.
    #[error(
        "{directory} holds a complete record; name another directory, or replace it with --force"
    )]
    Complete {
        /// Which directory.
        directory: PathBuf,
    },
    /// Another run writes to the directory.
    #[error("another run writes its record to {directory}; name another directory")]
    InUse {
        /// Which directory.
        directory: PathBuf,
    },
    /// There is nothing to complete.
    #[error(
        "the record in {directory} is not complete: an event was lost, or the run has not ended"
    )]
    Unended {
        /// Which directory.
        directory: PathBuf,
    },
    /// The operating system refuses.
    #[error("cannot write {path}")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Writer {
    /// Begins a record in `directory`, which is made if it does not exist. The record of a run that did not end is
    /// replaced. `description` is what is known of the run before it ends.
    ///
    /// # Errors
    ///
    /// If the directory holds a complete record, another run writes to it, or it cannot be written to.
    pub fn create(directory: &Path, description: &impl Serialize) -> Result<Self, WriteError> {
        Self::begin(directory, description, false)
    }

    /// The same, and a complete record is replaced, too.
    ///
    /// # Errors
    ///
    /// If another run writes to the directory, or it cannot be written to.
    pub fn replace(directory: &Path, description: &impl Serialize) -> Result<Self, WriteError> {
        Self::begin(directory, description, true)
    }

    fn begin(
        directory: &Path,
        description: &impl Serialize,
        replaces_complete: bool,
    ) -> Result<Self, WriteError> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError::Io { path, source }
        };
        fs::create_dir_all(directory).map_err(at(directory))?;
        let path = directory.join(EVENTS);
        let events = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(at(&path))?;
        // Some file systems have no locks.
        if let Err(TryLockError::WouldBlock) = events.try_lock() {
            return Err(WriteError::InUse {
                directory: directory.to_path_buf(),
            });
        }
        // Asked under the lock: the run that held it before may have completed its record.
        if !replaces_complete && is_complete(directory) {
            return Err(WriteError::Complete {
                directory: directory.to_path_buf(),
            });
        }
        // Old events must not follow a new description, nor a complete description no events.
        for name in [COMPLETE, PARTIAL, TRACE] {
            let path = directory.join(name);
            remove(&path).map_err(at(&path))?;
        }
        events.set_len(0).map_err(at(&path))?;
        let path = directory.join(PARTIAL);
        write_manifest(&path, description).map_err(at(&path))?;
        Ok(Self {
            directory: directory.to_path_buf(),
            events: BufWriter::new(events),
            processes: 0,
            trace: None,
            is_over: false,
            is_torn: false,
        })
    }

    /// Adds an event. What processes did in a superstep is added to the trace, when the superstep ends.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        let traced = self.trace(event);
        self.is_torn |= traced.is_err();
        traced.map_err(|source| self.error(TRACE, source))?;
        if matches!(event, Event::Traced(_)) {
            return Ok(());
        }
        let written = serde_json::to_writer(&mut self.events, event)
            .map_err(io::Error::from)
            .and_then(|()| self.events.write_all(b"\n"));
        self.is_over = matches!(event, Event::End(_));
        self.is_torn |= written.is_err();
        written.map_err(|source| self.error(EVENTS, source))
    }

    /// Adds the event to the trace, if it concerns it.
    fn trace(&mut self, event: &Event) -> io::Result<()> {
        match (event, &mut self.trace) {
            (Event::Run(run), _) => self.processes = run.placement.len(),
            (Event::Traced(traced), Some(trace)) => trace.add(*traced),
            (Event::Traced(traced), trace @ None) => {
                let file = BufWriter::new(File::create(self.directory.join(TRACE))?);
                trace
                    .insert(TraceWriter::new(file, self.processes)?)
                    .add(*traced);
            }
            (Event::Superstep(superstep), Some(trace)) => trace.end(superstep)?,
            _ => {}
        }
        Ok(())
    }

    /// Hands what has been appended to the system.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = self.events.flush();
        let traced = self.trace.as_mut();
        let traced = traced.map_or(Ok(()), |trace| trace.output().flush());
        self.is_torn |= flushed.is_err() || traced.is_err();
        flushed.map_err(|source| self.error(EVENTS, source))?;
        traced.map_err(|source| self.error(TRACE, source))
    }

    /// Completes the record with the description and the result of the run. `run.json` appears in one piece, after
    /// everything else is on disk, and takes the place of `run.json.partial`.
    ///
    /// # Errors
    ///
    /// If the last event is not the run's end, an event was lost, or the disk refuses it.
    pub fn finish(mut self, manifest: &impl Serialize) -> Result<(), WriteError> {
        if !self.is_over || self.is_torn {
            return Err(WriteError::Unended {
                directory: self.directory,
            });
        }
        self.flush()?;
        if let Some(trace) = &mut self.trace {
            let synced = trace.output().get_ref().sync_all();
            synced.map_err(|source| self.error(TRACE, source))?;
        }
        let synced = self.events.get_ref().sync_all();
        synced.map_err(|source| self.error(EVENTS, source))?;
        let new = self.directory.join("run.json.new");
        write_manifest(&new, manifest).map_err(|source| self.error("run.json.new", source))?;
        fs::rename(&new, self.directory.join(COMPLETE))
            .and_then(|()| remove(&self.directory.join(PARTIAL)))
            .and_then(|()| sync_directory(&self.directory))
            .map_err(|source| self.error(COMPLETE, source))
    }

    fn error(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.directory.join(name),
            source,
        }
    }
}

/// Removes a file if it is there.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Writes the description of a run to the disk.
fn write_manifest(path: &Path, manifest: &impl Serialize) -> io::Result<()> {
    let mut file = File::create(path)?;
    serde_json::to_writer_pretty(&mut file, manifest)?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Has the names in a directory reach the disk, where directories can be opened for that.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
