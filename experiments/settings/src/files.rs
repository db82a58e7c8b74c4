//! Input files: those on disk, stdin as `-`, and those that an experiment names.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
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

/// The files that an experiment names, for a workload that reads some.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// Folder of the experiment's file.
    folder: &'a Path,
    /// The section whose keys name files.
    written: &'a Node,
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
        Self { folder, written }
    }

    /// Path of the file `name`, the value of `key`: relative to the experiment, or to the current folder
    /// if the name is from `--set` or the environment and only exists there.
    #[must_use]
    pub fn path(&self, key: &str, name: &str) -> PathBuf {
        let name = Path::new(name);
        let beside = self.folder.join(name);
        let origin = self.written.find(key).and_then(Node::place);
        let typed = Fault::new(origin, "", "").is_usage();
        if typed && !beside.exists() && name.exists() {
            name.to_path_buf()
        } else {
            beside
        }
    }

    /// Contents of the file `name`, the value of `key`.
    ///
    /// # Errors
    ///
    /// If it cannot be read; the message names the key and the file.
    pub fn read(&self, key: &str, name: &str) -> Result<Vec<u8>, String> {
        let path = self.path(key, name);
        fs::read(&path).map_err(|error| {
            let nearest = nearest_file(&path).filter(|_| error.kind() == io::ErrorKind::NotFound);
            let nearest = nearest.map_or_else(String::new, |nearest| {
                format!("; did you mean `{}`?", nearest.display())
            });
            format!(
                "`{key}` is {}, which cannot be read: {error}{nearest}",
                path.display()
            )
        })
    }
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
    fn names_in_stdin_are_relative_to_the_current_folder() {
        assert_eq!(folder_of(Path::new("conf/a.toml")), Path::new("conf"));
        assert_eq!(folder_of(Path::new("a.toml")), Path::new(""));
        assert_eq!(folder_of(Path::new("/dev/stdin")), Path::new(""));
        assert_eq!(name_of(Path::new("-")), "stdin");
        assert!(!is_stdin(Path::new("./-")));
    }
}
