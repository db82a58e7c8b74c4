//! The error of an output that refuses.

use std::fmt::Display;

use experiments::Failure;

/// The output refuses.
pub(crate) fn refused(error: impl Display) -> Failure {
    Failure::Run(format!("the output cannot be written: {error}"))
}
