//! The states with which the processes of a job begin on a node.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use agents::process_state::ProcessState;
use agents::{ChunkReader, ChunkSource, ProgramType, RunError, check_fork, process_state};
use bsp::Rank;
use bytes::Bytes;

/// The state with which a process of a job begins on a node.
#[derive(Debug)]
pub enum InitialState {
    /// It starts, or continues from a checkpoint.
    Running(ProcessState),
    /// It has halted in another job, with this output.
    Halted(Bytes),
}

/// Decodes the states that a client sends.
#[derive(Clone, Debug)]
pub struct InitialStateDecoder {
    /// The type of the programs.
    pub program_type: ProgramType,
    /// The processes that have halted.
    pub halted: Arc<BTreeSet<Rank>>,
    /// Whether their programs are to be saved at checkpoints, so that their forks have to be sound.
    pub(crate) are_forked: bool,
}

impl InitialStateDecoder {
    /// The state of `rank`, whose chunks come from `source`.
    ///
    /// # Errors
    ///
    /// If it is none, or its program is encoded otherwise when it is forked.
    pub fn decode(
        &self,
        rank: Rank,
        source: &mut dyn ChunkSource,
    ) -> Result<InitialState, RunError> {
        let mut chunks = ChunkReader::new(source);
        if self.halted.contains(&rank) {
            let mut output = Vec::new();
            let read = chunks.read_to_end(&mut output);
            read.map_err(|error| RunError::encoding("the output of", rank, "decoded", &error))?;
            return Ok(InitialState::Halted(output.into()));
        }
        let decoded = process_state::decode(self.program_type, rank, &mut chunks)?;
        if self.are_forked {
            check_fork(rank, &*decoded.state.program)?;
        }
        Ok(InitialState::Running(decoded.state))
    }
}
