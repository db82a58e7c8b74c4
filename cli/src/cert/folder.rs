//! Where authorities and certificates are kept.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};

use crate::failure::Failure;

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
