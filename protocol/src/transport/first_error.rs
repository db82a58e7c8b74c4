use std::sync::{Arc, OnceLock};

use quinn::Connection;

use crate::transport::close::{CloseCode, PeerError};

/// The first error that this end has found on a connection, which ended it.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstError(Arc<OnceLock<PeerError>>);

impl FirstError {
    /// The error, if there is one.
    pub(super) fn get(&self) -> Option<PeerError> {
        self.0.get().cloned()
    }

    /// Closes `connection` because of `error`, unless another error has done so. Returns the first error.
    pub(super) fn close(
        &self,
        connection: &Connection,
        error: PeerError,
        (code, reason): (CloseCode, &str),
    ) -> PeerError {
        let error = self.0.get_or_init(|| error).clone();
        connection.close(code.to_wire(), reason.as_bytes());
        error
    }
}
