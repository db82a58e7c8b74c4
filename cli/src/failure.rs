//! Why a command ends without its result.

use std::io;

use experiments::Failure;
use settings::Fault;

/// Why a command ended without its result.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// The input, the run or its outputs are at fault.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The process received this signal.
    #[error("interrupted: the cluster is free again when the superstep under way ends")]
    Interrupted(u8),
    /// The process received this signal, and shows what it has done so far.
    #[error("{message}")]
    Stopped {
        /// The signal.
        signal: u8,
        /// What is done, and how to go on.
        message: String,
    },
    /// The results cannot be written to stdout.
    #[error("the results cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl CommandFailure {
    /// Whether the reader of stdout closed it, which is no error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<Fault> for CommandFailure {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault.into())
    }
}
