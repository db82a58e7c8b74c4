//! Exit codes.

use std::process::ExitCode;

use experiments::Failure;

/// The exit code for `failure`, as `migbsp help exit-codes` lists them.
pub(crate) fn exit_code(failure: &Failure) -> ExitCode {
    ExitCode::from(match failure {
        Failure::Run(_) | Failure::Output(_) => 1,
        Failure::Usage(_) => 2,
        Failure::Verification(_) => 3,
        Failure::Input(_) => 4,
        Failure::Cluster(_) => 5,
        Failure::Interrupted(signal) => 128_u8.saturating_add(*signal),
    })
}

/// The text of `migbsp help exit-codes`.
pub(crate) const EXIT_CODES: &str = "\
migbsp ends with one of these exit codes:

    0  all is well
    1  the run failed: the program is at fault, or its results cannot be written
    2  usage: the command line, a --set or a MIGBSP__ variable is at fault
    3  an assertion or a verification failed, or a level was not met (`rebalance`)
    4  an input file is at fault, or the experiment it describes is impossible
    5  a cluster or a peer failed
  130  interrupted (128 + SIGINT); other signals likewise

Errors go to stderr and say where the fault is, what was met and what would do.
A reader of stdout that goes away, as `head` does, is no error.";
