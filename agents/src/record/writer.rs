//! Writing a record.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Event;

/// A record being written.
///
/// Dropped without [`Writer::finish`], it leaves a directory without `run.json`: no complete record.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    events: BufWriter<File>,
    /// Whether the last event is the run's end.
    is_over: bool,
    /// Whether an event was lost.
    is_torn: bool,
}

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The directory holds something already.
    #[error("{directory} is not empty; name a directory that does not exist yet, or an empty one")]
    NotEmpty {
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
    /// Begins a record in `directory`, which is made if it does not exist.
    ///
    /// # Errors
    ///
    /// If the directory is not empty or cannot be written to.
    pub fn create(directory: &Path) -> Result<Self, WriteError> {
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError::Io { path, source }
        };
        fs::create_dir_all(directory).map_err(at(directory))?;
        if fs::read_dir(directory)
            .map_err(at(directory))?
            .next()
            .is_some()
        {
            return Err(WriteError::NotEmpty {
                directory: directory.to_path_buf(),
            });
        }
        let path = directory.join("events.jsonl");
        let events = BufWriter::new(File::create_new(&path).map_err(at(&path))?);
        Ok(Self {
            directory: directory.to_path_buf(),
            events,
            is_over: false,
            is_torn: false,
        })
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        let written = serde_json::to_writer(&mut self.events, event)
            .map_err(io::Error::from)
            .and_then(|()| self.events.write_all(b"\n"));
        self.is_over = matches!(event, Event::End(_));
        self.is_torn |= written.is_err();
        written.map_err(|source| self.error("events.jsonl", source))
    }

    /// Hands what has been appended to the system.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let flushed = self.events.flush();
        self.is_torn |= flushed.is_err();
        flushed.map_err(|source| self.error("events.jsonl", source))
    }

    /// Completes the record with the description and the result of the run. `run.json` appears in one piece, after
    /// everything else is on disk.
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
        self.events
            .flush()
            .and_then(|()| self.events.get_ref().sync_all())
            .map_err(|source| self.error("events.jsonl", source))?;
        let write = |path: &Path| {
            let mut file = File::create_new(path)?;
            serde_json::to_writer_pretty(&mut file, manifest)?;
            file.write_all(b"\n")?;
            file.sync_all()
        };
        let partial = self.directory.join("run.json.partial");
        write(&partial).map_err(|source| self.error("run.json.partial", source))?;
        fs::rename(&partial, self.directory.join("run.json"))
            .and_then(|()| sync_directory(&self.directory))
            .map_err(|source| self.error("run.json", source))
    }

    fn error(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.directory.join(name),
            source,
        }
    }
}

/// Has the names in a directory reach the disk, where directories can be opened for that.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
