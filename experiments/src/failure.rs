//! Why a command ends without its result, and with which exit code.

use std::error::Error;
use std::fmt::Display;
use std::io;

use settings::Fault;

/// Why a command ended without its result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The run, or the writing of what it left, went wrong.
    #[error("{0}")]
    Run(String),
    /// The command line or a `MIGBSP__` variable is at fault.
    #[error("{0}")]
    Usage(String),
    /// What came out is not what it has to be.
    #[error("{0}")]
    Verification(String),
    /// A file that was given is at fault.
    #[error("{0}")]
    Input(String),
    /// A node, or the way to it, failed.
    #[error("{0}")]
    Cluster(String),
    /// A signal came.
    #[error("interrupted: the cluster is free again")]
    Interrupted(u8),
    /// The results cannot be written to stdout.
    #[error("the results cannot be written: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// A file is at fault.
    pub fn input(problem: impl Display) -> Self {
        Self::Input(problem.to_string())
    }

    /// The run went wrong.
    pub fn run(problem: impl Display) -> Self {
        Self::Run(problem.to_string())
    }

    /// The run went wrong for a reason that has reasons of its own.
    pub fn chain(error: impl Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(reason) = source {
            text = format!("{text}: {reason}");
            source = reason.source();
        }
        Self::Run(text)
    }

    /// The same failure, which happened in `what`.
    pub fn of(self, what: impl Display) -> Self {
        match self {
            Self::Run(problem) => Self::Run(format!("{what}: {problem}")),
            Self::Usage(problem) => Self::Usage(format!("{what}: {problem}")),
            Self::Verification(problem) => Self::Verification(format!("{what}: {problem}")),
            Self::Input(problem) => Self::Input(format!("{what}: {problem}")),
            Self::Cluster(problem) => Self::Cluster(format!("{what}: {problem}")),
            Self::Interrupted(_) | Self::Output(_) => self,
        }
    }

    /// Whether the reader of stdout went away, which is its right.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        if fault.is_usage() {
            Self::Usage(fault.to_string())
        } else {
            Self::Input(fault.to_string())
        }
    }
}
