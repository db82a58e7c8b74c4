//! Why outputs cannot be written.

use super::format::OutputsFormat;

/// Why the outputs of a run cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outputs cannot be written as `.{}`: {problem}; other endings are {}", format.ending(), format.others())]
pub struct OutputsError {
    format: OutputsFormat,
    problem: String,
}

impl OutputsError {
    pub(super) fn new(format: OutputsFormat, problem: String) -> Self {
        Self { format, problem }
    }
}
