//! What the checkpoint store asks of a file system.
//!
//! # Files on the disks of this machine
//!
//! Nothing below the folder is reached through a link, and only regular files are read: a folder that nodes and clients
//! share may have been prepared by others. Names are looked up in folders that are open, one part at a time.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fsync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

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

/// A folder of this machine.
#[derive(Debug)]
pub struct DiskFiles {
    /// A folder that is opened as it is named.
    base: PathBuf,
    /// The way from there to the folder: names of folders, none of which may be a link.
    below: Vec<String>,
    /// The files that were begun.
    begun: BTreeMap<String, File>,
}

impl DiskFiles {
    /// The folder `root`, which need not exist. It is opened as it is named, through links as well.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            base: root.to_path_buf(),
            below: Vec::new(),
            begun: BTreeMap::new(),
        }
    }

    /// The folder `path` in `allowed`, or `allowed` itself; no part of the way from there is a link. `None`: it is
    /// elsewhere, or its name is not UTF-8.
    #[must_use]
    pub fn below(allowed: &Path, path: &Path) -> Option<Self> {
        let mut below = Vec::new();
        for part in path.strip_prefix(allowed).ok()?.components() {
            match part {
                Component::Normal(name) => below.push(name.to_str()?.to_owned()),
                _ => return None,
            }
        }
        Some(Self {
            base: allowed.to_path_buf(),
            below,
            begun: BTreeMap::new(),
        })
    }

    /// The names from the base to `path`.
    fn way<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a str> {
        let below = self.below.iter().map(String::as_str);
        below.chain(path.split('/').filter(|part| !part.is_empty()))
    }

    /// The folder `path`, open.
    fn open_dir(&self, path: &str) -> io::Result<OwnedFd> {
        let base = match self.base.as_os_str().is_empty() {
            true => Path::new("."),
            false => &self.base,
        };
        let folder = openat(CWD, base, FOLDER, Mode::empty())?;
        self.way(path).try_fold(folder, |folder, name| {
            let opened = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            opened.map_err(|error| unfollowed(name, error))
        })
    }

    /// The folder of a file, open, and the name of the file.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok((self.open_dir(folder)?, name))
    }
}

impl Files for DiskFiles {
    fn create_dir(&mut self, path: &str) -> io::Result<()> {
        if self.open_dir(path).is_ok() {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(FOLDER_MODE.bits());
        builder.create(&self.base)?;
        let parent = self.base.parent();
        let parent = parent.filter(|parent| *parent != Path::new(""));
        File::open(parent.unwrap_or_else(|| Path::new(".")))?.sync_all()?;
        let mut folder = openat(CWD, &self.base, FOLDER, Mode::empty())?;
        for name in self.way(path) {
            match mkdirat(&folder, name, FOLDER_MODE) {
                Ok(()) => fsync(&folder)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let opened = openat(&folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            folder = opened.map_err(|error| unfollowed(name, error))?;
        }
        Ok(())
    }

    fn create(&mut self, path: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        match unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        // A name that has appeared since is refused, a link as well.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&folder, name, flags | OFlags::CLOEXEC, FILE_MODE)?;
        self.begun.insert(path.to_owned(), file.into());
        Ok(())
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.begun.get_mut(path);
        file.ok_or(io::ErrorKind::NotFound)?.write_all(bytes)
    }

    fn sync(&mut self, path: &str) -> io::Result<()> {
        let file = self.begun.remove(path);
        file.ok_or(io::ErrorKind::NotFound)?.sync_all()
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let ((old, from), (new, to)) = (self.parent(from)?, self.parent(to)?);
        Ok(renameat(&old, from, &new, to)?)
    }

    fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        Ok(fsync(self.open_dir(path)?)?)
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        self.begun.remove(path);
        let (folder, name) = self.parent(path)?;
        Ok(unlinkat(&folder, name, AtFlags::empty())?)
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        Ok(unlinkat(&folder, name, AtFlags::REMOVEDIR)?)
    }

    fn list(&mut self, path: &str) -> io::Result<Vec<Entry>> {
        let folder = self.open_dir(path)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if [&b"."[..], b".."].contains(&name.to_bytes()) {
                continue;
            }
            // Not all file systems say it in the list.
            let kind = match entry.file_type() {
                FileType::Unknown => kind_of(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?),
                kind => kind,
            };
            entries.push(Entry {
                name: name.to_string_lossy().into_owned(),
                is_dir: kind == FileType::Directory,
            });
        }
        entries.sort();
        Ok(entries)
    }

    fn len(&mut self, path: &str) -> io::Result<u64> {
        let (folder, name) = self.parent(path)?;
        let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if kind_of(&found) != FileType::RegularFile {
            return Err(no_file());
        }
        u64::try_from(found.st_size).map_err(io::Error::other)
    }

    fn read(&mut self, path: &str) -> io::Result<Vec<u8>> {
        let (folder, name) = self.parent(path)?;
        // Without blocking: it may be a pipe by now.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags, Mode::empty());
        let file = File::from(file.map_err(|error| unfollowed(name, error))?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(no_file());
        }
        let length = found.len();
        let capacity = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let mut bytes = Vec::new();
        // A length that memory cannot hold is an error, and does not abort.
        bytes
            .try_reserve_exact(capacity)
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn locate(&self, path: &str) -> PathBuf {
        let mut located = self.base.clone();
        located.extend(self.way(path));
        located
    }
}

#[expect(
    clippy::useless_conversion,
    reason = "modes have other types on other systems"
)]
fn kind_of(found: &rustix::fs::Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode.into())
}

/// What the system says about a link that it does not follow, in words.
fn unfollowed(name: &str, error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR | Errno::MLINK => io::Error::other(format!(
            "`{name}` is a link, or of another kind than expected: links are not followed"
        )),
        error => error.into(),
    }
}

fn no_file() -> io::Error {
    io::Error::other("it is no regular file: links, pipes and devices are not read")
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
const FOLDER_MODE: Mode = Mode::RWXU;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    #[test]
    fn files_and_folders_are_for_this_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = DiskFiles::new(&folder.path().join("a/b"));
        files.create_dir("").unwrap();
        files.create_dir("c").unwrap();
        files.create_dir("c").unwrap();
        files.create("c/d.new").unwrap();
        files.write("c/d.new", b"12").unwrap();
        files.write("c/d.new", b"3").unwrap();
        files.sync("c/d.new").unwrap();
        files.rename("c/d.new", "c/d").unwrap();
        files.sync_dir("c").unwrap();
        assert_eq!(files.read("c/d").unwrap(), b"123");
        assert_eq!(files.len("c/d").unwrap(), 3);
        for (path, mode) in [("", 0o40700), ("c", 0o40700), ("c/d", 0o100_600)] {
            let metadata = fs::metadata(files.locate(path)).unwrap();
            assert_eq!(metadata.permissions().mode(), mode, "{path}");
        }
        let entry = Entry {
            name: "c".to_owned(),
            is_dir: true,
        };
        assert_eq!(files.list("").unwrap(), [entry]);
        assert!(files.write("c/d", b"4").is_err());
        files.remove("c/d").unwrap();
        files.remove_dir("c").unwrap();
        assert_eq!(files.list("").unwrap(), []);
        assert_eq!(
            files.read("c/d").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
    #[test]
    fn links_and_pipes_are_neither_followed_nor_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let victim = path.join("victim");
        fs::write(&victim, "kept").unwrap();
        fs::create_dir_all(path.join("allowed/job")).unwrap();
        let job = path.join("allowed/job");
        symlink(&victim, job.join("check.0.new")).unwrap();
        symlink(&victim, job.join("job.json")).unwrap();
        symlink(path, path.join("allowed/out")).unwrap();
        symlink(path, path.join("outer")).unwrap();
        let made = Command::new("mkfifo").arg(job.join("pipe")).status();
        assert!(made.unwrap().success());
        let mut files = DiskFiles::below(&path.join("allowed"), &path.join("allowed")).unwrap();
        files.create("job/check.0.new").unwrap();
        files.write("job/check.0.new", b"ours").unwrap();
        files.sync("job/check.0.new").unwrap();
        assert_eq!(files.read("job/check.0.new").unwrap(), b"ours");
        for name in ["job/job.json", "job/pipe", "/dev/zero", "out/victim"] {
            for error in [files.len(name).err(), files.read(name).err()] {
                let error = error.expect(name).to_string();
                let is_ours = error.contains("links are not followed")
                    || error.contains("are not read")
                    || name == "/dev/zero";
                assert!(is_ours, "{name}: {error}");
            }
        }
        for name in ["out/new", "out"] {
            assert!(files.create(name).is_err() || name == "out", "{name}");
            assert!(files.create_dir(&format!("{name}/a")).is_err(), "{name}");
        }
        let listed = files.list("job").unwrap();
        assert!(listed.iter().all(|entry| !entry.is_dir), "{listed:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        // The base may be a link, what is below it not.
        assert!(DiskFiles::new(&path.join("outer")).read("victim").is_ok());
        let mut linked = DiskFiles::below(path, &path.join("outer/allowed")).unwrap();
        assert!(linked.list("").is_err());
        for elsewhere in ["/", "/etc", "allowed"] {
            assert!(DiskFiles::below(path, Path::new(elsewhere)).is_none());
        }
        assert!(DiskFiles::below(path, &path.join("a/../../b")).is_none());
    }
}
