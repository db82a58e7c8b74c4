//! The pieces that a node has in memory.

use std::collections::{BTreeMap, BTreeSet};

use bsp::Rank;
use bsp::units::{Bytes, Instructions};

use super::delta::{Delta, DeltaError};
use super::piece::{Condition, Generation, Piece};

/// The pieces that a node has in memory: of its own processes, and of those for whose node it is the buddy.
///
/// Invariant: there are at most two generations, the newest complete one and one that is being taken, which is newer.
#[derive(Clone, Debug, Default)]
pub struct Generations {
    /// Whether it is complete, and its pieces.
    generations: BTreeMap<Generation, Kept>,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    is_complete: bool,
    pieces: BTreeMap<Rank, Piece>,
    /// The processes on other nodes of which copies are here.
    copied: BTreeSet<Rank>,
}

/// Why a piece was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PieceError {
    /// A newer checkpoint is being taken, or complete.
    #[error("a piece of checkpoint {found} after one of {newest}")]
    Stale {
        /// The checkpoint of the piece.
        found: Generation,
        /// The newest one here.
        newest: Generation,
    },
    /// The checkpoint is complete.
    #[error("another piece of {rank} of checkpoint {generation}, which is complete")]
    Complete {
        /// The process.
        rank: Rank,
        /// The checkpoint.
        generation: Generation,
    },
    /// What changed of a piece does not belong to what is here.
    #[error(transparent)]
    Delta(#[from] DeltaError),
}

/// What a node has of a process, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPiece {
    /// The process.
    pub rank: Rank,
    /// Whether the process was on another node, whose buddy this one is.
    pub is_copy: bool,
    /// Whether it computes on.
    pub condition: Condition,
    /// The length of its content.
    pub bytes: Bytes,
    /// What it computed in its last superstep.
    pub work: Instructions,
}

impl Generations {
    /// Takes a piece of a process here. It replaces an earlier one of the same process and checkpoint. One of a newer checkpoint
    /// ends a checkpoint that was not completed, and forgets its pieces.
    ///
    /// # Errors
    ///
    /// If a newer checkpoint is being taken or complete, or that of the piece is complete.
    pub fn insert(&mut self, piece: Piece) -> Result<(), PieceError> {
        self.add(piece, false)
    }

    fn add(&mut self, piece: Piece, is_copy: bool) -> Result<(), PieceError> {
        let (found, rank) = (piece.head.generation, piece.head.rank);
        if let Some((newest, kept)) = self.generations.last_key_value() {
            if found < *newest {
                let newest = *newest;
                return Err(PieceError::Stale { found, newest });
            } else if found == *newest && kept.is_complete {
                let generation = found;
                return Err(PieceError::Complete { rank, generation });
            }
        }
        self.generations
            .retain(|generation, kept| kept.is_complete || *generation == found);
        let kept = self.generations.entry(found).or_default();
        kept.pieces.insert(rank, piece);
        if is_copy {
            kept.copied.insert(rank);
        } else {
            kept.copied.remove(&rank);
        }
        Ok(())
    }

    /// Takes what changed of a piece of a process on another node since one that is here. Unchanged chunks are shared with that.
    ///
    /// # Errors
    ///
    /// As [`Self::insert`], and if the previous piece is not here: then the sender has to send a complete one.
    pub fn insert_delta(&mut self, delta: Delta) -> Result<(), PieceError> {
        let rank = delta.head().rank;
        let base = delta.base();
        let previous = base.and_then(|generation| self.piece(generation, rank));
        let previous = previous.or_else(|| self.newest(rank));
        let piece = delta.apply(previous)?;
        self.add(piece, true)
    }

    /// Every node has all pieces of `generation`: older ones are forgotten. A generation that is older than a complete one
    /// changes nothing.
    pub fn complete(&mut self, generation: Generation) {
        if self.complete_generation() < Some(generation) {
            self.generations.entry(generation).or_default().is_complete = true;
            self.generations = self.generations.split_off(&generation);
        }
    }

    /// The job goes on with the checkpoint `generation`, or from its beginning: all others are forgotten.
    pub fn go_on_with(&mut self, generation: Option<Generation>) {
        self.generations.retain(|kept, _| Some(*kept) == generation);
        for kept in self.generations.values_mut() {
            kept.is_complete = true;
        }
    }

    /// The newest complete checkpoint.
    #[must_use]
    pub fn complete_generation(&self) -> Option<Generation> {
        let mut complete = self.generations.iter().filter(|(_, kept)| kept.is_complete);
        complete.next_back().map(|(generation, _)| *generation)
    }

    /// The newest checkpoint, complete or not.
    #[must_use]
    pub fn newest_generation(&self) -> Option<Generation> {
        self.generations.keys().next_back().copied()
    }

    /// The piece of `rank` in `generation`, if it is here.
    #[must_use]
    pub fn piece(&self, generation: Generation, rank: Rank) -> Option<&Piece> {
        self.generations.get(&generation)?.pieces.get(&rank)
    }

    /// The newest piece of `rank`: the one with which its next one shares chunks.
    #[must_use]
    pub fn newest(&self, rank: Rank) -> Option<&Piece> {
        let mut kept = self.generations.values().rev();
        kept.find_map(|kept| kept.pieces.get(&rank))
    }

    /// The pieces of `generation`, by rank.
    pub fn pieces(&self, generation: Generation) -> impl Iterator<Item = &Piece> {
        let kept = self.generations.get(&generation).into_iter();
        kept.flat_map(|kept| kept.pieces.values())
    }

    /// What is here, by checkpoint and rank.
    #[must_use]
    pub fn inventory(&self) -> BTreeMap<Generation, Vec<KeptPiece>> {
        let listed = |kept: &Kept| {
            let pieces = kept.pieces.iter();
            let listed = pieces.map(|(rank, piece)| KeptPiece {
                rank: *rank,
                is_copy: kept.copied.contains(rank),
                condition: piece.head.condition,
                bytes: piece.len(),
                work: piece.head.work,
            });
            listed.collect()
        };
        let all = self.generations.iter();
        all.map(|(generation, kept)| (*generation, listed(kept)))
            .collect()
    }

    /// The memory that contents occupy; a chunk that pieces share counts once.
    #[must_use]
    pub fn bytes_held(&self) -> Bytes {
        let pieces = self
            .generations
            .values()
            .flat_map(|kept| kept.pieces.values());
        let chunks = pieces.flat_map(|piece| piece.content.chunks());
        let mut counted = BTreeSet::new();
        let first = chunks.filter(|chunk| counted.insert(chunk.bytes().as_ptr()));
        Bytes(first.map(|chunk| chunk.len()).sum())
    }
}

#[cfg(test)]
mod tests;
