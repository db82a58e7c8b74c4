//! Running the example in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the example's experiment and its platform.
pub(crate) fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    for name in ["life.toml", "cluster.toml"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs::copy(from, folder.path().join(name)).unwrap();
    }
    folder
}

/// The output of the example, run in `folder`.
pub(crate) fn life(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_life"));
    command.current_dir(folder).env_clear().args(arguments);
    command.output().unwrap()
}

/// What the example prints in `folder`, where it has to succeed.
#[track_caller]
pub(crate) fn stdout(folder: &Path, arguments: &[&str]) -> String {
    let output = life(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}
