//! What a checkpoint has of one process.

use bsp::Rank;
use bsp::units::{Bytes, Instructions};
use protocol::transport::JobId;

use super::content::{Content, ContentWriter};
use super::generation::Generation;

/// What a checkpoint has of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whose it is, and of when.
    pub head: PieceHead,
    /// The process image of a running process, or the encoded output of a halted one.
    pub content: Content,
}

/// What is known of a piece without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceHead {
    /// The job.
    pub job: JobId,
    /// The checkpoint.
    pub generation: Generation,
    /// The process.
    pub rank: Rank,
    /// Whether it computes on.
    pub condition: Condition,
    /// The computation that it charged in its last superstep, by which it is placed when it is restored.
    pub work: Instructions,
}

/// Whether a process computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It does.
    Running,
    /// It has halted.
    Halted {
        /// In which superstep.
        superstep: u64,
    },
}

impl Piece {
    /// The piece whose content `encode` writes. Chunks that equal those of `previous` are shared with it.
    ///
    /// # Errors
    ///
    /// Those of `encode`.
    pub fn encode<E>(
        head: PieceHead,
        previous: Option<&Self>,
        encode: impl FnOnce(&mut ContentWriter<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut writer = ContentWriter::new(previous.map(|piece| &piece.content));
        encode(&mut writer)?;
        let content = writer.finish();
        Ok(Self { head, content })
    }

    /// The length of its content.
    #[must_use]
    pub fn len(&self) -> Bytes {
        Bytes(self.content.len())
    }

    /// Whether it has no content.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }
}
