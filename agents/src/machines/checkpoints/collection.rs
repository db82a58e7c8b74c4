//! What all nodes have saved for a checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank};
use protocol::Saved;

use crate::checkpoint::WrittenPieces;
use crate::mutant::{self, Mutant};
use crate::record;

/// What all nodes have saved for the checkpoint before a superstep, as the node of the first Manager knows it.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) superstep: u64,
    /// When the first process began to save its state, as far as this node knows.
    at: Instant,
    ranks: BTreeSet<Rank>,
    stall: Seconds,
    encoding: Seconds,
    bytes: u64,
    sent: u64,
    pub(super) files: BTreeMap<HostId, WrittenPieces>,
    /// Why the checkpoint is not on disk, although it should be.
    pub(super) problem: Option<String>,
}

impl Collection {
    /// Nothing is saved.
    pub(super) const fn new(superstep: u64, at: Instant) -> Self {
        Self {
            superstep,
            at,
            ranks: BTreeSet::new(),
            stall: Seconds::ZERO,
            encoding: Seconds::ZERO,
            bytes: 0,
            sent: 0,
            files: BTreeMap::new(),
            problem: None,
        }
    }

    /// Adds what `host` has saved.
    pub(super) fn add(&mut self, host: HostId, saved: Saved) {
        self.stall = self.stall.max(saved.stall);
        self.encoding = self.encoding.max(saved.encoding);
        self.bytes = self.bytes.saturating_add(saved.bytes);
        self.sent = self.sent.saturating_add(saved.sent);
        match saved.file {
            Some(Ok(file)) => {
                let written = WrittenPieces {
                    length: file.length,
                    sha256: file.sha256,
                    ranks: saved.ranks.clone(),
                };
                self.files.insert(host, written);
            }
            Some(Err(problem)) => {
                self.problem.get_or_insert(problem);
            }
            None => {}
        }
        self.ranks.extend(saved.ranks);
    }

    /// Whether all of `size` processes are saved.
    pub(super) fn is_complete(&self, size: u32) -> bool {
        let missing = u32::from(mutant::is(Mutant::CompleteEarly));
        u32::try_from(self.ranks.len()).is_ok_and(|saved| size <= saved + missing)
    }

    /// What the record says of it, complete at `complete`.
    pub(super) fn recorded(self, complete: Instant) -> record::Checkpoint {
        record::Checkpoint {
            superstep: self.superstep,
            at: self.at,
            stall: self.stall,
            encoding: self.encoding,
            bytes: Bytes(self.bytes),
            sent: Bytes(self.sent),
            complete,
            problem: self.problem,
        }
    }
}
