//! Writing a record.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde::Serialize;

use crate::Event;
use crate::reader::{
    COMPLETE, EVENTS, EVENTS_COMPRESSED, FILES, PARTIAL, SNAPSHOTS, TRACE, is_complete,
};
use crate::trace::TraceWriter;

/// A record being written.
///
/// Dropped without [`Writer::finish`], it leaves a directory without `run.json`: the record of a run that did not end.
/// The file of the events is locked meanwhile, so that two runs do not write the same record.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    /// The directory of the record that was here, of a run that did not end.
    set_aside: Option<PathBuf>,
    events: Events,
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

/// How a record is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether a complete record is replaced.
    pub replaces_complete: bool,
    /// Whether the events are compressed.
    pub compresses: bool,
}

impl Writer {
    /// Begins a record in `directory`, which is made if it does not exist. The record of a run that did not end is set
    /// aside: a directory beside this one gets it, with the first number after its name that is free. `description` is
    /// what is known of the run before it ends.
    ///
    /// # Errors
    ///
    /// If the directory holds a complete record that is not to be replaced, another run writes to it, or it cannot be
    /// written to.
    pub fn create(
        directory: &Path,
        description: &impl Serialize,
        options: WriteOptions,
    ) -> Result<Self, WriteError> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError::Io { path, source }
        };
        fs::create_dir_all(directory).map_err(at(directory))?;
        // Held until the new events are locked.
        let _old = [EVENTS, EVENTS_COMPRESSED].map(|name| lock(directory, name, false));
        let _old = _old.into_iter().collect::<Result<Vec<_>, _>>()?;
        // Asked under the lock: the run that held it before may have completed its record.
        let mut set_aside = None;
        if !is_complete(directory) {
            set_aside = set_record_aside(directory).map_err(at(directory))?;
        } else if !options.replaces_complete {
            return Err(WriteError::Complete {
                directory: directory.to_path_buf(),
            });
        }
        // Old events must not follow a new description, nor a complete description no events.
        let [index, table] = FILES;
        for name in [
            COMPLETE,
            PARTIAL,
            TRACE,
            index,
            table,
            EVENTS,
            EVENTS_COMPRESSED,
        ] {
            let path = directory.join(name);
            remove(&path).map_err(at(&path))?;
        }
        let path = directory.join(SNAPSHOTS);
        remove_folder(&path).map_err(at(&path))?;
        let name = if options.compresses {
            EVENTS_COMPRESSED
        } else {
            EVENTS
        };
        let Some(events) = lock(directory, name, true)? else {
            unreachable!("a file that is made is there")
        };
        let path = directory.join(PARTIAL);
        write_manifest(&path, description).map_err(at(&path))?;
        Ok(Self {
            directory: directory.to_path_buf(),
            set_aside,
            events: Events::new(events, options.compresses),
            processes: 0,
            trace: None,
            is_over: false,
            is_torn: false,
        })
    }

    /// The directory of the record that was here, of a run that did not end.
    #[must_use]
    pub fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
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
        written.map_err(|source| self.error(self.events.name(), source))
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
        flushed.map_err(|source| self.error(self.events.name(), source))?;
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
        self.sync()?;
        self.put(COMPLETE, manifest)?;
        remove(&self.directory.join(PARTIAL))
            .and_then(|()| sync_directory(&self.directory))
            .map_err(|source| self.error(COMPLETE, source))
    }

    /// Adds a file to the record, which appears in one piece. Its name is a path from the folder of the record, whose folders are
    /// made if they do not exist.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn add_file(&mut self, name: &str, contents: &[u8]) -> Result<(), WriteError> {
        let path = self.directory.join(name);
        let new = self.directory.join(format!("{name}.new"));
        let folder = path.parent().unwrap_or(&self.directory);
        let created = fs::create_dir_all(folder).and_then(|()| File::create(&new));
        let written = created.and_then(|mut file| {
            file.write_all(contents)?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|source| self.error(name, source))
    }

    /// Leaves the record of a run that has failed, with a `description` that says why. It has what was appended.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn fail(mut self, description: &impl Serialize) -> Result<(), WriteError> {
        // The reason is written even if events are lost.
        let synced = self.sync();
        self.put(PARTIAL, description)?;
        synced
    }

    /// Brings what has been appended to the disk. Nothing more is appended.
    fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        if let Some(trace) = &mut self.trace {
            let synced = trace.output().get_ref().sync_all();
            synced.map_err(|source| self.error(TRACE, source))?;
        }
        let synced = self.events.finish();
        synced.map_err(|source| self.error(self.events.name(), source))
    }

    /// Writes a description of the run, which appears in one piece as the file `name`.
    fn put(&self, name: &str, manifest: &impl Serialize) -> Result<(), WriteError> {
        let new = self.directory.join("run.json.new");
        write_manifest(&new, manifest).map_err(|source| self.error("run.json.new", source))?;
        fs::rename(&new, self.directory.join(name)).map_err(|source| self.error(name, source))
    }

    fn error(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.directory.join(name),
            source,
        }
    }
}

/// The events being written.
#[derive(Debug)]
enum Events {
    Text(BufWriter<File>),
    Compressed(BufWriter<GzEncoder<File>>),
}

impl Events {
    fn new(file: File, compresses: bool) -> Self {
        if !compresses {
            return Self::Text(BufWriter::new(file));
        }
        // Without a date and the name of a system: equal events are equal files.
        let builder = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
        let encoder = builder.write(file, Compression::fast());
        Self::Compressed(BufWriter::new(encoder))
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => EVENTS,
            Self::Compressed(_) => EVENTS_COMPRESSED,
        }
    }

    /// Ends them, on the disk.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Text(file) => {
                file.flush()?;
                file.get_ref().sync_all()
            }
            Self::Compressed(encoder) => {
                encoder.flush()?;
                encoder.get_mut().try_finish()?;
                encoder.get_ref().get_ref().sync_all()
            }
        }
    }
}

impl Write for Events {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Text(file) => file.write(bytes),
            Self::Compressed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Text(file) => file.flush(),
            Self::Compressed(encoder) => encoder.flush(),
        }
    }
}

/// The file `name` in `directory`, locked; a new one if it `is_new`. `None` if it is not there.
fn lock(directory: &Path, name: &str, is_new: bool) -> Result<Option<File>, WriteError> {
    let path = directory.join(name);
    let mut options = OpenOptions::new();
    let file = match options.write(true).create_new(is_new).open(&path) {
        Ok(file) => file,
        Err(error) if !is_new && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if is_new && error.kind() == io::ErrorKind::AlreadyExists => {
            let directory = directory.to_path_buf();
            return Err(WriteError::InUse { directory });
        }
        Err(source) => return Err(WriteError::Io { path, source }),
    };
    // Some file systems have no locks.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        let directory = directory.to_path_buf();
        return Err(WriteError::InUse { directory });
    }
    Ok(Some(file))
}

/// Moves the record in `directory` to one beside it, unless it has no event. Returns which.
///
/// # Errors
///
/// If the system refuses it.
pub fn set_record_aside(directory: &Path) -> io::Result<Option<PathBuf>> {
    let has_event = |name: &&str| {
        let events = directory.join(name).metadata();
        events.is_ok_and(|events| 0 < events.len())
    };
    let Some(events) = [EVENTS, EVENTS_COMPRESSED].into_iter().find(has_event) else {
        return Ok(None);
    };
    let aside = first_free(directory)?;
    // Without its events, which move last, it is none.
    let [index, table] = FILES;
    for name in [COMPLETE, PARTIAL, TRACE, index, table, SNAPSHOTS, events] {
        let moved = fs::rename(directory.join(name), aside.join(name));
        moved.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound if name != events => Ok(()),
            _ => Err(error),
        })?;
    }
    Ok(Some(aside))
}

/// A new directory beside `directory`, with a number after its name.
fn first_free(directory: &Path) -> io::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        number += 1;
        let aside = numbered(directory, number);
        match fs::create_dir(&aside) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The directory of an attempt before that in `directory`.
fn numbered(directory: &Path, number: u32) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Removes a file if it is there.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Removes a folder with all that is in it, if it is there.
fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|error| match error.kind() {
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

/// What the head of a compressed file says of the system that made it.
const UNKNOWN_SYSTEM: u8 = 255;
