//! The files that an experiment names.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::fault::Fault;
use crate::input::nearest_file;
use crate::tree::Node;

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
