//! Why a job on real hosts has no result.

use agents::RunError;
use bsp::reference::Error;
use bsp::units::Seconds;
use protocol::transport::{ConnectError, PeerError};
use protocol::{Failed, Fault, displayed_message};

use crate::seconds;

/// Why a job on real hosts has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JobError {
    /// The part that is at fault.
    pub fault: Fault,
    /// What failed, and a remedy.
    pub message: String,
    /// Whether another member of the job has said so, and reports it.
    pub is_reported: bool,
    /// If it is the loss of a member, in spite of which a job may go on.
    pub loss: Option<Loss>,
    /// Whether it is of a process that executed a superstep here, and does not name the node yet.
    is_of_process: bool,
}

/// The loss of a member: it does not run, cannot be reached, or may take no part any more. A member that sent what it must not is
/// none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// For how long it had been silent, if it was.
    pub silent: Option<Seconds>,
}

impl JobError {
    /// The program or its results.
    #[must_use]
    pub fn program(message: impl Into<String>) -> Self {
        Self::of(Fault::Program, message)
    }

    /// The experiment.
    #[must_use]
    pub fn input(message: impl Into<String>) -> Self {
        Self::of(Fault::Input, message)
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(message: impl Into<String>) -> Self {
        Self::of(Fault::Cluster, message)
    }

    /// The builds of nodes and client differ.
    #[must_use]
    pub fn build(message: impl Into<String>) -> Self {
        Self::of(Fault::Build, message)
    }

    fn of(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            is_reported: false,
            loss: None,
            is_of_process: false,
        }
    }

    /// The same, of the node `name`: what a process does wrong begins with the name of its node.
    #[must_use]
    pub(crate) fn on(mut self, name: &str) -> Self {
        if std::mem::take(&mut self.is_of_process) {
            self.message = format!("{name}: {}", self.message);
        }
        self
    }

    /// The same, which another member of the job has said and reports.
    #[must_use]
    pub(crate) fn reported(self) -> Self {
        Self {
            is_reported: true,
            ..self
        }
    }
}

impl From<RunError> for JobError {
    fn from(error: RunError) -> Self {
        let fault = match error {
            RunError::Peer(_) | RunError::File { .. } => Fault::Cluster,
            RunError::Places { .. }
            | RunError::NoSuchHost { .. }
            | RunError::NoProcesses
            | RunError::Starved { .. }
            | RunError::Elasticity(_)
            | RunError::Resumption(_) => Fault::Input,
            RunError::Program(_)
            | RunError::NoRoute(_)
            | RunError::Encoding { .. }
            | RunError::Stuck { .. } => Fault::Program,
        };
        let is_of_process = matches!(
            error,
            RunError::Program(Error::Failed { .. } | Error::Panicked { .. })
        );
        Self {
            is_of_process,
            ..Self::of(fault, error.to_string())
        }
    }
}

impl From<PeerError> for JobError {
    fn from(error: PeerError) -> Self {
        let silent = match &error {
            PeerError::Silent { after, .. } => Some(seconds(*after)),
            _ => None,
        };
        let is_loss = match &error {
            PeerError::Silent { .. }
            | PeerError::Lost { .. }
            | PeerError::Stalled { .. }
            | PeerError::Certificate { .. }
            | PeerError::Aborted { .. } => true,
            PeerError::Closed { .. } | PeerError::Local { .. } | PeerError::Refused { .. } => false,
        };
        Self {
            loss: is_loss.then_some(Loss { silent }),
            ..Self::cluster(error.to_string())
        }
    }
}

impl From<ConnectError> for JobError {
    fn from(error: ConnectError) -> Self {
        let silent = match &error {
            ConnectError::Peer(error) => Self::from(error.clone()).loss,
            _ => None,
        };
        Self {
            loss: Some(silent.unwrap_or(Loss { silent: None })),
            ..Self::cluster(error.to_string())
        }
    }
}

impl From<Failed> for JobError {
    fn from(failed: Failed) -> Self {
        Self::of(failed.fault, failed.message).reported()
    }
}

impl From<JobError> for Failed {
    fn from(error: JobError) -> Self {
        Self {
            fault: error.fault,
            message: displayed_message(&error.message),
        }
    }
}
