//! Which files belong to a checkpoint.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use bsp::{HostId, Rank};
use protocol::transport::JobId;
use serde::{Deserialize, Serialize};

use super::super::piece::Generation;
use super::flaw::Part;
use super::sealed::{Sealed, hexadecimal};

/// A file of pieces that was written to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPieces {
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
    /// The processes whose pieces it has, in order.
    pub ranks: Vec<Rank>,
}

/// The file `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    job: NonZeroU64,
    incarnation: u64,
    superstep: u64,
    processes: u32,
    files: BTreeMap<u32, ListedFile>,
}

/// A file of pieces in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedFile {
    pub(super) length: u64,
    sha256: Sha256Digits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Sha256Digits([u8; 32]);

impl Sealed for Manifest {
    const KEY: &'static str = "manifest";
    const PART: Part = Part::Manifest;
}

impl Manifest {
    pub(super) fn new(
        job: JobId,
        generation: Generation,
        processes: u32,
        files: &BTreeMap<HostId, WrittenPieces>,
    ) -> Self {
        let listed = |written: &WrittenPieces| ListedFile {
            length: written.length,
            sha256: Sha256Digits(written.sha256),
        };
        let files = files.iter();
        Self {
            job: job.0,
            incarnation: generation.incarnation,
            superstep: generation.superstep,
            processes,
            files: files.map(|(host, file)| (host.0, listed(file))).collect(),
        }
    }

    pub(super) const fn job(&self) -> JobId {
        JobId(self.job)
    }

    pub(super) const fn generation(&self) -> Generation {
        Generation {
            incarnation: self.incarnation,
            superstep: self.superstep,
        }
    }

    pub(super) const fn processes(&self) -> u32 {
        self.processes
    }

    /// Its files, by the host that wrote them.
    pub(super) fn into_files(self) -> BTreeMap<u32, ListedFile> {
        self.files
    }
}

impl ListedFile {
    pub(super) const fn sha256(&self) -> &[u8; 32] {
        &self.sha256.0
    }
}

impl TryFrom<String> for Sha256Digits {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        let expected = "a SHA-256 has 64 hexadecimal digits";
        let value = |digit: u8| {
            char::from(digit)
                .to_digit(16)
                .and_then(|it| u8::try_from(it).ok())
        };
        let mut digest = [0; 32];
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if pairs.len() != digest.len() || !rest.is_empty() {
            return Err(expected);
        }
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            let (high, low) = (value(*high).ok_or(expected)?, value(*low).ok_or(expected)?);
            *byte = high << 4 | low;
        }
        Ok(Self(digest))
    }
}

impl From<Sha256Digits> for String {
    fn from(digest: Sha256Digits) -> Self {
        hexadecimal(&digest.0)
    }
}
