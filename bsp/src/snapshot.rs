//! Snapshots: values that a process writes to files while it runs.
//!
//! A process takes a snapshot in a superstep ([`Superstep::snapshot`](crate::Superstep::snapshot)): a field every hundred
//! supersteps, a picture, the best solution so far. A snapshot has a name, and there is one file for each name, superstep and
//! process. A superstep that is executed again, because a run goes on from a checkpoint, takes equal snapshots and replaces
//! these files by equal ones.
//!
//! Where the files are is up to the runner. [`reference::run`](crate::reference::run) and [`Threads`](crate::Threads) return
//! snapshots with the outputs, in memory.

use std::fmt;

use bytes::Bytes as Contents;
use serde::{Deserialize, Serialize};

use crate::ids::Rank;
use crate::numbers::length;
use crate::units::Bytes;

/// A value that a process has written in a superstep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The superstep.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// The name.
    pub name: SnapshotName,
    /// How the value is encoded.
    pub encoding: SnapshotEncoding,
    /// The encoded value.
    pub contents: Contents,
}

impl Snapshot {
    /// Where its file is, relative to the folder of its run: `snapshots/NAME/SUPERSTEP/PROCESS` with the ending of its encoding.
    ///
    /// # Examples
    ///
    /// ```
    /// use bsp::{Rank, Snapshot, SnapshotEncoding};
    ///
    /// let path = Snapshot::path(&"field".parse().unwrap(), 700, Rank(0), SnapshotEncoding::MessagePack);
    /// assert_eq!(path, "snapshots/field/700/p1.msgpack");
    /// ```
    #[must_use]
    pub fn path(
        name: &SnapshotName,
        superstep: u64,
        rank: Rank,
        encoding: SnapshotEncoding,
    ) -> String {
        let ending = encoding.ending();
        format!("snapshots/{name}/{superstep}/{rank}.{ending}")
    }
}

/// The name of a snapshot, which is that of a folder.
///
/// Invariant: it has from 1 to [`SnapshotName::MAX`] small letters without accents, digits, `-` and `_`, and begins with a
/// letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("pattern" = "^[a-z0-9][a-z0-9_-]{0,63}$")))]
#[serde(try_from = "String", into = "String")]
pub struct SnapshotName(String);

impl SnapshotName {
    /// The most characters of a name.
    pub const MAX: usize = 64;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for SnapshotName {
    type Err = SnapshotError;

    fn from_str(name: &str) -> Result<Self, SnapshotError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let mut bytes = name.bytes();
        let begins = bytes.next().is_some_and(is_plain);
        if begins
            && name.len() <= Self::MAX
            && bytes.all(|byte| is_plain(byte) || byte == b'-' || byte == b'_')
        {
            return Ok(Self(name.to_owned()));
        }
        let found = name.chars().take(Self::MAX + 1).collect();
        Err(SnapshotError::Name { found })
    }
}

impl TryFrom<String> for SnapshotName {
    type Error = SnapshotError;

    fn try_from(name: String) -> Result<Self, SnapshotError> {
        name.parse()
    }
}

impl From<SnapshotName> for String {
    fn from(name: SnapshotName) -> Self {
        name.0
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// How the value of a snapshot is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SnapshotEncoding {
    /// A value as `MessagePack`, structs as lists of their fields.
    #[serde(rename = "msgpack")]
    MessagePack,
    /// Bytes as the process has made them.
    Bytes,
}

impl SnapshotEncoding {
    /// The ending of the names of files, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::MessagePack => "msgpack",
            Self::Bytes => "bin",
        }
    }

    /// Its name, as indices of files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MessagePack => "msgpack",
            Self::Bytes => "bytes",
        }
    }
}

/// The most snapshots that a process may take in a superstep.
pub const SNAPSHOTS_MAX: usize = 16;

/// The most bytes that the snapshots of a process in a superstep may have together: a node has them in memory until they are
/// written.
pub const SNAPSHOT_BYTES_MAX: Bytes = Bytes(1 << 30);

/// Why a snapshot is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The name is none.
    #[error(
        "a snapshot cannot be named {found:?}: a name has 1 to {} characters, which are small letters (a-z), digits, `-` and \
         `_`, and begins with a letter or a digit",
        SnapshotName::MAX
    )]
    Name {
        /// The name, cut if it is long.
        found: String,
    },
    /// The process has taken one of this name in this superstep.
    #[error("a second snapshot `{name}` in a superstep: the first would be lost")]
    Twice {
        /// The name.
        name: SnapshotName,
    },
    /// The process has taken as many as it may.
    #[error(
        "the snapshot `{name}` is one too many: a process may take {SNAPSHOTS_MAX} in a superstep"
    )]
    TooMany {
        /// The name.
        name: SnapshotName,
    },
    /// The snapshots of the process in this superstep are too long.
    #[error(
        "with the snapshot `{name}`, those of the process in this superstep have {} B; they may have {} B",
        .length.0,
        SNAPSHOT_BYTES_MAX.0
    )]
    TooLong {
        /// The name.
        name: SnapshotName,
        /// The length of all of them.
        length: Bytes,
    },
    /// The value cannot be encoded.
    #[error("the value of the snapshot `{name}` cannot be encoded: {problem}")]
    Encoding {
        /// The name.
        name: SnapshotName,
        /// Why.
        problem: String,
    },
}

/// The snapshots of a process in a superstep, which are being taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshots(Vec<Snapshot>);

impl Snapshots {
    /// Whether none has been taken.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all of them, in the order taken.
    pub fn take(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.0)
    }

    /// Adds a snapshot of `rank` in `superstep`, which is encoded by `encode` if it may be taken.
    pub(crate) fn add(
        &mut self,
        (superstep, rank): (u64, Rank),
        name: &str,
        encoding: SnapshotEncoding,
        encode: impl FnOnce() -> Result<Contents, rmp_serde::encode::Error>,
    ) -> Result<(), SnapshotError> {
        let name: SnapshotName = name.parse()?;
        if self.0.iter().any(|taken| taken.name == name) {
            return Err(SnapshotError::Twice { name });
        }
        if SNAPSHOTS_MAX <= self.0.len() {
            return Err(SnapshotError::TooMany { name });
        }
        let contents = match encode() {
            Ok(contents) => contents,
            Err(error) => {
                let problem = error.to_string();
                return Err(SnapshotError::Encoding { name, problem });
            }
        };
        let lengths = self.0.iter().map(|taken| taken.contents.len());
        let all = lengths.fold(length(contents.len()), |all, one| all + length(one));
        if SNAPSHOT_BYTES_MAX.0 < all {
            let length = Bytes(all);
            return Err(SnapshotError::TooLong { name, length });
        }
        self.0.push(Snapshot {
            superstep,
            rank,
            name,
            encoding,
            contents,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: (u64, Rank) = (3, Rank(1));

    fn add(snapshots: &mut Snapshots, name: &str, bytes: usize) -> Result<(), SnapshotError> {
        let encode = || Ok(Contents::from(vec![0; bytes]));
        snapshots.add(TAKEN, name, SnapshotEncoding::Bytes, encode)
    }

    #[test]
    fn names_are_those_of_folders_everywhere() {
        let long = "a".repeat(64);
        for name in ["a", "0", "best-so_far", "x-", long.as_str()] {
            assert_eq!(name.parse::<SnapshotName>().unwrap().as_str(), name);
        }
        let too_long = "a".repeat(65);
        for name in [
            "",
            "-a",
            "_a",
            ".",
            "..",
            "a.b",
            "a/b",
            "/a",
            "A",
            "ä",
            "a b",
            "a\n",
            "\u{1b}",
            too_long.as_str(),
        ] {
            let error = name.parse::<SnapshotName>().unwrap_err().to_string();
            assert!(error.contains("a name has 1 to 64 characters"), "{error}");
            assert!(!error.chars().any(char::is_control), "{error}");
        }
        let from_text: Result<SnapshotName, _> = serde_json::from_str("\"../a\"");
        assert!(from_text.is_err());
    }

    #[test]
    fn a_name_is_taken_once_in_a_superstep_and_there_are_no_more_than_sixteen() {
        let mut snapshots = Snapshots::default();
        for number in 0..SNAPSHOTS_MAX {
            add(&mut snapshots, &format!("s{number}"), 1).unwrap();
        }
        let again = add(&mut snapshots, "s3", 1).unwrap_err().to_string();
        assert!(again.contains("a second snapshot `s3`"), "{again}");
        let more = add(&mut snapshots, "more", 1).unwrap_err().to_string();
        assert!(
            more.contains("`more`") && more.contains("may take 16"),
            "{more}"
        );
        let taken = snapshots.take();
        assert_eq!(taken.len(), SNAPSHOTS_MAX);
        assert_eq!((taken[3].superstep, taken[3].rank), TAKEN);
        assert!(snapshots.is_empty());
    }

    #[test]
    fn the_snapshots_of_a_superstep_have_a_gibibyte_together() {
        let mut snapshots = Snapshots::default();
        // Nothing is in these pages, so they take no memory.
        add(&mut snapshots, "most", (1 << 30) - 1).unwrap();
        add(&mut snapshots, "last", 1).unwrap();
        let error = add(&mut snapshots, "more", 1).unwrap_err().to_string();
        assert!(
            error.contains("`more`") && error.contains("have 1073741825 B"),
            "{error}"
        );
    }
}
