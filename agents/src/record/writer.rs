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
        })
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        serde_json::to_writer(&mut self.events, event)
            .map_err(io::Error::from)
            .and_then(|()| self.events.write_all(b"\n"))
            .map_err(|source| self.error("events.jsonl", source))
    }

    /// Completes the record with what the run was and what came of it. `run.json` appears in one
    /// piece, and after everything else is on disk.
    ///
    /// # Errors
    ///
    /// If the disk refuses it.
    pub fn finish(mut self, manifest: &impl Serialize) -> Result<(), WriteError> {
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
            .and_then(|()| File::open(&self.directory)?.sync_all())
            .map_err(|source| self.error("run.json", source))
    }

    fn error(&self, name: &str, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.directory.join(name),
            source,
        }
    }
}
