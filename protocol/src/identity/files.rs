//! Identities on disk: `<stem>.pem` holds the certificates, `<stem>.key` the private key, readable by its owner only (a key of
//! root by its group, too), and `authority.crl` the list of revocations. No file is overwritten except that list.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::identity::{Authority, Identity, ListedCertificate, Name, Pem, PemError, Revocations};

/// Why files could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Reading failed.
    #[error("reading {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Writing failed.
    #[error("writing {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no certificate of this name.
    #[error("{}: there is none of {name}: {}", path.display(), what_is_there(others))]
    Missing {
        /// The file.
        path: PathBuf,
        /// The name.
        name: Name,
        /// The names that have a certificate in the same folder.
        others: Vec<String>,
    },
    /// The file exists already.
    #[error("{} exists: remove it, or write elsewhere", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file that is too long.
    #[error("{}: {found} bytes, expected at most {FILE_MAX}", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: u64,
    },
    /// A key that other users can read.
    #[error("{}: other users can read this key (mode {mode:03o}): chmod 600 it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Invalid contents.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The error in the contents.
        source: PemError,
    },
}

/// What a folder has, as a part of an error.
fn what_is_there(names: &[String]) -> String {
    if names.is_empty() {
        "its folder has no certificate; `cert issue` makes one".to_owned()
    } else {
        format!("its folder has certificates of {}", names.join(", "))
    }
}

/// Writes `authority` as `authority.pem` and `authority.key` into `folder`.
///
/// # Errors
///
/// If one of the files exists or cannot be written.
pub fn write_authority(folder: &Path, authority: &Authority) -> Result<(), FileError> {
    write(folder, AUTHORITY, &authority.to_pem())
}

/// Reads the authority in `folder`.
///
/// # Errors
///
/// If the files cannot be read, are not an authority, or other users can read the key.
pub fn read_authority(folder: &Path) -> Result<Authority, FileError> {
    let (path, pem) = read(folder, AUTHORITY)?;
    Authority::from_pem(&pem).map_err(|source| FileError::Content { path, source })
}

/// Writes `identity` as `<name>.pem` and `<name>.key` into `folder`.
///
/// # Errors
///
/// If one of the files exists or cannot be written.
pub fn write_identity(folder: &Path, identity: &Identity) -> Result<(), FileError> {
    let name = &identity.certificate().subject.name;
    write(folder, name.as_str(), &identity.to_pem())
}

/// Reads the identity of `name` in `folder`, with the newest list of revocations that has been read there, if there is one.
/// Its copy, `authority.crl.newest`, is kept there.
///
/// # Errors
///
/// If the files cannot be read, are not an identity, other users can read the key, or the authority did not sign the
/// list.
pub fn read_identity(folder: &Path, name: &Name) -> Result<Identity, FileError> {
    let content = |path| |source| FileError::Content { path, source };
    let identity = read_pair(folder, name)?;
    let is_signed = |list: &Revocations| identity.check_signature(list).is_ok();
    match read_newest_revocations(folder, is_signed)? {
        Some(revocations) => {
            let identity = identity.with_revocations(revocations.clone());
            let identity = identity.map_err(content(folder.join(REVOCATIONS)))?;
            // A folder that cannot be written to remembers no list; what is there stays.
            drop(keep(folder, &revocations));
            Ok(identity)
        }
        None => Ok(identity),
    }
}

/// The certificate and the key of `name` in `folder`.
fn read_pair(folder: &Path, name: &Name) -> Result<Identity, FileError> {
    let (path, pem) = match read(folder, name.as_str()) {
        Err(FileError::Read { path, source })
            if source.kind() == io::ErrorKind::NotFound && is_certificate(&path) =>
        {
            let name = name.clone();
            let others = names_in(folder);
            return Err(FileError::Missing { path, name, others });
        }
        read => read?,
    };
    let named = Identity::from_pem(&pem).and_then(|identity| {
        let found = &identity.certificate().subject.name;
        if found == name {
            return Ok(identity.in_folder(folder));
        }
        Err(PemError::Name {
            found: found.clone(),
            expected: name.clone(),
        })
    });
    named.map_err(|source| FileError::Content { path, source })
}

fn is_certificate(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "pem")
}

/// The names of the files with certificates in `folder`, but for that of the authority.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path());
    let stems = files
        .filter(|path| is_certificate(path))
        .filter_map(|path| {
            let stem = path.file_stem()?.to_str()?.to_owned();
            (stem != AUTHORITY).then_some(stem)
        });
    let mut names: Vec<String> = stems.collect();
    names.sort();
    names
}

/// Writes `revocations` as `authority.crl` into `folder`, replacing an existing list.
///
/// # Errors
///
/// If the file cannot be written, or would be too long to be read; an existing list then stays.
pub fn write_revocations(folder: &Path, revocations: &Revocations) -> Result<(), FileError> {
    let (path, new) = (folder.join(REVOCATIONS), folder.join(REVOCATIONS_NEW));
    let text = revocations.to_pem();
    let found = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if FILE_MAX < found {
        return Err(FileError::TooLong { path, found });
    }
    replace((&path, &new), &text)
}

/// Keeps a copy of `revocations` in `folder`, unless there is one: older lists have no effect there any more.
fn keep(folder: &Path, revocations: &Revocations) -> Result<(), FileError> {
    let (path, new) = (folder.join(NEWEST), folder.join(NEWEST_NEW));
    let text = revocations.to_pem();
    if read_text(&path).is_ok_and(|kept| kept == text) {
        return Ok(());
    }
    replace((&path, &new), &text)
}

/// Writes `path` whole or not at all: under the name `new` first.
fn replace((path, new): (&Path, &Path), text: &str) -> Result<(), FileError> {
    let write = |mut file: File| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, path)
    };
    let written = File::create(new).and_then(write);
    written.map_err(|source| FileError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Reads the newest list of revocations that has been read in `folder`: `authority.crl`, or the copy of a newer one for
/// which `is_signed`.
///
/// # Errors
///
/// As [`read_revocations`].
pub fn read_newest_revocations(
    folder: &Path,
    is_signed: impl Fn(&Revocations) -> bool,
) -> Result<Option<Revocations>, FileError> {
    let list = read_revocations(folder)?;
    let kept = read_text(&folder.join(NEWEST)).ok();
    let kept = kept.and_then(|kept| Revocations::from_pem(&kept).ok());
    let Some(kept) = kept.filter(is_signed) else {
        return Ok(list);
    };
    let newer = match list {
        Some(list) => match list.check_succeeds(&kept) {
            Ok(()) => return Ok(Some(list)),
            Err(error) => error.to_string(),
        },
        None => "there is no list of revocations any more".to_owned(),
    };
    let path = folder.join(REVOCATIONS).display().to_string();
    tracing::warn!(path, "took the newest list that was read here: {newer}");
    Ok(Some(kept))
}

/// Reads the list of revocations in `folder`, if there is one.
///
/// # Errors
///
/// If the file cannot be read, or is not such a list.
pub fn read_revocations(folder: &Path) -> Result<Option<Revocations>, FileError> {
    let path = folder.join(REVOCATIONS);
    match read_text(&path) {
        Ok(text) => match Revocations::from_pem(&text) {
            Ok(revocations) => Ok(Some(revocations)),
            Err(source) => Err(FileError::Content { path, source }),
        },
        Err(FileError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The list of revocations in a folder, which is read again when it changes.
#[derive(Debug)]
pub struct RevocationsFile {
    folder: PathBuf,
    /// The time and the length of the file when it was last read without an error.
    read: Option<(SystemTime, u64)>,
    /// The error of the last attempt to read it.
    problem: Option<String>,
}

impl RevocationsFile {
    /// The list in `folder`, where there may be none yet.
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            read: None,
            problem: None,
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(REVOCATIONS)
    }

    /// Keeps a copy of `revocations` beside the file, so that older lists have no effect after a restart, either.
    ///
    /// # Errors
    ///
    /// If the folder cannot be written to.
    pub fn keep(&self, revocations: &Revocations) -> Result<(), FileError> {
        keep(&self.folder, revocations)
    }

    /// The list, if the file is new or has changed since the last call.
    ///
    /// # Errors
    ///
    /// If the file is not a list of revocations, cannot be read, or is no longer there. An error is reported once, and
    /// the file is read again by the next call.
    pub fn changed(&mut self) -> Result<Option<Revocations>, FileError> {
        let stamp = fs::metadata(self.path()).and_then(|file| Ok((file.modified()?, file.len())));
        let is_known = match &stamp {
            Ok(stamp) => self.read == Some(*stamp),
            // Until there is a list, none is missing.
            Err(error) => error.kind() == io::ErrorKind::NotFound && self.read.is_none(),
        };
        if is_known {
            self.problem = None;
            return Ok(None);
        }
        let text = read_text(&self.path());
        let path = self.path();
        let read = text.and_then(|text| {
            Revocations::from_pem(&text).map_err(|source| FileError::Content { path, source })
        });
        match read {
            Ok(revocations) => {
                (self.read, self.problem) = (stamp.ok(), None);
                Ok(Some(revocations))
            }
            Err(error) => {
                let problem = Some(error.to_string());
                let is_reported = problem == self.problem;
                self.problem = problem;
                if is_reported { Ok(None) } else { Err(error) }
            }
        }
    }
}

/// The certificate and the key of a member, which are read again when they change.
#[derive(Debug)]
pub struct IdentityFiles {
    folder: PathBuf,
    name: Name,
    /// The times and lengths of the files that are in use.
    used: Option<Stamps>,
}

/// The times and lengths of the files of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps([(SystemTime, u64); 2]);

impl IdentityFiles {
    /// The files of `name` in `folder`.
    #[must_use]
    pub const fn new(folder: PathBuf, name: Name) -> Self {
        let used = None;
        Self { folder, name, used }
    }

    /// The identity in the files, if they are not those in use.
    ///
    /// # Errors
    ///
    /// As [`read_identity`]. Files that are being replaced may not belong together for a moment.
    pub fn changed(&self) -> Result<Option<(Identity, Stamps)>, FileError> {
        let (certificates, key) = paths(&self.folder, self.name.as_str());
        let stamps = Stamps([stamp(&certificates)?, stamp(&key)?]);
        if self.used == Some(stamps) {
            return Ok(None);
        }
        Ok(Some((read_pair(&self.folder, &self.name)?, stamps)))
    }

    /// The identity in the files with these stamps is in use.
    pub fn used(&mut self, stamps: Stamps) {
        self.used = Some(stamps);
    }

    /// The file of the certificate.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        paths(&self.folder, self.name.as_str()).0
    }
}

fn stamp(path: &Path) -> Result<(SystemTime, u64), FileError> {
    let stamp = fs::metadata(path).and_then(|file| Ok((file.modified()?, file.len())));
    stamp.map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Lists the certificates in the file `path`, without reading a key.
///
/// # Errors
///
/// If the file cannot be read, or holds no certificate.
pub fn list_certificates(path: &Path) -> Result<Vec<ListedCertificate>, FileError> {
    ListedCertificate::from_pem(&read_text(path)?).map_err(|source| FileError::Content {
        path: path.to_owned(),
        source,
    })
}

fn write(folder: &Path, stem: &str, pem: &Pem) -> Result<(), FileError> {
    let (certificates, key) = paths(folder, stem);
    for path in [&certificates, &key] {
        if path.exists() {
            return Err(FileError::Exists { path: path.clone() });
        }
    }
    write_new(&key, &pem.key, 0o600)?;
    let written = write_new(&certificates, &pem.certificates, 0o644);
    if written.is_err() {
        // A key without its certificate would be in the way of the next attempt.
        drop(fs::remove_file(&key));
    }
    written
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    drop(mode);
    let write = |mut file: File| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    let written = |file| {
        let written = write(file);
        if written.is_err() {
            // The disk may be full: what is there of it is in the way of the next attempt.
            drop(fs::remove_file(path));
        }
        written
    };
    options.open(path).and_then(written).map_err(|source| {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::AlreadyExists {
            FileError::Exists { path }
        } else {
            FileError::Write { path, source }
        }
    })
}

fn read(folder: &Path, stem: &str) -> Result<(PathBuf, Pem), FileError> {
    let (certificates, key) = paths(folder, stem);
    let pem = Pem {
        certificates: read_text(&certificates)?,
        key: {
            check_private(&key)?;
            read_text(&key)?
        },
    };
    Ok((certificates, pem))
}

fn read_text(path: &Path) -> Result<String, FileError> {
    let error = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    let found = fs::metadata(path).map_err(error)?.len();
    if FILE_MAX < found {
        return Err(FileError::TooLong {
            path: path.to_owned(),
            found,
        });
    }
    let text = fs::read_to_string(path).map_err(error)?;
    // A byte order mark, which editors write, is no part of the text.
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let path = path.to_owned();
    match fs::metadata(&path) {
        Ok(file) if file.permissions().mode() & exposing(file.uid()) == 0 => Ok(()),
        Ok(file) => Err(FileError::Exposed {
            mode: file.permissions().mode() & 0o777,
            path,
        }),
        Err(source) => Err(FileError::Read { path, source }),
    }
}

/// Permissions that a key with this owner must not give. The group may read keys of root, as service managers hand them out: systemd's
/// `LoadCredential` and secrets of Kubernetes.
#[cfg(unix)]
const fn exposing(owner: u32) -> u32 {
    if owner == 0 { 0o037 } else { 0o077 }
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), FileError> {
    Ok(())
}

fn paths(folder: &Path, stem: &str) -> (PathBuf, PathBuf) {
    (
        folder.join(format!("{stem}.pem")),
        folder.join(format!("{stem}.key")),
    )
}

const AUTHORITY: &str = "authority";
const REVOCATIONS: &str = "authority.crl";
/// The new list, until it is completely on disk.
const REVOCATIONS_NEW: &str = "authority.crl.new";
/// A copy of the newest list that has been read.
const NEWEST: &str = "authority.crl.newest";
const NEWEST_NEW: &str = "authority.crl.newest.new";
const FILE_MAX: u64 = 64 << 10;
