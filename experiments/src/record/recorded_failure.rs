//! Why a run failed, as its record says.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Why a run has no result, as its record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFailure {
    /// What was at fault.
    pub cause: Cause,
    /// Who failed, of what, and in which superstep, as the command said it.
    pub message: String,
}

/// What was at fault when a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The program, or a file that cannot be written.
    Run,
    /// The experiment, or a file that it names.
    Input,
    /// The outputs are not the required ones.
    Outputs,
    /// A node, or the connection to it.
    Cluster,
    /// A signal to the command: nothing failed.
    Interrupted,
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

impl RecordedFailure {
    /// The run was interrupted, by the signal with this number.
    #[must_use]
    pub fn interrupted(signal: u8) -> Self {
        let name = match signal {
            1 => "SIGHUP".to_owned(),
            2 => "SIGINT".to_owned(),
            15 => "SIGTERM".to_owned(),
            other => format!("signal {other}"),
        };
        Self {
            cause: Cause::Interrupted,
            message: name,
        }
    }

    /// What is said of it, on one line and of bounded length: the file may be anybody's.
    pub(super) fn line(&self) -> String {
        let line = self.message.lines().next().unwrap_or_default();
        let printable = line.chars().filter(|letter| !letter.is_control());
        let line: String = printable.take(LINE_MAX).collect();
        line.trim_end_matches('.').to_owned()
    }
}

impl From<&Failure> for RecordedFailure {
    fn from(failure: &Failure) -> Self {
        let cause = match failure {
            Failure::Run(_) => Cause::Run,
            Failure::Usage(_) | Failure::Input(_) => Cause::Input,
            Failure::Verification(_) => Cause::Outputs,
            Failure::Cluster(_) => Cause::Cluster,
        };
        let text = failure.to_string();
        // What follows is advice.
        let message = text.split("\n  note: ").next().unwrap_or_default();
        Self {
            cause,
            message: message.to_owned(),
        }
    }
}

/// Letters of a message that are shown.
const LINE_MAX: usize = 1000;
