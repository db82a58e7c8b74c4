//! Input files: those on disk, stdin as `-`, and those that an experiment names.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::string::FromUtf8Error;
use std::sync::{Mutex, PoisonError};

use crate::decode::Fault;
use crate::tree::Node;

/// Whether `path` is stdin: `-`, or the name of stdin in the file system.
pub fn is_stdin(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// The name of the file `path` in messages.
pub fn name_of(path: &Path) -> String {
    if is_stdin(path) {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The folder that names in the file `path` are relative to: its own; the current one for stdin.
pub fn folder_of(path: &Path) -> PathBuf {
    if is_stdin(path) {
        return PathBuf::new();
    }
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The contents of the file `path`. Stdin is read once and kept, since a file may be read several times.
///
/// # Errors
///
/// If the operating system refuses.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    static STDIN: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    if !is_stdin(path) {
        return fs::read(path);
    }
    let mut kept = STDIN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = &*kept {
        return Ok(bytes.clone());
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    Ok(kept.insert(bytes).clone())
}

/// `bytes` as text. A byte order mark at its beginning, which some editors write, is no part of the text.
///
/// # Errors
///
/// If they are not UTF-8.
pub fn text(bytes: Vec<u8>) -> Result<String, FromUtf8Error> {
    let mut text = String::from_utf8(bytes)?;
    if text.starts_with(BYTE_ORDER_MARK) {
        drop(text.drain(..BYTE_ORDER_MARK.len_utf8()));
    }
    Ok(text)
}

/// The file or folder that the missing `path` may have meant: the nearest name in its folder.
pub fn nearest_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = match folder {
        None => PathBuf::new(),
        Some(folder) if folder.is_dir() => folder.to_path_buf(),
        Some(folder) => nearest_file(folder).filter(|nearest| nearest.is_dir())?,
    };
    if folder.join(name).exists() {
        return Some(folder.join(name));
    }
    let listed = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        &folder
    };
    let entries = fs::read_dir(listed).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let stem = Path::new(name).file_stem()?.to_str()?.chars().count();
    // A third of the letters may be wrong, and not all of them.
    let allowed = (stem / 3).max(1).min(stem.saturating_sub(1));
    let lower = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&lower, &known.to_lowercase());
    let (_, nearest) = names
        .map(|known| (distance(&known), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()?;
    Some(folder.join(nearest))
}

/// The input files that an experiment names, for a workload that reads some.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The folder that names are relative to.
    folder: DataFolder<'a>,
    /// The section whose keys name files.
    written: &'a Node,
}

/// The folder that relative names of input files start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFolder<'a> {
    /// That of the experiment's file, where that was read. A name that was typed, on the command line or in the environment,
    /// and is not there may be relative to the current folder.
    OfExperiment(&'a Path),
    /// The same folders, on a node: the client's paths lead to them if both share them.
    OfClient {
        /// The folder of the experiment's file, an absolute path.
        experiment: &'a Path,
        /// The current folder of the client, if names were typed.
        current: Option<&'a Path>,
    },
    /// A folder of the node itself: names are relative and stay in it.
    OfNode(&'a Path),
}

/// Where an experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// In this folder, where it was read.
    Client(&'a Path),
    /// Submitted to this node by a client, who read it in this folder: it may be here, too. `None` if the node has a folder
    /// of its own for the files of jobs.
    Node(Option<&'a Path>),
}

impl<'a> Files<'a> {
    /// Only files that are named relative to the current folder.
    #[must_use]
    pub fn here() -> Self {
        const NOTHING: &Node = &Node::empty_table();
        Self::new(Path::new(""), NOTHING)
    }

    /// The files that the keys of `written` name, in an experiment in `folder`.
    pub const fn new(folder: &'a Path, written: &'a Node) -> Self {
        Self::in_folder(DataFolder::OfExperiment(folder), written)
    }

    /// The files that the keys of `written` name, with names that are relative to `folder`.
    pub const fn in_folder(folder: DataFolder<'a>, written: &'a Node) -> Self {
        Self { folder, written }
    }

    /// Where the experiment is: for workloads that start programs beside it.
    #[must_use]
    pub const fn place(&self) -> Place<'a> {
        match self.folder {
            DataFolder::OfExperiment(folder) => Place::Client(folder),
            DataFolder::OfClient { experiment, .. } => Place::Node(Some(experiment)),
            DataFolder::OfNode(_) => Place::Node(None),
        }
    }

    /// Path of the file `name`, the value of `key`.
    #[must_use]
    pub fn path(&self, key: &str, name: &str) -> PathBuf {
        let name = Path::new(name);
        match self.folder {
            DataFolder::OfExperiment(folder) => {
                let beside = folder.join(name);
                let origin = self.written.find(key).and_then(Node::place);
                let is_typed = Fault::new(origin, "", "").is_usage();
                if is_typed && !beside.exists() && name.exists() {
                    name.to_path_buf()
                } else {
                    beside
                }
            }
            DataFolder::OfClient {
                experiment,
                current,
            } => {
                let beside = experiment.join(name);
                let other = current.map(|current| current.join(name));
                match other.filter(|other| !beside.exists() && other.exists()) {
                    Some(other) => other,
                    None => beside,
                }
            }
            DataFolder::OfNode(folder) => folder.join(name),
        }
    }

    /// Contents of the file `name`, the value of `key`.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(&self, key: &str, name: &str) -> Result<Vec<u8>, InputFileError> {
        let path = self.allowed(key, name)?;
        fs::read(&path).map_err(|error| unread(key, &path, &error))
    }

    /// The file `name`, the value of `key`, open for reading: for one of which each process takes a part.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(&self, key: &str, name: &str) -> Result<File, InputFileError> {
        let path = self.allowed(key, name)?;
        File::open(&path).map_err(|error| unread(key, &path, &error))
    }

    /// What the file `name`, the value of `key`, contains is wrong.
    pub fn invalid(
        &self,
        key: &str,
        name: &str,
        problem: impl std::fmt::Display,
    ) -> InputFileError {
        InputFileError {
            key: key.to_owned(),
            path: self.path(key, name),
            problem: problem.to_string(),
            is_unread: false,
        }
    }

    /// The path of a file that may be read.
    fn allowed(&self, key: &str, name: &str) -> Result<PathBuf, InputFileError> {
        let path = self.path(key, name);
        let DataFolder::OfNode(folder) = self.folder else {
            return Ok(path);
        };
        let mut components = Path::new(name).components();
        let is_below = components.all(|component| matches!(component, Component::Normal(_)));
        // Links lead elsewhere, too.
        let resolved = folder.canonicalize().and_then(|folder| {
            let is_in = path.canonicalize()?.starts_with(folder);
            Ok(is_in)
        });
        match (is_below, resolved) {
            (true, Ok(true)) => Ok(path),
            (true, Err(error)) => Err(unread(key, &path, &error)),
            (false, _) | (true, Ok(false)) => Err(InputFileError {
                key: key.to_owned(),
                problem: format!(
                    "is not in {}, the folder for data of this node: name a file relative to it",
                    folder.display()
                ),
                path: PathBuf::from(name),
                is_unread: false,
            }),
        }
    }
}

/// The error of a file that the operating system refuses.
fn unread(key: &str, path: &Path, error: &io::Error) -> InputFileError {
    let nearest = nearest_file(path).filter(|_| error.kind() == io::ErrorKind::NotFound);
    let nearest = nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean `{}`?", nearest.display())
    });
    InputFileError {
        key: key.to_owned(),
        path: path.to_path_buf(),
        problem: format!("cannot be read: {error}{nearest}"),
        is_unread: true,
    }
}

/// Why an input file that an experiment names cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {} {problem}", path.display())]
pub struct InputFileError {
    /// The key that names it.
    pub key: String,
    /// Its path.
    pub path: PathBuf,
    /// What is wrong with it, as "cannot be read: …".
    pub problem: String,
    /// Whether its contents are unknown: it is not there, or the operating system refuses it.
    pub is_unread: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_begins_no_text() {
        let check = |bytes: &str, expect: &str| {
            assert_eq!(text(bytes.as_bytes().to_vec()).unwrap(), expect);
        };
        check("\u{feff}a\u{feff}\n", "a\u{feff}\n");
        check("\u{feff}", "");
        check("", "");
        check(" \u{feff}a", " \u{feff}a");
        let error = text(b"\xef\xbb\xbfa\xff".to_vec()).unwrap_err();
        assert_eq!(error.utf8_error().valid_up_to(), 4);
    }

    #[test]
    fn a_missing_file_suggests_the_nearest_name_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("conf")).unwrap();
        for name in ["conf/lbm.toml", "conf/lu.toml", "a.toml"] {
            fs::write(root.join(name), "").unwrap();
        }
        let nearest = |name: &str| {
            let found = nearest_file(&root.join(name))?;
            Some(
                found
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
            )
        };
        assert_eq!(nearest("conf/lmb.toml").as_deref(), Some("conf/lbm.toml"));
        assert_eq!(nearest("conf/LBM.toml").as_deref(), Some("conf/lbm.toml"));
        assert_eq!(nearest("conf/lbm.tml").as_deref(), Some("conf/lbm.toml"));
        assert_eq!(nearest("cnf/lbm.toml").as_deref(), Some("conf/lbm.toml"));
        assert_eq!(nearest("cof").as_deref(), Some("conf"));
        assert_eq!(nearest("conf/heat.toml"), None);
        assert_eq!(nearest("absent/heat.toml"), None);
        // One letter is as near to every other one.
        assert_eq!(nearest("b.toml"), None);
    }

    #[test]
    fn names_of_input_files_lead_to_the_folder_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["experiment/a", "current/a", "current/b", "data/a", "secret"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        let written = Node::empty_table();
        let (experiment, current, data) = (
            root.join("experiment"),
            root.join("current"),
            root.join("data"),
        );
        let read = |folder, name: &str| {
            let files = Files::in_folder(folder, &written);
            let read = files.read("key", name);
            read.map(|bytes| String::from_utf8(bytes).unwrap())
                .map_err(|error| (error.to_string(), error.is_unread))
        };
        let of_client = |current| DataFolder::OfClient {
            experiment: &experiment,
            current,
        };
        let both = of_client(Some(current.as_path()));
        assert_eq!(read(both, "a"), Ok("experiment/a".to_owned()));
        assert_eq!(read(both, "b"), Ok("current/b".to_owned()));
        let (problem, is_unread) = read(of_client(None), "b").unwrap_err();
        let expected = format!("`key`: {} cannot be read: ", experiment.join("b").display());
        assert!(problem.starts_with(&expected) && is_unread, "{problem}");
        let of_node = DataFolder::OfNode(&data);
        assert_eq!(read(of_node, "a"), Ok("data/a".to_owned()));
        assert!(read(of_node, "b").unwrap_err().1);
        let secret = root.join("secret");
        for name in ["../secret", secret.to_str().unwrap(), "./../secret"] {
            let (problem, is_unread) = read(of_node, name).unwrap_err();
            assert!(problem.contains("is not in ") && !is_unread, "{problem}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, data.join("link")).unwrap();
            assert!(read(of_node, "link").unwrap_err().0.contains("is not in "));
        }
    }

    #[test]
    fn names_in_stdin_are_relative_to_the_current_folder() {
        assert_eq!(folder_of(Path::new("conf/a.toml")), Path::new("conf"));
        assert_eq!(folder_of(Path::new("a.toml")), Path::new(""));
        assert_eq!(folder_of(Path::new("/dev/stdin")), Path::new(""));
        assert_eq!(name_of(Path::new("-")), "stdin");
        assert!(!is_stdin(Path::new("./-")));
    }
}
