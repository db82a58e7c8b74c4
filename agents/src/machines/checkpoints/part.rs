//! What one node saves for a checkpoint.

use std::collections::BTreeSet;

use bsp::Rank;
use bsp::units::Seconds;
use protocol::{PiecesFile, Saved};

/// What one node saves for the checkpoint before a superstep.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) superstep: u64,
    /// Its processes, those that have halted included.
    pub(super) ranks: BTreeSet<Rank>,
    /// The processes that are not encoded.
    pub(super) waiting: BTreeSet<Rank>,
    /// The processes that have left since.
    pub(super) left: BTreeSet<Rank>,
    pub(super) stall: Seconds,
    pub(super) encoding: Seconds,
    pub(super) bytes: u64,
    pub(super) sent: u64,
    /// Whether the buddy has all pieces, or there is none.
    pub(super) is_copied: bool,
    /// The file, once it is written, or cannot be; `None` inside: there is to be none.
    pub(super) file: Option<Option<Result<PiecesFile, String>>>,
    pub(super) is_reported: bool,
}

impl Part {
    /// Nothing of `ranks` is saved, of which `waiting` are to be encoded.
    pub(super) const fn new(
        superstep: u64,
        ranks: BTreeSet<Rank>,
        waiting: BTreeSet<Rank>,
    ) -> Self {
        Self {
            superstep,
            ranks,
            waiting,
            left: BTreeSet::new(),
            stall: Seconds::ZERO,
            encoding: Seconds::ZERO,
            bytes: 0,
            sent: 0,
            is_copied: false,
            file: None,
            is_reported: false,
        }
    }

    /// The report, if everything is saved and it has not been made.
    pub(super) fn report(&mut self) -> Option<Saved> {
        if self.is_reported || !self.is_copied || !self.waiting.is_empty() {
            return None;
        }
        let file = self.file.clone()?;
        self.is_reported = true;
        Some(Saved {
            ranks: self.ranks.iter().copied().collect(),
            stall: self.stall,
            encoding: self.encoding,
            bytes: self.bytes,
            sent: self.sent,
            file,
        })
    }
}
