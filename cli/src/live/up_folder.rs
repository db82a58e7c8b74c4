//! The folder in which `up` leaves what other commands need to use its nodes.

use std::env;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use experiments::Failure;

/// A folder of the temporary ones, with a lock that ends with this process however it ends.
#[derive(Debug)]
pub(crate) struct UpFolder {
    path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl UpFolder {
    /// Makes it, for this user alone.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        let made = || -> io::Result<File> {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            let lock = File::create_new(path.join(LOCK))?;
            lock.lock()?;
            Ok(lock)
        };
        match made() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(error) => Err(problem(&path, &error)),
        }
    }

    /// Its name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it and its files.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn remove(self) -> Result<(), Failure> {
        fs::remove_dir_all(&self.path).map_err(|error| problem(&self.path, &error))
    }
}

/// Removes the folders that processes of this user left when they were killed.
pub(crate) fn remove_stale() {
    remove_stale_in(&env::temp_dir(), AGE_MIN);
}

/// The same in `parent`, if the folders have not changed for `age`: a new one is not locked yet.
fn remove_stale_in(parent: &Path, age: Duration) {
    let Ok(own) = tempfile::tempfile_in(parent).and_then(|file| file.metadata()) else {
        return;
    };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let is_named = number.is_some_and(|number| number.parse::<u32>().is_ok());
        let path = entry.path();
        let is_old = |data: &Metadata| {
            let changed = data.modified().ok();
            changed.is_some_and(|time| time.elapsed().is_ok_and(|passed| age <= passed))
        };
        let data = path.symlink_metadata();
        let is_ours =
            data.is_ok_and(|data| data.is_dir() && is_owner_equal(&data, &own) && is_old(&data));
        if is_named
            && is_ours
            && !is_locked(&path.join(LOCK))
            && let Err(error) = fs::remove_dir_all(&path)
        {
            tracing::warn!(folder = %path.display(), "cannot be removed: {error}");
        }
    }
}

/// Whether a process holds the lock of this file.
fn is_locked(file: &Path) -> bool {
    let file = File::open(file);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(unix)]
fn is_owner_equal(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn is_owner_equal(_: &Metadata, _: &Metadata) -> bool {
    true
}

fn problem(path: &Path, error: &io::Error) -> Failure {
    Failure::run(format!("{}: {error}", path.display()))
}

/// The name of such a folder, before the number of its process.
const PREFIX: &str = "migbsp-up-";
/// The file in it that is locked.
const LOCK: &str = "in-use";
/// Between the making of a folder and its lock less time passes.
const AGE_MIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_whose_process_is_gone_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("client.key"), "secret").unwrap();
            folder
        };
        let stale = ["migbsp-up-1", "migbsp-up-4294967295"].map(folder);
        let [lost, used] = ["migbsp-up-2", "migbsp-up-3"].map(folder);
        let others = ["migbsp-up-", "migbsp-up-x", "migbsp-up-1.old", "up-1"].map(folder);
        // A lock that is not held is none.
        fs::write(lost.join(LOCK), "").unwrap();
        let lock = File::create_new(used.join(LOCK)).unwrap();
        lock.lock().unwrap();
        fs::write(parent.path().join("migbsp-up-5"), "a file").unwrap();
        remove_stale_in(parent.path(), Duration::from_secs(3600));
        assert!(stale.iter().all(|folder| folder.exists()));
        remove_stale_in(parent.path(), Duration::ZERO);
        assert!(!stale.iter().any(|folder| folder.exists()));
        assert!(!lost.exists());
        assert!(used.exists() && others.iter().all(|folder| folder.exists()));
        assert!(parent.path().join("migbsp-up-5").exists());
        drop(lock);
        remove_stale_in(parent.path(), Duration::ZERO);
        assert!(!used.exists());
    }
}
