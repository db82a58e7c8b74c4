use std::sync::Arc;

use quinn::{ConnectionError, VarInt};

use crate::transport::{PeerInfo, Refusal};

/// The reason for closing a connection, as a number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// Dropped without a reason: its owner failed.
    Dropped,
    /// Closed in order.
    Done,
    /// A frame was refused.
    Frame,
    /// A handshake message was refused.
    Handshake,
}

/// Why a connection to a peer has ended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeerError {
    /// The peer closed the connection in order.
    #[error("{peer} has closed the connection: {reason}")]
    Closed {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The reason it gave.
        reason: String,
    },
    /// The peer closed the connection because of an error.
    #[error("{peer} aborted the connection: {}", abort_reason(*code, reason))]
    Aborted {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The kind of error.
        code: CloseCode,
        /// The reason it gave.
        reason: String,
    },
    /// This end closed the connection.
    #[error("the connection to {peer} is closed at this end")]
    Local {
        /// Which peer.
        peer: Arc<PeerInfo>,
    },
    /// The peer has stopped reading.
    #[error("{peer} has stopped reading: check whether it is stuck")]
    Stalled {
        /// Which peer.
        peer: Arc<PeerInfo>,
    },
    /// The peer is silent, or no longer speaks QUIC.
    #[error("{peer} is lost: {source}: check whether it runs and can be reached")]
    Lost {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The error of the connection.
        source: ConnectionError,
    },
    /// The peer sent a frame that is not allowed.
    #[error("refused a frame of {peer}: {source}")]
    Refused {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// Why the frame was refused.
        source: Refusal,
    },
}

impl CloseCode {
    pub(super) const fn to_wire(self) -> VarInt {
        VarInt::from_u32(match self {
            Self::Dropped => 0,
            Self::Done => 1,
            Self::Frame => 2,
            Self::Handshake => 3,
        })
    }

    pub(super) fn from_wire(code: VarInt) -> Self {
        [Self::Done, Self::Frame, Self::Handshake]
            .into_iter()
            .find(|known| known.to_wire() == code)
            .unwrap_or(Self::Dropped)
    }
}

impl PeerError {
    pub(super) fn from_connection_error(peer: &Arc<PeerInfo>, source: ConnectionError) -> Self {
        let peer = Arc::clone(peer);
        match source {
            ConnectionError::ApplicationClosed(close) => {
                let reason = String::from_utf8_lossy(&close.reason).into_owned();
                match CloseCode::from_wire(close.error_code) {
                    CloseCode::Done => Self::Closed { peer, reason },
                    code @ (CloseCode::Dropped | CloseCode::Frame | CloseCode::Handshake) => {
                        Self::Aborted { peer, code, reason }
                    }
                }
            }
            ConnectionError::LocallyClosed => Self::Local { peer },
            ConnectionError::VersionMismatch
            | ConnectionError::TransportError(_)
            | ConnectionError::ConnectionClosed(_)
            | ConnectionError::Reset
            | ConnectionError::TimedOut
            | ConnectionError::CidsExhausted => Self::Lost { peer, source },
        }
    }
}

fn abort_reason(code: CloseCode, reason: &str) -> &str {
    match code {
        CloseCode::Dropped => "it gave no reason; see its log",
        CloseCode::Done | CloseCode::Frame | CloseCode::Handshake => reason,
    }
}
