//! What is wrong with a file of the store, and where.

use std::fmt;
use std::path::PathBuf;

use bsp::Rank;

/// What is wrong with a file of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}, byte {offset}: {problem}", .file.display())]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where, in bytes from its start.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no such file.
    #[error("the file is missing")]
    Missing,
    /// The system refuses to read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It ends early.
    #[error("the file ends inside {0}")]
    Ended(Part),
    /// Something follows its end.
    #[error("bytes follow the end")]
    Longer,
    /// It is none of the store's.
    #[error("this is not {0} of a checkpoint")]
    Foreign(Part),
    /// A version of the format that this build does not know.
    #[error("format version {found}, expected {expected}; a newer build wrote it")]
    Version {
        /// Its version.
        found: u64,
        /// The version of this build.
        expected: u32,
    },
    /// Its bytes are not those that were written.
    #[error("the checksum of {0} does not match")]
    Checksum(Part),
    /// It is not as long as the manifest says.
    #[error("it has {found} bytes, expected {expected}")]
    Length {
        /// Its length.
        found: u64,
        /// The length in the manifest.
        expected: u64,
    },
    /// It belongs to something else.
    #[error("found {what} {found}, expected {expected}")]
    Other {
        /// What it names.
        what: &'static str,
        /// Which one.
        found: String,
        /// Which one belongs here.
        expected: String,
    },
    /// A process is in the checkpoint twice, or out of order.
    #[error("{0} is there twice, or out of order")]
    Order(Rank),
    /// A process is not in the checkpoint.
    #[error("{0} is in no file")]
    NoPiece(Rank),
    /// A value has no meaning.
    #[error("{0}")]
    Invalid(String),
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A description of a job.
    Description,
    /// A manifest.
    Manifest,
    /// A file of pieces.
    Pieces,
    /// The head of a file.
    Head,
    /// The head of a piece.
    PieceHead,
    /// A part of the content of a piece.
    Chunk(Rank),
    /// All of a file.
    File,
}

/// A problem in a file that is not named yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) offset: u64,
    pub(super) problem: Problem,
}

impl Flaw {
    pub(super) const fn new(offset: u64, problem: Problem) -> Self {
        Self { offset, problem }
    }

    /// The same, in `file`.
    pub(super) fn of(self, file: PathBuf) -> Damage {
        Damage {
            file,
            offset: self.offset,
            problem: self.problem,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description => formatter.write_str("the description of a job"),
            Self::Manifest => formatter.write_str("the manifest"),
            Self::Pieces => formatter.write_str("a file of pieces"),
            Self::Head => formatter.write_str("the head"),
            Self::PieceHead => formatter.write_str("the head of a piece"),
            Self::Chunk(rank) => write!(formatter, "a chunk of the piece of {rank}"),
            Self::File => formatter.write_str("the file"),
        }
    }
}
