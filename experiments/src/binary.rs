//! The digest of the binary that this process runs.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::OnceLock;

use protocol::Build;
use sha2::{Digest, Sha256};

/// The SHA-256 of the binary that this process runs. It is computed once.
///
/// # Errors
///
/// If the binary cannot be read.
pub(crate) fn digest() -> Result<[u8; Build::DIGEST_LEN], String> {
    static DIGEST: OnceLock<Result<[u8; Build::DIGEST_LEN], String>> = OnceLock::new();
    let computed = DIGEST.get_or_init(|| {
        let digest = path().and_then(|path| digest_of(File::open(path)?));
        digest.map_err(|error| format!("the binary of this process cannot be read: {error}"))
    });
    computed.clone()
}

/// The file of the binary. On Linux it stays the running one, even if another has replaced it in its folder.
fn path() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        env::current_exe()
    }
}

fn digest_of(mut binary: impl Read) -> io::Result<[u8; Build::DIGEST_LEN]> {
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 18];
    loop {
        match binary.read(&mut part)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&part[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_digest_is_that_of_the_file() {
        let file = fs::read(env::current_exe().unwrap()).unwrap();
        let expected: [u8; Build::DIGEST_LEN] = Sha256::digest(&file).into();
        assert_eq!(digest(), Ok(expected));
    }
}
