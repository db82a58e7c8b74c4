//! Why a command ends without its result, and with which exit code.

use std::io;
use std::process::ExitCode;

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

/// The exit code for `failure`, as `help exit-codes` lists them.
pub(crate) fn exit_code(failure: &CommandFailure) -> ExitCode {
    ExitCode::from(match failure {
        CommandFailure::Failure(Failure::Run(_)) | CommandFailure::Output(_) => 1,
        CommandFailure::Failure(Failure::Usage(_)) => 2,
        CommandFailure::Failure(Failure::Verification(_)) => 3,
        CommandFailure::Failure(Failure::Input(_)) => 4,
        CommandFailure::Failure(Failure::Cluster(_)) => 5,
        CommandFailure::Interrupted(signal) | CommandFailure::Stopped { signal, .. } => {
            128_u8.saturating_add(*signal)
        }
    })
}

/// The text of `help exit-codes`.
pub(crate) const EXIT_CODES: &str = "\
{bin} ends with one of these exit codes:

    0  success
    1  the run failed: the program failed, or its results cannot be written
    2  usage: invalid command line, --set or MIGBSP__ variable; --out names a folder with a complete record
       (--force replaces it); --outputs names a format that cannot hold the outputs; --dashboard names an address in use
    3  an assertion or a verification failed, or a certificate ends within the time of `cert show --expires-within`
    4  invalid input file, or an experiment that cannot be run
    5  a cluster or a peer failed
  130  interrupted (128 + SIGINT; other signals have their numbers)

Errors go to stderr, with the place of an invalid value and the rule that it breaks.
A reader that closes stdout early, as `head` does, is no error.";
