//! A process with which a job begins on a node.

use bsp::Rank;

use crate::checkpoint::saved_process;
use crate::error::RunError;
use crate::programs::{HostedProgram, Incoming, ProgramType, check_fork};

/// A process with which a job begins on a node.
pub(crate) struct StartingProcess {
    pub(crate) rank: Rank,
    pub(crate) program: Box<dyn HostedProgram>,
    /// What else a checkpoint has of it, if the job resumes another one.
    pub(crate) saved: Option<SavedParts>,
}

/// What a checkpoint has of a process beside its program.
pub(crate) struct SavedParts {
    /// The encoded agent.
    pub(crate) agent: Vec<u8>,
    /// The messages that it has not received yet.
    pub(crate) inbox: Vec<Incoming>,
}

/// Decodes the states that a client sends.
#[derive(Clone, Copy)]
pub(crate) struct StateDecoder {
    pub(crate) program_type: ProgramType,
    /// Whether they are pieces of a checkpoint; otherwise they are programs.
    pub(crate) are_saved: bool,
    /// Whether their programs are to be saved at checkpoints, so that their forks have to be sound.
    pub(crate) are_forked: bool,
}

impl StateDecoder {
    /// The process whose state is `state`.
    ///
    /// # Errors
    ///
    /// If it is none, or its program is encoded otherwise when it is forked.
    pub(crate) fn decode(self, rank: Rank, state: &[u8]) -> Result<StartingProcess, RunError> {
        let process = self.decode_unchecked(rank, state)?;
        if self.are_forked {
            check_fork(rank, &*process.program, state)?;
        }
        Ok(process)
    }

    fn decode_unchecked(self, rank: Rank, state: &[u8]) -> Result<StartingProcess, RunError> {
        if self.are_saved {
            let saved = saved_process::decode(self.program_type, rank, state)?;
            return Ok(StartingProcess {
                rank,
                program: saved.program,
                saved: Some(SavedParts {
                    agent: saved.agent,
                    inbox: saved.inbox,
                }),
            });
        }
        Ok(StartingProcess {
            rank,
            program: self.program_type.decode(rank, state)?,
            saved: None,
        })
    }
}
