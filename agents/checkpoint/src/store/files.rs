//! What the checkpoint store asks of a file system.

use std::io;
use std::path::PathBuf;

/// A folder for files, in which the checkpoint store works.
///
/// Paths are relative to the folder, their parts separated by `/`; the empty path is the folder itself.
///
/// # Laws
///
/// * After [`sync`](Self::sync) has succeeded, the bytes of a file survive a loss of power; before, any part of them may be
///   missing or wrong.
/// * After [`sync_dir`](Self::sync_dir) has succeeded, so do the names in a folder.
/// * A name that [`rename`](Self::rename) replaces is always there: it is the old file or the new one.
pub trait Files {
    /// Makes a folder for this user alone. One that exists stays as it is.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn create_dir(&mut self, path: &str) -> io::Result<()>;

    /// Begins a file for this user alone. One that exists becomes empty.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn create(&mut self, path: &str) -> io::Result<()>;

    /// Appends to a file that was begun and not synchronised since.
    ///
    /// # Errors
    ///
    /// If the system refuses; a part may have been written.
    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Ends a file that was begun, and has its bytes reach the disk.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn sync(&mut self, path: &str) -> io::Result<()>;

    /// Gives a file another name, which may replace a file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Has the names in a folder reach the disk.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn sync_dir(&mut self, path: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn remove(&mut self, path: &str) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// If the system refuses, or it is not empty.
    fn remove_dir(&mut self, path: &str) -> io::Result<()>;

    /// The names in a folder, in order.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or the system refuses.
    fn list(&mut self, path: &str) -> io::Result<Vec<Entry>>;

    /// The length of a file.
    ///
    /// # Errors
    ///
    /// If there is no such file, or the system refuses.
    fn len(&mut self, path: &str) -> io::Result<u64>;

    /// All bytes of a file. No more is allocated than its length.
    ///
    /// # Errors
    ///
    /// If there is no such file, or the system refuses.
    fn read(&mut self, path: &str) -> io::Result<Vec<u8>>;

    /// How a path is shown in messages.
    fn locate(&self, path: &str) -> PathBuf;
}

impl<F: Files> Files for &mut F {
    fn create_dir(&mut self, path: &str) -> io::Result<()> {
        (**self).create_dir(path)
    }

    fn create(&mut self, path: &str) -> io::Result<()> {
        (**self).create(path)
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        (**self).write(path, bytes)
    }

    fn sync(&mut self, path: &str) -> io::Result<()> {
        (**self).sync(path)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        (**self).rename(from, to)
    }

    fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        (**self).sync_dir(path)
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        (**self).remove(path)
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        (**self).remove_dir(path)
    }

    fn list(&mut self, path: &str) -> io::Result<Vec<Entry>> {
        (**self).list(path)
    }

    fn len(&mut self, path: &str) -> io::Result<u64> {
        (**self).len(path)
    }

    fn read(&mut self, path: &str) -> io::Result<Vec<u8>> {
        (**self).read(path)
    }

    fn locate(&self, path: &str) -> PathBuf {
        (**self).locate(path)
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Whether it is a folder.
    pub is_dir: bool,
}
