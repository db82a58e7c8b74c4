//! Where authorities and certificates are kept.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};

use experiments::Failure;

/// `given`, else the default: `migbsp` in the user's folder for configuration, which on Unix is
/// `$XDG_CONFIG_HOME` or `~/.config`.
///
/// # Errors
///
/// If none was given and the user has no home.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    given.map(Path::to_path_buf).map_or_else(
        || {
            let strategy = choose_base_strategy()
                .map_err(|error| Failure::Usage(format!("{error}: name a folder with --dir")))?;
            Ok(strategy.config_dir().join("migbsp"))
        },
        Ok,
    )
}

/// The files with certificates in `folder`, those that end in .pem, in the order of their names.
///
/// # Errors
///
/// If the folder cannot be read.
pub(crate) fn certificates(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unread = |error| Failure::Input(format!("{}: cannot be read: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        if file.extension().is_some_and(|ending| ending == "pem") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Makes `folder` if there is none, for its owner alone: keys will be in it.
///
/// # Errors
///
/// If the operating system refuses.
pub(super) fn make(folder: &Path) -> Result<(), Failure> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| Failure::Run(format!("{}: cannot be made: {error}", folder.display())))
}
