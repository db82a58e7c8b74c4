//! Files on the disks of this machine.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::files::{Entry, Files};

/// A folder of this machine.
#[derive(Debug)]
pub struct DiskFiles {
    root: PathBuf,
    /// The files that were begun.
    begun: BTreeMap<String, File>,
}

impl DiskFiles {
    /// The folder `root`, which need not exist.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            begun: BTreeMap::new(),
        }
    }
}

impl Files for DiskFiles {
    fn create_dir(&mut self, path: &str) -> io::Result<()> {
        let path = self.locate(path);
        if path.is_dir() {
            return Ok(());
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        sync_dir(parent.unwrap_or_else(|| Path::new(".")))
    }

    fn create(&mut self, path: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.locate(path))?;
        self.begun.insert(path.to_owned(), file);
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
        fs::rename(self.locate(from), self.locate(to))
    }

    fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        sync_dir(&self.locate(path))
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        self.begun.remove(path);
        fs::remove_file(self.locate(path))
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.locate(path))
    }

    fn list(&mut self, path: &str) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.locate(path))? {
            let entry = entry?;
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_dir: entry.file_type()?.is_dir(),
            });
        }
        entries.sort();
        Ok(entries)
    }

    fn len(&mut self, path: &str) -> io::Result<u64> {
        fs::metadata(self.locate(path)).map(|metadata| metadata.len())
    }

    fn read(&mut self, path: &str) -> io::Result<Vec<u8>> {
        let file = File::open(self.locate(path))?;
        let length = file.metadata()?.len();
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
        if path.is_empty() {
            self.root.clone()
        } else {
            self.root.join(path)
        }
    }
}

/// Has the names in a folder reach the disk, where folders can be opened for that.
fn sync_dir(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
}
