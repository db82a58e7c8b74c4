//! A process that is saved.

use bsp::units::Seconds;

use crate::checkpoint::{Piece, PieceHead};
use crate::error::RunError;
use crate::process_state;
use crate::programs::{HostedProgram, Incoming};

/// What a process is to save before it executes a superstep, without its program.
pub(crate) struct Saving {
    pub(crate) head: PieceHead,
    /// The encoded agent.
    pub(crate) agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub(crate) inbox: Vec<Incoming>,
    /// The piece before, which shares with the new one what has not changed.
    pub(crate) previous: Option<Piece>,
}

/// A process that has been saved.
pub(crate) struct SavedPiece {
    pub(crate) piece: Piece,
    /// The time for which the process stood still.
    pub(crate) stall: Seconds,
    /// The processor time of encoding while it computed.
    pub(crate) encoding: Seconds,
}

impl Saving {
    /// The piece of the process, whose program is `program`.
    ///
    /// # Errors
    ///
    /// If the program or a message cannot be encoded.
    pub(crate) fn encode(self, program: &dyn HostedProgram) -> Result<Piece, RunError> {
        let rank = self.head.rank;
        Piece::encode(self.head, self.previous.as_ref(), |writer| {
            process_state::encode(rank, program, &self.agent, &self.inbox, writer, |_| None)
        })
    }
}
