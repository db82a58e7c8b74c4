//! The copies of pieces between a node and its buddy.

use bsp::HostId;
use protocol::CheckpointMessage;

use super::Checkpoints;
use crate::check::check;
use crate::checkpoint::{Delta, Piece};

impl Checkpoints {
    /// Adds what has changed of the pieces of `host` for the checkpoint before `superstep`.
    ///
    /// # Errors
    ///
    /// If this node is not the buddy of `host`, or the pieces do not fit those that it has.
    pub(crate) fn add_pieces(
        &mut self,
        (host, superstep): (HostId, u64),
        deltas: Vec<Delta>,
    ) -> Result<(), String> {
        check(self.parts.wards.contains(&host), || {
            format!("pieces, but this node is not the buddy of {host}")
        })?;
        self.catch_up(superstep)?;
        let generation = self.generation(superstep);
        for delta in deltas {
            let head = delta.head();
            let is_of_checkpoint = (head.job, head.generation) == (self.parts.job, generation);
            check(is_of_checkpoint && head.rank.0 < self.parts.size, || {
                format!("a piece of {} that is not of this checkpoint", head.rank)
            })?;
            let added = self.generations.insert_delta(delta);
            added.map_err(|error| error.to_string())?;
        }
        self.send(host, superstep, CheckpointMessage::Copied);
        Ok(())
    }

    /// What has changed of a piece since the one that the buddy has.
    pub(super) fn delta(&self, piece: &Piece) -> Delta {
        let rank = piece.head.rank;
        let before = self.copied.get(&rank);
        piece.delta_from(before.and_then(|before| self.generations.piece(*before, rank)))
    }

    pub(super) fn handle_copied(&mut self, superstep: u64) {
        let generation = self.generation(superstep);
        let current = self.current.as_mut();
        if let Some(part) = current.filter(|part| part.superstep == superstep) {
            part.is_copied = true;
            let here = part.ranks.difference(&part.left);
            self.copied = here.map(|rank| (*rank, generation)).collect();
        }
    }
}
