//! Files that appear complete or not at all.

use std::io;
use std::path::PathBuf;

use agents::mutant::{self, Mutant};
use bsp::HostId;

use super::files::Files;
use super::layout;

/// Why a checkpoint was not written. Those before it are not changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .file.display())]
pub struct WriteError {
    /// The file or folder.
    pub file: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// What takes the parts of a file.
pub(super) type Emit<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// Writes a file whose parts `encode` gives: under another name first, which it loses when all bytes are on the disk.
pub(super) fn write_file(
    files: &mut impl Files,
    writer: HostId,
    path: &str,
    encode: impl FnOnce(&mut Emit<'_>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let incomplete = layout::incomplete(path, writer);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let written = (|| {
        files.create(&incomplete)?;
        encode(&mut |part| files.write(&incomplete, part))?;
        if !mutant::is(Mutant::WriteUnsynced) {
            files.sync(&incomplete)?;
        }
        files.rename(&incomplete, path)?;
        files.sync_dir(folder)
    })();
    written.map_err(|source| {
        // The disk may be full. Where this fails too, the file has the name of an incomplete one.
        drop(files.remove(&incomplete));
        let file = files.locate(path);
        WriteError { file, source }
    })
}
