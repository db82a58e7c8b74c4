//! The authority of a cluster, as commands find it.

use std::io;
use std::path::Path;

use experiments::Failure;
use protocol::identity::Authority;
use protocol::identity::files::{FileError, read_authority};

/// The authority in `folder`, which is the one that was `given` or the default.
///
/// # Errors
///
/// If there is none, which one command changes, or its files are at fault.
pub(super) fn authority(folder: &Path, given: Option<&Path>) -> Result<Authority, Failure> {
    read_authority(folder).map_err(|error| match &error {
        FileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let option = option(given);
            Failure::Input(format!(
                "{error}; `{{bin}} cert init --cluster NAME{option}` makes an authority"
            ))
        }
        _ => fault(error),
    })
}

/// The option that names `folder`, if it was given; to go on with.
pub(super) fn option(dir: Option<&Path>) -> String {
    dir.map_or_else(String::new, |folder| format!(" --dir {}", folder.display()))
}

/// Files that are in the way or cannot be written are errors of the run, not of the input.
pub(crate) fn fault(error: FileError) -> Failure {
    match error {
        FileError::Exists { .. } | FileError::Write { .. } => Failure::run(error),
        FileError::Read { .. }
        | FileError::TooLong { .. }
        | FileError::Exposed { .. }
        | FileError::Content { .. } => Failure::input(error),
    }
}
