//! Why a node does not run.

use std::io;

use protocol::transport::BindError;

/// Why a node does not run.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It has no socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system does not tell its address.
    #[error("the address of the socket: {0}")]
    Address(#[from] io::Error),
    /// A superstep does not end, although its job has.
    #[error("{0}, longer than --exit-when-stuck allows")]
    Stuck(String),
}
