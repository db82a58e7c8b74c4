//! The error of an output that refuses.

use std::fmt::Display;

use experiments::Failure;

/// The output refuses.
pub(super) fn refused(error: impl Display) -> Failure {
    Failure::Run(format!("the export cannot be written: {error}"))
}
