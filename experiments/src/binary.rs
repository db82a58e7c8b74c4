//! What tells the binary that this process runs from those of other builds.
//!
//! Linkers write a *build ID* into programs: a digest of all that they have linked, by which debuggers find the symbols
//! of a binary, and which `readelf -n` shows. It is in the first pages of the file, so it is there at once. A binary
//! without one is digested whole, which takes as long as a short simulation.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::sync::OnceLock;

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, ReadCache, elf};
use protocol::Build;
use sha2::{Digest, Sha256};

/// The SHA-256 of the build ID of the binary that this process runs, or of the whole binary if it has none. It is computed
/// once.
///
/// # Errors
///
/// If the binary cannot be read.
pub(crate) fn binary_digest() -> Result<[u8; Build::DIGEST_LEN], String> {
    static DIGEST: OnceLock<Result<[u8; Build::DIGEST_LEN], String>> = OnceLock::new();
    let computed = DIGEST.get_or_init(|| {
        let digest = binary().and_then(|path| digest_of(File::open(path)?));
        digest.map_err(|error| format!("the binary of this process cannot be read: {error}"))
    });
    computed.clone()
}

/// The file of the binary. On Linux it stays the running one, even if another has replaced it in its folder.
fn binary() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        env::current_exe()
    }
}

fn digest_of(mut binary: impl Read + Seek) -> io::Result<[u8; Build::DIGEST_LEN]> {
    if let Some(id) = build_id(&mut binary) {
        return Ok(Sha256::digest(id).into());
    }
    binary.rewind()?;
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 18];
    loop {
        match binary.read(&mut part)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&part[..count]),
        }
    }
}

/// The build ID of a binary: the note `NT_GNU_BUILD_ID` of a 64-bit ELF file. Files of other kinds have none, nor have damaged
/// ones. Only what says so is read, not the tables of symbols.
fn build_id(binary: &mut (impl Read + Seek)) -> Option<Vec<u8>> {
    let cache = ReadCache::new(binary);
    let header = elf::FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, &cache).ok()?.iter();
    for mut notes in segments.filter_map(|segment| segment.notes(endian, &cache).ok()?) {
        while let Ok(Some(note)) = notes.next() {
            let is_id = note.name() == elf::ELF_NOTE_GNU
                && note.n_type(endian) == elf::NT_GNU_BUILD_ID
                // A person may have set a shorter one, which does not tell builds apart.
                && ID_LEN_MIN <= note.desc().len();
            if is_id {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

/// Linkers write 8 to 20 bytes.
const ID_LEN_MIN: usize = 8;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;

    /// A note, padded to four bytes.
    fn note(kind: u32, name: &[u8], content: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [name.len(), content.len()] {
            note.extend_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
        }
        note.extend_from_slice(&kind.to_le_bytes());
        for bytes in [name, content] {
            note.extend_from_slice(bytes);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// A binary with a segment of code and one of these notes.
    fn binary(notes: &[u8]) -> Vec<u8> {
        let mut binary = b"\x7fELF\x02\x01\x01".to_vec();
        binary.resize(64, 0);
        binary[0x20] = 64;
        (binary[0x36], binary[0x38]) = (56, 2);
        let mut code = vec![0; 56];
        code[0] = 1;
        let mut segment = vec![0; 56];
        (segment[0], segment[8], segment[48]) = (4, 64 + 2 * 56, 4);
        segment[32..40].copy_from_slice(&u64::try_from(notes.len()).unwrap().to_le_bytes());
        binary.extend([code, segment].concat());
        binary.extend_from_slice(notes);
        binary.extend_from_slice(b"code");
        binary
    }

    fn digest(binary: &[u8]) -> [u8; Build::DIGEST_LEN] {
        digest_of(Cursor::new(binary)).unwrap()
    }

    fn sha256(bytes: &[u8]) -> [u8; Build::DIGEST_LEN] {
        Sha256::digest(bytes).into()
    }

    #[test]
    fn a_build_id_stands_for_the_binary() {
        let other = note(1, b"GNU\0", b"\x02\0\0");
        let (one, two) = (b"twenty bytes, number1", b"twenty bytes, number2");
        let of = |id: &[u8]| binary(&[&other[..], &note(3, b"GNU\0", id)].concat());
        assert_eq!(digest(&of(one)), sha256(one));
        assert_eq!(digest(&of(two)), sha256(two));
        // As a binary whose symbols were added or removed.
        let longer = [&of(one)[..], b"symbols"].concat();
        assert_eq!(digest(&longer), sha256(one));
    }

    #[test]
    fn without_one_the_whole_binary_is_digested() {
        let of_another = note(3, b"Go\0", b"twenty bytes, number1");
        let short = note(3, b"GNU\0", b"seven b");
        let id = note(3, b"GNU\0", b"twenty bytes, number1");
        let broken = &id[..id.len() - 4];
        for notes in [&of_another[..], &short, broken, b""] {
            let binary = binary(notes);
            assert_eq!(digest(&binary), sha256(&binary), "{notes:?}");
        }
        for binary in [&b""[..], b"\x7fELF", b"#!/bin/sh\n"] {
            assert_eq!(digest(binary), sha256(binary));
        }
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_is_digested_whole_or_by_its_id() {
        let id = b"twenty bytes, number1";
        let intact = binary(&note(3, b"GNU\0", id));
        for len in 0..intact.len() {
            let cut = &intact[..len];
            assert!([sha256(cut), sha256(id)].contains(&digest(cut)), "{len}");
        }
        let place = intact.len() - b"\0\0\0code".len() - id.len();
        for at in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[at] ^= 0xff;
            let by_id = sha256(&damaged[place..place + id.len()]);
            assert!(
                [sha256(&damaged), by_id].contains(&digest(&damaged)),
                "{at}"
            );
        }
    }

    #[test]
    fn the_digest_is_that_of_the_file() {
        let file = fs::read(env::current_exe().unwrap()).unwrap();
        assert_eq!(binary_digest(), Ok(digest(&file)));
        if let Some(id) = build_id(&mut Cursor::new(&file)) {
            assert!(file.windows(id.len()).any(|bytes| bytes == id));
            assert_eq!(binary_digest(), Ok(sha256(&id)));
        }
    }
}
