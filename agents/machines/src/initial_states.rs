//! The states with which the processes of a job begin on a node.
//!
//! A node builds the processes of a new job that start there, from the experiment that the client has submitted. A job that
//! resumes another one begins with saved states, which the client sends.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use agents::process_state::{self, ProcessState};
use agents::{
    ChunkReader, ChunkSource, HostedProgram, ProgramType, RunError, check_encoding, check_fork,
};
use bsp::Rank;
use bsp::numbers::length;
use bytes::Bytes;

use crate::job_error::JobError;

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
    /// The state of `rank`, whose chunks come from `source`, and its length in bytes.
    ///
    /// # Errors
    ///
    /// If it is none, or its program is encoded otherwise when it is forked.
    pub fn decode(
        &self,
        rank: Rank,
        source: &mut dyn ChunkSource,
    ) -> Result<(InitialState, u64), RunError> {
        let mut chunks = ChunkReader::new(source);
        if self.halted.contains(&rank) {
            let mut output = Vec::new();
            let read = chunks.read_to_end(&mut output);
            read.map_err(|error| RunError::encoding("the output of", rank, "decoded", &error))?;
            let bytes = length(output.len());
            return Ok((InitialState::Halted(output.into()), bytes));
        }
        let decoded = process_state::decode(self.program_type, rank, &mut chunks)?;
        if self.are_forked {
            check_fork(rank, &*decoded.state.program)?;
        }
        Ok((InitialState::Running(decoded.state), decoded.bytes))
    }
}

/// Receives each process that is built. An error ends the building.
pub type TakeProcess<'a> = dyn FnMut(Rank, Box<dyn HostedProgram>) -> Result<(), JobError> + 'a;

/// Builds the programs of these processes, one after the other.
type BuildPrograms = dyn Fn(&[Rank], &mut TakeProcess<'_>) -> Result<(), JobError> + Send + Sync;

/// Builds the programs of a job, of those processes that are asked for.
#[derive(Clone)]
pub struct ProgramBuilder(Arc<BuildPrograms>);

impl ProgramBuilder {
    /// Programs that `build` builds, each of which it passes on. It ends with the first error, its own or that of the
    /// receiver.
    pub fn new(
        build: impl Fn(&[Rank], &mut TakeProcess<'_>) -> Result<(), JobError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(build))
    }

    /// Builds the programs of these processes and passes each to `take`.
    ///
    /// # Errors
    ///
    /// If one cannot be built; the error of `take`.
    pub fn build(&self, ranks: &[Rank], take: &mut TakeProcess<'_>) -> Result<(), JobError> {
        (self.0)(ranks, take)
    }
}

impl fmt::Debug for ProgramBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProgramBuilder")
            .finish_non_exhaustive()
    }
}

/// Builds the processes of a new job that start on a node.
#[derive(Clone, Debug)]
pub struct InitialStateBuilder {
    pub(crate) programs: ProgramBuilder,
    /// The processes that start there, in ascending order.
    pub(crate) ranks: Vec<Rank>,
    /// Whether their programs may move or be saved, so that they have to have encodings.
    pub(crate) are_encoded: bool,
    /// Whether their programs are to be saved at checkpoints, so that their forks have to be sound.
    pub(crate) are_forked: bool,
}

impl InitialStateBuilder {
    /// How many processes there are to build.
    pub fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// Builds the processes and passes each to `take` when it has been built, with the length of its encoding in bytes.
    ///
    /// # Errors
    ///
    /// If a process cannot be built, or its program cannot be encoded, or is encoded otherwise when it is forked; the error of
    /// `take`.
    pub fn build(
        &self,
        take: &mut dyn FnMut(Rank, InitialState, u64) -> Result<(), JobError>,
    ) -> Result<(), JobError> {
        if self.ranks.is_empty() {
            return Ok(());
        }
        let mut left = self.ranks.iter();
        let Self {
            programs,
            are_encoded,
            are_forked,
            ..
        } = self;
        programs.build(&self.ranks, &mut |rank, program| {
            if left.next() != Some(&rank) {
                return Err(JobError::program(format!("{rank} was built out of turn")));
            }
            // A program that cannot move, or be saved, is found out before the job begins.
            let bytes = if *are_encoded {
                check_encoding(rank, &*program)?
            } else {
                program.memory().total().0
            };
            if *are_forked {
                check_fork(rank, &*program)?;
            }
            let state = InitialState::Running(ProcessState::initial(program));
            take(rank, state, bytes)
        })?;
        match left.next() {
            None => Ok(()),
            Some(rank) => Err(JobError::program(format!("{rank} was not built"))),
        }
    }
}
