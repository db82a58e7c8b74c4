//! Why a command ends without its result, and with which exit code.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use crate::configuration::Fault;

/// Why a command ended without its result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The run failed, or its results cannot be written.
    #[error("{0}")]
    Run(String),
    /// The command line or a `MIGBSP__` variable is invalid.
    #[error("{0}")]
    Usage(String),
    /// The result is not the required one.
    #[error("{0}")]
    Verification(String),
    /// An input file is invalid.
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
    /// An input file is invalid.
    pub(crate) fn input(problem: impl Display) -> Self {
        Self::Input(problem.to_string())
    }

    /// The run went wrong.
    pub(crate) fn run(problem: impl Display) -> Self {
        Self::Run(problem.to_string())
    }

    /// The run failed for a reason with a chain of sources.
    pub(crate) fn chain(error: impl Error) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(reason) = source {
            text = format!("{text}: {reason}");
            source = reason.source();
        }
        Self::Run(text)
    }

    /// The same failure, in `what`.
    pub(crate) fn of(self, what: impl Display) -> Self {
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
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code, as `migbsp help exit-codes` lists them.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Run(_) | Self::Output(_) => 1,
            Self::Usage(_) => 2,
            Self::Verification(_) => 3,
            Self::Input(_) => 4,
            Self::Cluster(_) => 5,
            Self::Interrupted(signal) => 128_u8.saturating_add(*signal),
        })
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

/// The text of `migbsp help exit-codes`.
pub(crate) const EXIT_CODES: &str = "\
migbsp ends with one of these exit codes:

    0  success
    1  the run failed: the program failed, or its results cannot be written
    2  usage: invalid command line, --set or MIGBSP__ variable
    3  an assertion or a verification failed, or a level was not met (`rebalance`)
    4  invalid input file, or an experiment that cannot be run
    5  a cluster or a peer failed
  130  interrupted (128 + SIGINT; other signals have their numbers)

Errors go to stderr, with the place of an invalid value and the rule that it breaks.
A reader that closes stdout early, as `head` does, is no error.";
