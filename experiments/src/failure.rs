//! Why an experiment, or an answer about it, has no result.

use std::error::Error;
use std::fmt::Display;

use bsp::reference::chain;
use settings::Fault;

/// Why an experiment, or an answer about it, has no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
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
    /// A node, or the connection to it, failed.
    #[error("{0}")]
    Cluster(String),
}

impl Failure {
    /// An input file is invalid.
    pub fn input(problem: impl Display) -> Self {
        Self::Input(problem.to_string())
    }

    /// The run failed.
    pub fn run(problem: impl Display) -> Self {
        Self::Run(problem.to_string())
    }

    /// The run failed for a reason with a chain of sources.
    pub fn chain(error: impl Error + 'static) -> Self {
        Self::Run(chain(&error))
    }

    /// The same failure, with `advice` after what it says.
    #[must_use]
    pub fn followed_by(self, advice: impl Display) -> Self {
        let with = |problem: String| format!("{problem}\n  note: {advice}");
        match self {
            Self::Run(problem) => Self::Run(with(problem)),
            Self::Usage(problem) => Self::Usage(with(problem)),
            Self::Verification(problem) => Self::Verification(with(problem)),
            Self::Input(problem) => Self::Input(with(problem)),
            Self::Cluster(problem) => Self::Cluster(with(problem)),
        }
    }

    /// The same failure, in `what`.
    pub fn of(self, what: impl Display) -> Self {
        match self {
            Self::Run(problem) => Self::Run(format!("{what}: {problem}")),
            Self::Usage(problem) => Self::Usage(format!("{what}: {problem}")),
            Self::Verification(problem) => Self::Verification(format!("{what}: {problem}")),
            Self::Input(problem) => Self::Input(format!("{what}: {problem}")),
            Self::Cluster(problem) => Self::Cluster(format!("{what}: {problem}")),
        }
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
